import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { highestGood, nextTrial, type Trial } from '../../src/aggregate/rate-search.ts';

/** Searches on a machine that can carry so many streams; returns the numbers that were tried. */
function search(capacity: number, first: number, most: number): Trial[] {
  const trials: Trial[] = [];
  for (let next = nextTrial([], first, most); next !== null; next = nextTrial(trials, first, most)) {
    expect(trials.map(({ streams }) => streams)).not.toContain(next);
    trials.push({ streams: next, isGood: next <= capacity });
  }
  return trials;
}

describe('the search for the highest rate', () => {
  it('doubles, halves, then divides', () => {
    expect(search(700, 300, 10_000).map(({ streams }) => streams)).toEqual([300, 600, 1200, 849, 714]);
    expect(search(100, 1000, 10_000).map(({ streams }) => streams)).toEqual([1000, 500, 250, 125, 62, 88, 105]);
  });

  it('ends where there is nothing left to try', () => {
    expect(search(0, 5, 100).map(({ streams }) => streams)).toEqual([5, 2, 1]);
    expect(highestGood(search(0, 5, 100))).toBe(0);
    expect(search(1e9, 30, 100).map(({ streams }) => streams)).toEqual([30, 60, 100]);
    expect(search(3, 1000, 2).map(({ streams }) => streams)).toEqual([2]);
    expect(search(1, 2, 100).map(({ streams }) => streams)).toEqual([2, 1]);
  });

  it('finds the capacity to a fifth, in few tries, from anywhere', () => {
    const size = fc.integer({ min: 1, max: 16_384 });
    fc.assert(
      fc.property(size, size, (capacity, first) => {
        const trials = search(capacity, first, 16_384);
        expect(trials.length).toBeLessThanOrEqual(20);
        const best = highestGood(trials);
        expect(best).toBeLessThanOrEqual(capacity);
        expect(best * 1.2 + 1).toBeGreaterThanOrEqual(Math.min(capacity, 16_384));
      }),
    );
  });

  it('goes on upwards after a try that failed by chance below a good one', () => {
    const trials = [
      { streams: 100, isGood: false },
      { streams: 200, isGood: true },
    ];
    expect(nextTrial(trials, 100, 1000)).toBe(400);
  });
});
