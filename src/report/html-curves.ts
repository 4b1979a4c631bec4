/**
 * Series cut down to what a page can hold. Extremes stay: a curve ends at its maximum, a bucket keeps its largest value.
 */
import type { HistogramBucket } from '../aggregate/histogram.ts';
import type { Point } from './html-data.ts';

/** Points of a percentile curve at most. */
const CURVE_POINTS = 160;
/** Bins of a histogram. */
const BINS = 48;

/** A nanosecond. */
const LEAST_MS = 1e-6;

/** The values in ascending order; what is no number is left out. */
export function ascending(values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values).filter(Number.isFinite).sort();
}

/** Linear percentile of ascending values, as numpy's; NaN for none. */
export function percentileOf(sorted: Float64Array, p: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = (p / 100) * (sorted.length - 1);
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}

/**
 * A percentile curve as HdrHistogram plots it: x = 1 / (1 - p) on a log axis, so that each further nine has the same width. It goes as far
 * as the values do: the last point is the maximum, at x = number of values.
 */
export function percentileCurve(sorted: Float64Array): Point[] {
  return curveOf(sorted.length, (rank) => sorted[rank] as number);
}

/** {@link percentileCurve} of a histogram: each value counts as the highest of its bucket, as HdrHistogram tells percentiles. */
export function bucketCurve(buckets: readonly HistogramBucket[]): Point[] {
  let k = 0;
  let below = 0;
  // Ranks come in rising order.
  return curveOf(countOf(buckets), (rank) => {
    while (rank >= below + (buckets[k] as HistogramBucket).count) below += (buckets[k++] as HistogramBucket).count;
    return (buckets[k] as HistogramBucket).toMs;
  });
}

/** Number of values in buckets. */
export function countOf(buckets: readonly HistogramBucket[]): number {
  return buckets.reduce((sum, { count }) => sum + count, 0);
}

function curveOf(n: number, valueAt: (rank: number) => number): Point[] {
  if (n === 0) return [];
  const points: Point[] = [];
  const most = Math.max(1.0001, n);
  let last = -1;
  for (let k = 0; k <= CURVE_POINTS; k++) {
    const x = most ** (k / CURVE_POINTS);
    const rank = k === CURVE_POINTS ? n - 1 : Math.min(n - 1, Math.floor((1 - 1 / x) * n));
    if (rank === last) continue;
    last = rank;
    points.push([rounded(x), rounded(valueAt(rank))]);
  }
  return points;
}

/** Values so far apart stand on a log axis, the others on a plain one. */
const WIDE = 20;

/** Do values from `min` to `max` need a log axis? */
export function isWide(min: number, max: number): boolean {
  return max > WIDE * min;
}

/** Counts in bins of equal width on the axis that {@link isWide} asks for; [lower border, count], and a last border with 0. */
export function histogramBins(sorted: Float64Array): Point[] {
  return binsOf(
    sorted.length,
    (k) => sorted[k] as number,
    () => 1,
  );
}

/** {@link histogramBins} of two series over the same bins. */
export function commonBins(a: Float64Array, b: Float64Array): readonly [Point[], Point[]] {
  const both = ascending([...a, ...b]);
  const borders = histogramBins(both).map(([x]) => x);
  const counted = (values: Float64Array): Point[] => {
    const counts = new Array<number>(borders.length).fill(0);
    let bin = 0;
    for (const value of values) {
      while (bin < borders.length - 2 && value >= (borders[bin + 1] as number)) bin++;
      counts[bin] = (counts[bin] as number) + 1;
    }
    return borders.map((x, k) => [x, counts[k] as number]);
  };
  return [counted(a), counted(b)];
}

/** {@link histogramBins} of a histogram: each bucket, 0.1 % wide, goes whole into the bin that its lowest value lies in. */
export function bucketBins(buckets: readonly HistogramBucket[]): Point[] {
  return binsOf(
    buckets.length,
    (k) => (buckets[k] as HistogramBucket).fromMs,
    (k) => (buckets[k] as HistogramBucket).count,
  );
}

/** @param valueAt the k-th of `n` values in rising order, and by `weightAt` how often it occurs */
function binsOf(n: number, valueAt: (k: number) => number, weightAt: (k: number) => number): Point[] {
  let first = 0;
  let zeros = 0;
  for (; first < n && !(valueAt(first) >= LEAST_MS); first++) zeros += weightAt(first);
  if (first === n) return zeros === 0 ? [] : [[0.001, zeros]];
  const low = valueAt(first);
  const high = valueAt(n - 1);
  const border = bordersOf(low, high);
  const counts = new Array<number>(BINS).fill(0);
  for (let k = first; k < n; k++) {
    const value = valueAt(k);
    const share = isWide(low, high)
      ? Math.log(value / low) / Math.log(border(BINS) / low)
      : (value - low) / (border(BINS) - low);
    const bin = Math.min(BINS - 1, Math.floor(share * BINS));
    counts[bin] = (counts[bin] as number) + weightAt(k);
  }
  // Gaps of 0 (frames that shared a read) and below what a clock tells have no place on a log axis: they stand with the smallest.
  counts[0] = (counts[0] as number) + zeros;
  return [...counts.map((count, k): Point => [rounded(border(k)), count]), [rounded(border(BINS)), 0]];
}

/** Lower border of the k-th bin; the last is a little above equal values, which would have bins of no width. */
function bordersOf(low: number, high: number): (k: number) => number {
  const top = Math.max(high, low * 1.001);
  return isWide(low, high) ? (k) => low * (top / low) ** (k / BINS) : (k) => low + ((top - low) * k) / BINS;
}

/** Six digits are more than a chart shows. */
export function rounded(value: number): number {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : 0;
}
