import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PanelHistory, type PanelState } from '../../src/report/panel-history.ts';
import { panelLines } from '../../src/report/panel-lines.ts';
import { ASCII, columnsOf, type Glyphs, plainText, UNICODE } from '../../src/report/panel-text.ts';
import { STATE } from '../support/panel-state.ts';

const TITLE = ['level 2 of 5', 'concurrency 4', 'Stub-8B-exl3'];

function shown(
  columns: number,
  rows: number,
  { state = STATE, title = TITLE, glyphs = UNICODE }: { state?: PanelState; title?: string[]; glyphs?: Glyphs } = {},
): string[] {
  const history = new PanelHistory();
  for (let ms = 1000; ms < state.elapsedMs; ms += 1000) {
    history.look({ ...STATE, elapsedMs: ms, countedMs: ms, completed: ms / 1000, tokenFrames: (ms / 1000) * 120 });
  }
  return panelLines(history.look(state), title, { columns, rows }, glyphs).map(plainText);
}

describe('the panel', () => {
  it('at 80 × 24', () => {
    expect(shown(80, 24).map((line) => line.trimEnd())).toEqual([
      'level 2 of 5 · concurrency 4 · Stub-8B-exl3',
      '████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   12 %   10 of 100   1:14 left   0:10 so far',
      'requests     1.00 /s now     1.00 /s mean    4 in flight  (4 at most)',
      'tokens        120 /s now      120 /s mean  1.00 per frame',
      '                                   █████  max     120 /s, last 60 s',
      'TTFT          123 ms p50     1.23 s  p99',
      'ITL          20.1 ms p50     45.3 ms p99',
      'errors    none',
      'client    not the limit so far  event loop 4.10 ms late at most',
    ]);
  });

  it('at 40 × 10, in ASCII', () => {
    expect(shown(40, 10, { glyphs: ASCII }).map((line) => line.trimEnd())).toEqual([
      'level 2 of 5 | concurrency 4 | Stub-8B~',
      '##..................   12 %   1:14 left',
      'requests   1.00 /s now    4 in flight',
      'tokens      120 /s now      120 /s mean',
      `${' '.repeat(33)}#####`,
      'TTFT        123 ms p50     1.23 s  p99',
      'ITL        20.1 ms p50     45.3 ms p99',
      'errors  none',
      'client  not the limit so far',
    ]);
  });

  it('at 20 × 5 leaves out what matters least', () => {
    expect(shown(20, 5)).toEqual([
      '█▍░░░░░░░░░░   12 %',
      'tokens     120 /s',
      'TTFT    123 ms p50',
      'ITL    20.1 ms p50',
    ]);
  });

  it('is one line where there is room for no more', () => {
    expect(shown(100, 2)).toEqual([
      ' 12 %   10 of 100      120 tok/s  TTFT  123 ms  ITL 20.1 ms    4 in flight   1:14 left',
    ]);
    expect(shown(20, 1)).toEqual([' 12 %     120 tok/s']);
  });

  it('tells failures by kind, the most frequent first, and brings them up in a short window', () => {
    const errors = new Map([
      ['reset', 1],
      ['http', 4],
      ['timeout_first_token', 2],
    ]);
    const state = { ...STATE, failed: 7, errors };
    expect(shown(80, 24, { state })[7]).toBe('errors          7  http 4  timeout_first_token 2  reset 1');
    expect(shown(40, 24, { state })[7]).toBe('errors        7  http 4');
    expect(shown(80, 3, { state })[1]).toBe('errors          7  http 4  timeout_first_token 2  reset 1');
    expect(shown(80, 2, { state })[0]).toContain('7 failed');
  });

  it('tells why the client may be the limit', () => {
    const state = { ...STATE, clientLimit: "worker 1's event loop was blocked up to 160 ms" };
    expect(shown(80, 24, { state })[8]).toBe(
      "client    MAY BE THE LIMIT: worker 1's event loop was blocked up to 160 ms",
    );
    expect(shown(20, 24, { state })[8]).toBe('client THE LIMIT?');
  });

  it('says that a run is ending before its time', () => {
    const state = { ...STATE, isEnding: true, framesPerAsked: null, asked: { ...STATE.asked, all: 0 } };
    expect(shown(80, 24, { state })[1]).toContain('ending');
  });
});

const stateOf = fc
  .record({
    planned: fc.nat(2_000_000),
    completed: fc.nat(2_000_000),
    failed: fc.nat(1000),
    inFlight: fc.nat(5000),
    elapsedMs: fc.nat(400_000_000),
    tokenFrames: fc.nat(2_000_000_000),
    framesOfEnded: fc.nat(2_000_000_000),
    countedMs: fc.nat(400_000_000),
    tokensPerFrame: fc.option(fc.double({ min: 0.01, max: 100, noNaN: true })),
    framesPerAsked: fc.option(fc.double({ min: 0.001, max: 100, noNaN: true })),
    durationMs: fc.option(fc.nat(400_000_000)),
    isEnding: fc.boolean(),
    loopMaxMs: fc.double({ min: 0, max: 1e7, noNaN: true }),
    clientLimit: fc.option(fc.string({ unit: 'binary' })),
    ttft: fc.option(fc.record({ p50Ms: fc.double({ min: 0, max: 1e7 }), p99Ms: fc.double({ min: 0, max: 1e7 }) })),
    errors: fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.nat(1e6)), { maxLength: 6 }),
  })
  .map((parts): PanelState => ({ ...STATE, ...parts, errors: new Map(parts.errors) }));

describe('in any window, whatever is shown', () => {
  it('fits: never wider, never higher, no control characters', () => {
    fc.assert(
      fc.property(
        stateOf,
        fc.array(fc.string({ unit: 'binary', maxLength: 300 }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 250 }),
        fc.integer({ min: 1, max: 60 }),
        fc.boolean(),
        (state, title, columns, rows, isAscii) => {
          const glyphs = isAscii ? ASCII : UNICODE;
          const lines = panelLines(new PanelHistory().look(state), title, { columns, rows }, glyphs).map(plainText);
          expect(lines.length).toBeGreaterThan(0);
          expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
          for (const line of lines) {
            expect(columnsOf(line)).toBeLessThanOrEqual(Math.max(1, columns - 1));
            // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
            expect(line).not.toMatch(isAscii ? /[^ -~]/ : /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps every figure in its place while numbers change', () => {
    // Where the letters stand that are no part of a number, with all figures known and no failures.
    const skeleton = (state: PanelState): string[] =>
      shown(100, 24, { state })
        .slice(2, 7)
        .map((line) => line.replace(/[\d.,]/g, ' ').replace(/[█▁-▇]/g, ' '));
    const figures = fc.record({
      completed: fc.integer({ min: 0, max: 100 }),
      inFlight: fc.integer({ min: 0, max: 100 }),
      tokenFrames: fc.integer({ min: 1000, max: 900_000 }),
      p50Ms: fc.double({ min: 0, max: 999, noNaN: true }),
      p99Ms: fc.double({ min: 0, max: 999, noNaN: true }),
    });
    const expected = skeleton({ ...STATE, ttft: STATE.itl });
    fc.assert(
      fc.property(figures, ({ p50Ms, p99Ms, ...counts }) => {
        const latency = { p50Ms, p99Ms };
        expect(skeleton({ ...STATE, ...counts, ttft: latency, itl: latency })).toEqual(expected);
      }),
    );
  });

  it('has as many lines from beginning to end', () => {
    const lengths = (state: PanelState): number[] =>
      [2, 3, 5, 8, 24].map(
        (rows) => panelLines(new PanelHistory().look(state), TITLE, { columns: 80, rows }, UNICODE).length,
      );
    const before = { ...STATE, completed: 0, inFlight: 0, tokenFrames: 0, elapsedMs: 0, ttft: null, itl: null };
    expect(lengths(before)).toEqual([1, 2, 4, 7, 9]);
    expect(lengths({ ...STATE, failed: 3, errors: new Map([['http', 3]]), clientLimit: 'late' })).toEqual([
      1, 2, 4, 7, 9,
    ]);
  });
});

describe('the sparkline of a narrow window', () => {
  it('does not change the seconds that share a cell as time goes on', () => {
    const history = new PanelHistory();
    let frames = 0;
    const cells: string[] = [];
    for (let s = 1; s <= 120; s++) {
      // One burst of two seconds, early, whose cell is to wander to the left unchanged.
      frames += s === 61 || s === 62 || s === 63 ? 900 : 300;
      const snapshot = history.look({ ...STATE, elapsedMs: s * 1000, countedMs: s * 1000, tokenFrames: frames });
      if (s >= 66) cells.push(plainText(panelLines(snapshot, TITLE, { columns: 28, rows: 24 }, UNICODE)[4] ?? []));
    }
    // 20 columns: cells of three seconds, 61 to 63 in two of them or one, always the same.
    const heights = new Set(cells.map((line) => line.replace(/^ +/, '').replaceAll('▄', '')));
    expect([...heights]).toEqual(['█']);
    const places = cells.map((line) => line.indexOf('█'));
    for (let k = 1; k < places.length; k++) {
      expect(
        (places[k - 1] as number) - (places[k] as number) === 0 ||
          (places[k - 1] as number) - (places[k] as number) === 1,
      ).toBe(true);
    }
  });
});
