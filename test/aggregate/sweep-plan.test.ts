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

/** A generator of its own, so that a failure can be repeated: mulberry32. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The search on a host whose throughput is measured with noise; a level measured again has the median and the spread of its measurements. */
function noisySearch(throughput: (level: number) => number, measured: (rate: number) => number, noise: number | null) {
  const rates = new Map<number, number[]>();
  const order: number[] = [];
  const tried = (): TriedLevel[] =>
    [...rates].map(([level, all]) => {
      const sorted = all.toSorted((a, b) => a - b);
      const middle = (sorted[Math.floor((all.length - 1) / 2)]! + sorted[Math.ceil((all.length - 1) / 2)]!) / 2;
      const gaps = sorted.slice(1).map((rate, k) => rate - sorted[k]!);
      const spread = all.length === 1 ? noise : Math.min(...gaps) / 2 / middle;
      return { level, throughput: middle, noise: spread, isKept: true, tries: all.length };
    });
  const range = { first: 1, most: 1024, isWhole: true };
  for (let level = nextLevel(tried(), range); level !== null; level = nextLevel(tried(), range)) {
    rates.set(level, [...(rates.get(level) ?? []), measured(throughput(level))]);
    order.push(level);
    if (order.length > 100) throw new Error('no end');
  }
  return { knee: kneeOf(tried()), order };
}

describe('the search under noise', () => {
  const host = (level: number) => 100 * Math.min(level, 32);

  it('measures nothing twice where the noise decides nothing', () => {
    const { order } = noisySearch(host, (rate) => rate, 0.001);
    expect(order).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 24, 28, 30]);
  });

  it('measures again what lies near a threshold', () => {
    // 30 streams have 93.75 % of the plateau: 1.25 points below the threshold.
    const { order, knee } = noisySearch(host, (rate) => rate, 0.04);
    expect(order.filter((level) => level === 30).length).toBeGreaterThan(1);
    expect(order.filter((level) => level <= 16)).toEqual([1, 2, 4, 8, 16]);
    expect(knee).toBe(32);
  });

  it('finds the knee within a step of the bisection, whatever 1 % of noise does', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const next = random(seed);
      const { knee, order } = noisySearch(host, (rate) => rate * (1 + 0.02 * (next() - 0.5)), 0.03);
      expect([30, 31, 32], `seed ${seed}`).toContain(knee);
      expect(order.length).toBeLessThan(25);
    }
  });

  it('is not deceived by one measurement at the knee that was disturbed', () => {
    // Half of the throughput at the first measurement of 64: without a second one the doubling would end there.
    let isFirst = true;
    const { knee } = noisySearch(
      (level) => 100 * Math.min(level, 64),
      (rate) => {
        if (rate !== 6400 || !isFirst) return rate;
        isFirst = false;
        return rate * 0.93;
      },
      0.04,
    );
    expect(knee).toBeGreaterThanOrEqual(60);
    expect(knee).toBeLessThanOrEqual(64);
  });

  it('measures no level more often than three times, and none twice when there is no time for it', () => {
    const tried: TriedLevel[] = [1, 2, 4].map((level) => ({ level, throughput: 100, noise: 0.04, isKept: true }));
    const range = { first: 1, most: 64, isWhole: true };
    expect(nextLevel(tried, range)).not.toBeNull();
    expect(nextLevel(tried, range, 1)).toBeNull();
    expect(
      nextLevel(
        tried.map((each) => ({ ...each, tries: 3 })),
        range,
      ),
    ).toBeNull();
  });

  it('believes a missed limit when it was missed twice, and a goodput near its target when it was measured three times', () => {
    const range = { first: 1, most: 64, isWhole: true };
    const kept = { level: 1, throughput: 10, isKept: true };
    const doubted = { level: 2, throughput: 20, isKept: false, isUnsure: true };
    expect(nextLevel([kept, doubted], range)).toBe(2);
    expect(nextLevel([kept, { ...doubted, tries: 2, isUnsure: false }], range)).toBeNull();
    expect(
      nextLevel(
        [
          { ...kept, isUnsure: true },
          { ...doubted, tries: 3 },
        ],
        range,
      ),
    ).toBe(1);
    expect(
      nextLevel(
        [
          { ...kept, isUnsure: true, tries: 3 },
          { ...doubted, tries: 3 },
        ],
        range,
      ),
    ).toBeNull();
    // A level that failed outright is no matter of noise.
    expect(nextLevel([kept, { level: 2, throughput: 0, isKept: false }], range)).toBeNull();
  });
});
