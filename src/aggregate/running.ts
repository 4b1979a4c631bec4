/**
 * Figures of a series whose values are not kept: count, mean and deviation by Welford's method (exact up to rounding), smallest
 * and largest value, and percentiles from a HDR histogram.
 */
import type { HistogramSet } from './histogram.ts';

/** Running count, mean and sum of squared deviations (B. P. Welford, Technometrics 4(3), 1962). */
export class RunningStats {
  count = 0;
  mean = 0;
  #squares = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;

  add(value: number): void {
    this.count++;
    const before = value - this.mean;
    this.mean += before / this.count;
    this.#squares += before * (value - this.mean);
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  /** Adds the values of another one (T. F. Chan, G. H. Golub, R. J. LeVeque, 1979). */
  addStats(other: RunningStats): void {
    if (other.count === 0) return;
    const count = this.count + other.count;
    const gap = other.mean - this.mean;
    this.#squares += other.#squares + (gap * gap * this.count * other.count) / count;
    this.mean += (gap * other.count) / count;
    this.count = count;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
  }

  /** Population standard deviation; 0 for no values. */
  get std(): number {
    return this.count === 0 ? 0 : Math.sqrt(this.#squares / this.count);
  }
}

/** Series by key, each a {@link RunningStats} beside its histogram. Values in seconds. */
export class RunningSeries {
  readonly #stats = new Map<string, RunningStats>();
  readonly histograms: HistogramSet;

  constructor(histograms: HistogramSet) {
    this.histograms = histograms;
  }

  add(key: string, seconds: number): void {
    this.#of(key).add(seconds);
    this.histograms.record(key, seconds);
  }

  addAll(key: string, seconds: ArrayLike<number>): void {
    const stats = this.#of(key);
    for (let i = 0; i < seconds.length; i++) stats.add(seconds[i] as number);
    this.histograms.recordAll(key, seconds);
  }

  /** Adds all series of another one, without loss. */
  addSeries(other: RunningSeries): void {
    for (const [key, stats] of other.#stats) this.#of(key).addStats(stats);
    this.histograms.add(other.histograms);
  }

  get(key: string): RunningStats | undefined {
    return this.#stats.get(key);
  }

  #of(key: string): RunningStats {
    let stats = this.#stats.get(key);
    if (stats === undefined) {
      stats = new RunningStats();
      this.#stats.set(key, stats);
    }
    return stats;
  }
}
