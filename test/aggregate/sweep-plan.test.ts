import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  edgeOf,
  isSaturated,
  kneeOf,
  nextLevel,
  type SweepRange,
  type TriedLevel,
} from '../../src/aggregate/sweep-plan.ts';

/** Levels measured on a host of that throughput, in order, until the search has ended. */
function search(
  throughput: (level: number) => number,
  isKept: (level: number) => boolean = () => true,
  range: SweepRange = { first: 1, most: 1024, isWhole: true },
) {
  const tried: TriedLevel[] = [];
  for (let level = nextLevel(tried, range); level !== null; level = nextLevel(tried, range)) {
    tried.push({ level, throughput: throughput(level), isKept: isKept(level) });
    if (tried.length > 100) throw new Error('no end');
  }
  return { tried, levels: tried.map(({ level }) => level) };
}

describe('the search of a sweep', () => {
  it('doubles until two steps are flat, then bisects to the knee', () => {
    const { tried, levels } = search((level) => 100 * Math.min(level, 32));
    expect(levels).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 24, 28, 30]);
    expect(kneeOf(tried)).toBe(32);
    expect(isSaturated(tried)).toBe(true);
  });

  it('ends at the highest level while throughput grows, and finds no saturation', () => {
    const { tried, levels } = search((level) => level, undefined, { first: 1, most: 50, isWhole: true });
    expect(levels).toEqual([1, 2, 4, 8, 16, 32, 50]);
    expect(isSaturated(tried)).toBe(false);
  });

  it('is not deceived by one flat step', () => {
    expect(search((level) => (level === 8 ? 410 : 100 * Math.min(level, 64))).levels).toContain(128);
  });

  it('ends where a limit is missed, and finds the last level that keeps it', () => {
    const { tried, levels } = search(
      (level) => level,
      (level) => level <= 11,
    );
    expect(levels).toEqual([1, 2, 4, 8, 16, 12, 10, 11]);
    expect(edgeOf(tried)).toEqual({ highestKept: 11, lowestMissed: 12 });
  });

  it('goes below the first rate when that misses the limit', () => {
    const { tried } = search(
      (level) => level,
      (level) => level <= 0.3,
      { first: 1, most: 64, isWhole: false },
    );
    const { highestKept, lowestMissed } = edgeOf(tried);
    expect(highestKept).toBeLessThanOrEqual(0.3);
    expect(lowestMissed).toBeGreaterThan(0.3);
    expect((lowestMissed ?? 9) / (highestKept ?? 1)).toBeLessThanOrEqual(1.1);
  });

  it('comes to an end where everything fails', () => {
    expect(
      search(
        () => 0,
        () => false,
      ).levels,
    ).toEqual([1]);
  });

  it('finds the knee of any host that saturates, and goes on from any part of the way as it would have gone', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 250 }), fc.nat(), (slots, at) => {
        const { tried, levels } = search((level) => 50 * Math.min(level, slots));
        // Within 5 % of the highest throughput below, within a step of the bisection (10 %) above.
        expect(kneeOf(tried)).toBeGreaterThanOrEqual(0.95 * slots);
        expect(kneeOf(tried)).toBeLessThanOrEqual(Math.max(slots + 1, slots * 1.1));
        const done = at % levels.length;
        expect(nextLevel(tried.slice(0, done), { first: 1, most: 1024, isWhole: true })).toBe(levels[done]);
      }),
    );
  });
});
