import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describe as describeSeries,
  mean,
  medianSorted,
  pairwiseSum,
  percentileSorted,
  std,
} from '../../src/aggregate/statistics.ts';

interface NumpyCase {
  n: number;
  seed: number;
  kind: 'latency' | 'micro' | 'spread' | 'offset';
  sum: number;
  mean: number;
  std: number;
  median: number;
  percentiles: number[];
}

const numpy = JSON.parse(readFileSync(new URL('../fixtures/aggregate/numpy.json', import.meta.url), 'utf8')) as {
  ps: number[];
  cases: NumpyCase[];
};

const POWERS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3, 1e4, 1e5];

/** The series behind the numpy figures; see "about" in the fixture. */
function series({ n, seed, kind }: NumpyCase): Float64Array {
  let s = seed;
  return Float64Array.from({ length: n }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    const u = s / 4294967296;
    if (kind === 'latency') return 0.001 + u * u * u * 3;
    if (kind === 'micro') return Math.floor(u * 2000000) / 1000000;
    if (kind === 'spread') return u * (POWERS[Math.floor(u * 1000) % 12] as number);
    return 5000 + u;
  });
}

describe('statistics as numpy computes them', () => {
  it.each(numpy.cases.map((c) => [`${c.kind} ${c.n}`, c] as const))('%s, bit for bit', (_name, c) => {
    const values = series(c);
    expect(pairwiseSum(values)).toBe(c.sum);
    expect(mean(values)).toBe(c.mean);
    expect(std(values)).toBe(c.std);
    const stats = describeSeries(values, numpy.ps);
    expect(stats.median).toBe(c.median);
    expect(stats.percentiles).toEqual(c.percentiles);
  });

  it('counts an empty series as the single value 0', () => {
    expect(describeSeries(new Float64Array(0), [50, 99])).toEqual({
      count: 0,
      mean: 0,
      median: 0,
      std: 0,
      min: 0,
      max: 0,
      percentiles: [0, 0],
    });
  });

  it('takes the exact ends at percentile 0 and 100', () => {
    const sorted = Float64Array.of(1, 2, 4);
    expect([percentileSorted(sorted, 0), percentileSorted(sorted, 100)]).toEqual([1, 4]);
  });
});

const finite = fc.double({ min: 0, max: 1e4, noNaN: true });
const manyFinite = fc.array(finite, { minLength: 1, maxLength: 700 });

describe('statistics against naive formulas', () => {
  it('sums within rounding of a sum in whole numbers, which has no rounding', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1 << 20), { maxLength: 700 }), (whole) => {
        const sum = whole.reduce((a, b) => a + b, 0);
        expect(pairwiseSum(Float64Array.from(whole))).toBe(sum);
      }),
    );
  });

  it('mean and deviation agree with the textbook to 12 digits', () => {
    fc.assert(
      fc.property(manyFinite, (list) => {
        const average = list.reduce((a, b) => a + b, 0) / list.length;
        const deviation = Math.sqrt(list.reduce((a, b) => a + (b - average) ** 2, 0) / list.length);
        const scale = Math.max(1, ...list);
        expect(Math.abs(mean(Float64Array.from(list)) - average)).toBeLessThanOrEqual(1e-12 * scale);
        expect(Math.abs(std(Float64Array.from(list)) - deviation)).toBeLessThanOrEqual(1e-9 * scale);
      }),
    );
  });

  it('a percentile lies between its neighbours and grows with p', () => {
    fc.assert(
      fc.property(manyFinite, fc.double({ min: 0, max: 100, noNaN: true }), (list, p) => {
        const sorted = Float64Array.from(list).sort();
        const position = ((sorted.length - 1) * p) / 100;
        const value = percentileSorted(sorted, p);
        expect(value).toBeGreaterThanOrEqual(sorted[Math.floor(position - 1e-9)] ?? (sorted[0] as number));
        expect(value).toBeLessThanOrEqual(sorted[Math.ceil(position + 1e-9)] ?? (sorted.at(-1) as number));
        expect(percentileSorted(sorted, Math.min(100, p + 7))).toBeGreaterThanOrEqual(value);
      }),
    );
  });

  it('the median is percentile 50 up to the last bit', () => {
    fc.assert(
      fc.property(manyFinite, (list) => {
        const sorted = Float64Array.from(list).sort();
        expect(medianSorted(sorted)).toBeCloseTo(percentileSorted(sorted, 50), 9);
      }),
    );
  });
});
