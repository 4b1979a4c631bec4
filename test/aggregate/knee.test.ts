import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kneeOf, largestKept, nextLevel } from '../../src/aggregate/knee.ts';

/** Levels that are measured on a host whose throughput is `throughput(level)`, in that order. */
function search(throughput: (level: number) => number, max = 1024, bound = Number.POSITIVE_INFINITY) {
  const points: { level: number; throughput: number; isKept: boolean }[] = [];
  for (
    let level = nextLevel(points, max, Number.isFinite(bound));
    level !== null;
    level = nextLevel(points, max, Number.isFinite(bound))
  ) {
    points.push({ level, throughput: throughput(level), isKept: level <= bound });
    if (points.length > 100) throw new Error('no end');
  }
  return { levels: points.map(({ level }) => level), knee: kneeOf(points), kept: largestKept(points) };
}

describe('the search for the knee', () => {
  it('doubles until two steps are flat, then bisects', () => {
    expect(search((level) => 100 * Math.min(level, 32))).toEqual({
      levels: [1, 2, 4, 8, 16, 32, 64, 128, 24, 28],
      knee: 32,
      kept: 128,
    });
  });

  it('ends at the highest level while throughput grows, and names no knee', () => {
    expect(search((level) => level, 50)).toEqual({
      levels: [1, 2, 4, 8, 16, 32, 50, 41, 45].slice(0, 9),
      knee: null,
      kept: 50,
    });
  });

  it('is not deceived by one flat step', () => {
    const { levels } = search((level) => (level === 8 ? 410 : 100 * Math.min(level, 64)));
    expect(levels).toContain(128);
  });

  it('ends where a limit is missed, and finds the last level that keeps it', () => {
    const { levels, kept } = search((level) => level, 1024, 11);
    expect(Math.max(...levels)).toBe(16);
    expect(kept).toBeGreaterThanOrEqual(10);
    expect(kept).toBeLessThanOrEqual(11);
  });

  it('finds the knee of any host that saturates, within an eighth and the flatness that it allows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 250 }), (slots) => {
        const { knee } = search((level) => 50 * Math.min(level, slots));
        // 95 % of the highest throughput is nearly all of it.
        expect(knee).toBeGreaterThanOrEqual(0.95 * slots);
        expect(knee).toBeLessThanOrEqual(Math.max(slots + 1, slots * 1.15));
      }),
    );
  });

  it('says of no level that it keeps limits which the lowest misses', () => {
    expect(
      largestKept([
        { level: 1, throughput: 1, isKept: false },
        { level: 2, throughput: 1, isKept: true },
      ]),
    ).toBeNull();
  });
});
