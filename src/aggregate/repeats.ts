/** Repeated runs of the same load: mean, spread and interval of each figure over the runs. */
import { LATENCY_METRICS, RATE_METRICS } from '../metrics.ts';

/** A figure over the runs. */
export interface Repeated {
  readonly key: string;
  readonly values: readonly number[];
  readonly mean: number;
  /** Sample standard deviation (n − 1). */
  readonly std: number;
  /** std / mean; 0 when the mean is. */
  readonly cv: number;
  /** 95 % interval of the mean, by Student's t over the runs. */
  readonly low: number;
  readonly high: number;
}

/** From this spread on a difference that one would care about may be chance. */
export const WIDE_CV = 0.05;

/** Quantiles 0.975 of Student's t for 1, 2, … degrees of freedom; beyond the list the normal distribution's. */
const T_975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093,
  2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
]; // biome-ignore format: a table
const NORMAL_975 = 1.96;

/** Quantile 0.975 of Student's t with so many degrees of freedom, at least 1. */
export function student975(freedom: number): number {
  return T_975[freedom - 1] ?? NORMAL_975;
}

/** Keys that are worth a spread, in the order of the catalogue. */
const KEYS: readonly string[] = [
  ...RATE_METRICS.map(({ key }) => key),
  ...LATENCY_METRICS.flatMap(({ key }) => ['mean', 'median', 'p99'].map((name) => `${name}_${key}_ms`)),
];

/** All figures that every run has; empty for fewer than two runs. */
export function repeatedFigures(results: readonly Readonly<Record<string, unknown>>[]): Repeated[] {
  if (results.length < 2) return [];
  return KEYS.flatMap((key) => {
    const values = results.map((result) => result[key]);
    return values.every((value) => typeof value === 'number' && Number.isFinite(value))
      ? [figureOf(key, values as number[])]
      : [];
  });
}

function figureOf(key: string, values: readonly number[]): Repeated {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  const half = (student975(n - 1) * std) / Math.sqrt(n);
  return { key, values, mean, std, cv: mean === 0 ? 0 : std / Math.abs(mean), low: mean - half, high: mean + half };
}
