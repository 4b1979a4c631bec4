import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EstimateInput, estimateOf, levelSeconds, type TimedLevel } from '../../src/aggregate/sweep-estimate.ts';
import { nextLevel, type TriedLevel } from '../../src/aggregate/sweep-plan.ts';

const base: EstimateInput = {
  levels: 'auto',
  range: { first: 1, most: 64, isWhole: true },
  isRate: false,
  requestS: 1,
  pauseS: 0,
  requestsOf: (level) => 4 * level,
  done: [],
};

/** A level that was measured on a host that serves so many at once, a second each. */
const measured = (level: number, slots: number): TimedLevel => ({
  level,
  throughput: 10 * Math.min(level, slots),
  isKept: true,
  requests: 4 * level,
  durationS: (4 * level) / Math.min(level, slots),
});

describe('the estimate of a sweep', () => {
  it('of fixed levels is a bound from below until one was measured', () => {
    // Four waves of a second each.
    expect(estimateOf({ ...base, levels: [1, 2, 4] })).toEqual({ leastS: 12, mostS: null });
    expect(estimateOf({ ...base, levels: [1, 2, 4], pauseS: 2 })).toEqual({ leastS: 18, mostS: null });
  });

  it('of fixed levels lies between a host that goes on growing and one that does not', () => {
    // 2 streams took 4 s for 8 requests: 4 streams take 4 s for their 16 at best, and 8 s at the same rate.
    expect(estimateOf({ ...base, levels: [2, 4], done: [measured(2, 64)] })).toEqual({ leastS: 4, mostS: 8 });
  });

  it('is exact where throughput was seen to have stopped growing', () => {
    const done = [1, 2, 4].map((level) => measured(level, 2));
    // 2 requests/s: 32 requests of 8 streams.
    expect(estimateOf({ ...base, levels: [1, 2, 4, 8], done })).toEqual({ leastS: 16, mostS: 16 });
  });

  it('of requests per second is the time of sending and of one answer, or that of serving them', () => {
    const rates = { ...base, levels: [2, 4], isRate: true, requestsOf: (level: number) => 20 * level };
    expect(estimateOf(rates)).toEqual({ leastS: 42, mostS: null });
  });

  it('of auto holds the time that any host takes which serves every stream like the first, up to some level', () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 2, 4, 8, 16, 32, 64), fc.nat({ max: 12 }), (slots, after) => {
        const tried: TimedLevel[] = [];
        const all: TriedLevel[] = [];
        let leftS = 0;
        for (let level = nextLevel(all, base.range); level !== null; level = nextLevel(all, base.range)) {
          const next = measured(level, slots);
          if (tried.length < after) tried.push(next);
          else leftS += next.durationS;
          all.push(next);
        }
        const { leastS, mostS } = estimateOf({ ...base, done: tried });
        // Between two measured levels the rate is taken to lie on a line.
        expect(leastS).toBeLessThanOrEqual(leftS * 1.05 + 1e-9);
        expect(mostS ?? 0).toBeGreaterThanOrEqual(leftS * 0.95 - 1e-9);
      }),
    );
  });

  it('of one level is what it takes at least, or what it took before', () => {
    const done = [1, 2].map((level) => measured(level, 64));
    expect(levelSeconds({ ...base, done, pauseS: 3 }, 4)).toBe(3 + 4);
    expect(levelSeconds({ ...base, done: [{ ...measured(2, 64), durationS: 9 }] }, 2)).toBe(9);
  });
});
