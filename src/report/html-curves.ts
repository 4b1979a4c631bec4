/**
 * Series cut down to what a page can hold. Extremes stay: a curve ends at its maximum, a bucket keeps its largest value.
 */
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
  const n = sorted.length;
  if (n === 0) return [];
  const points: Point[] = [];
  const most = Math.max(1.0001, n);
  let last = -1;
  for (let k = 0; k <= CURVE_POINTS; k++) {
    const x = most ** (k / CURVE_POINTS);
    const rank = k === CURVE_POINTS ? n - 1 : Math.min(n - 1, Math.floor((1 - 1 / x) * n));
    if (rank === last) continue;
    last = rank;
    points.push([rounded(x), rounded(sorted[rank] as number)]);
  }
  return points;
}

/** Counts in bins of equal width on a log scale; [lower border, count], and a last border with 0. */
export function logHistogram(sorted: Float64Array): Point[] {
  const positive = sorted.filter((value) => value >= LEAST_MS);
  const zeros = sorted.length - positive.length;
  if (positive.length === 0) return zeros === 0 ? [] : [[0.001, zeros]];
  const low = positive[0] as number;
  const ratio = Math.max(1.001, ((positive[positive.length - 1] as number) / low) ** (1 / BINS));
  const counts = new Array<number>(BINS).fill(0);
  for (const value of positive) {
    const bin = Math.min(BINS - 1, Math.floor(Math.log(value / low) / Math.log(ratio)));
    counts[bin] = (counts[bin] as number) + 1;
  }
  // Gaps of 0 (frames that shared a read) and below what a clock tells have no place on a log axis: they stand with the smallest.
  counts[0] = (counts[0] as number) + zeros;
  return [...counts.map((count, k): Point => [rounded(low * ratio ** k), count]), [rounded(low * ratio ** BINS), 0]];
}

/** Six digits are more than a chart shows. */
export function rounded(value: number): number {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : 0;
}
