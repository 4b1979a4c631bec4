import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findWindow, levelOf } from '../../src/aggregate/steady-window.ts';

type Spans = readonly (readonly [start: number, end: number])[];

function find(spans: Spans, share: number, of: number | null) {
  return findWindow(
    Float64Array.from(spans, ([start]) => start),
    Float64Array.from(spans, ([, end]) => end),
    {
      share,
      of,
    },
  );
}

/** Looks at every whole second: what is in flight in [t, t + 1). Times must be whole. */
function naive(spans: Spans, level: number) {
  let [peak, from, to, atLevel] = [0, Number.NaN, Number.NaN, 0];
  for (let t = -1; t <= 60; t++) {
    const inFlight = spans.filter(([start, end]) => start <= t && end > t).length;
    peak = Math.max(peak, inFlight);
    if (inFlight < level) continue;
    if (Number.isNaN(from)) from = t;
    to = t + 1;
    atLevel++;
  }
  return { peak, window: to > from ? { fromS: from, toS: to, atLevelS: atLevel } : null };
}

describe('the window', () => {
  it('opens when the level is first reached and closes when it is left for good', () => {
    // 1 in flight from 0, 2 from 1, 3 from 2; one ends at 5 and at 7, the last at 9.
    const spans: Spans = [
      [0, 9],
      [1, 5],
      [2, 7],
    ];
    expect(find(spans, 1, 3)).toEqual({ peak: 3, level: 3, window: { fromS: 2, toS: 5, atLevelS: 3 } });
    expect(find(spans, 0.5, 3)).toEqual({ peak: 3, level: 2, window: { fromS: 1, toS: 7, atLevelS: 6 } });
    expect(find(spans, 0.95, null).level).toBe(3);
    expect(find(spans, 0.95, 4)).toEqual({ peak: 3, level: 4, window: null });
  });

  it('holds the moments between an answer and the next request, and tells how long it was below', () => {
    const window = find(
      [
        [0, 4],
        [0, 1],
        [1.5, 4],
      ],
      1,
      2,
    ).window;
    expect(window).toEqual({ fromS: 0, toS: 4, atLevelS: 3.5 });
  });

  it('sees no dip where one request follows another at once, and nothing in a request without length', () => {
    const spans: Spans = [
      [0, 1],
      [1, 2],
      [1, 1],
    ];
    expect(find(spans, 1, 1)).toEqual({ peak: 1, level: 1, window: { fromS: 0, toS: 2, atLevelS: 2 } });
    expect(find([[3, 3]], 1, null)).toMatchObject({ peak: 0, window: null });
    expect(find([], 1, null)).toMatchObject({ peak: 0, window: null });
  });

  it('equals a look at every moment', () => {
    const span = fc.tuple(fc.nat(40), fc.nat(12)).map(([start, length]) => [start, start + length] as const);
    fc.assert(
      fc.property(fc.array(span, { maxLength: 40 }), fc.integer({ min: 1, max: 12 }), (spans, level) => {
        const { peak, window } = find(spans, 1, level);
        expect({ peak, window }).toEqual(naive(spans, level));
      }),
    );
  });

  it('knows the level as a whole number', () => {
    // 0.07 x 100 is 7.000000000000001 in doubles; vLLM's Rust client too takes 0.95 x 10 for 10.
    expect(levelOf({ share: 0.07, of: 100 }, 0)).toBe(7);
    expect(levelOf({ share: 0.95, of: 10 }, 0)).toBe(10);
    expect(levelOf({ share: 0.95, of: null }, 40)).toBe(38);
    expect(levelOf({ share: 0.001, of: 3 }, 0)).toBe(1);
  });

  it('takes no longer than sorting', () => {
    const n = 200_000;
    const starts = Float64Array.from({ length: n }, (_, k) => (k * 7919) % n);
    const ends = starts.map((start) => start + 50);
    expect(findWindow(starts, ends, { share: 1, of: 50 })).toEqual({
      peak: 50,
      level: 50,
      window: { fromS: 49, toS: n, atLevelS: n - 49 },
    });
  });
});
