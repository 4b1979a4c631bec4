import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packWork, WorkView } from '../../src/transport/shared-work.ts';

const request = fc.record({
  body: fc.uint8Array({ maxLength: 300 }),
  plannedMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
  promptLen: fc.nat(),
  outputLen: fc.nat(),
  requestId: fc.option(fc.string({ unit: 'grapheme' })),
  // Categories come from files of unknown origin: tabs and line breaks are text like any other.
  category: fc.option(fc.constantFrom('math', 'a\tb', 'a\nb', '', '数学'), { nil: undefined }),
});

describe('packed requests', () => {
  it('come out as they went in', () => {
    fc.assert(
      fc.property(fc.array(request), (requests) => {
        const view = new WorkView(packWork(requests));
        expect(view.count).toBe(requests.length);
        for (const [i, one] of requests.entries()) {
          expect(Uint8Array.from(view.body(i))).toEqual(one.body);
          expect([view.plannedMs(i), view.promptLen(i), view.outputLen(i)]).toEqual([
            one.plannedMs,
            one.promptLen,
            one.outputLen,
          ]);
          expect([view.requestId(i), view.category(i)]).toEqual([one.requestId ?? '', one.category ?? '']);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('may be larger than a piece of memory, and lie across two', () => {
    const bodies = Array.from({ length: 5 }, (_, i) => new Uint8Array(3_500_000).fill(i + 1));
    const rest = { plannedMs: 0, promptLen: 1, outputLen: 1, requestId: null, category: undefined };
    const view = new WorkView(packWork(bodies.map((body) => ({ body, ...rest }))));
    for (const [i, body] of bodies.entries()) expect(view.body(i).equals(body)).toBe(true);
  });
});
