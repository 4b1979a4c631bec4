/** A small histogram of signed times, for the server's own lateness: fixed size, one increment per value. */

const STEP_MS = 0.01;
const FINE_BINS = 2000;
const COARSE_BINS = 48;

/** Summary of a {@link LatenessHistogram}, milliseconds. */
export interface LatenessSummary {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Values below 20 ms in steps of 10 µs, above that in bins that double every second one. Values below zero count as zero. */
export class LatenessHistogram {
  private readonly bins = new Float64Array(FINE_BINS + COARSE_BINS);
  private count = 0;
  private sum = 0;
  private max = 0;

  add(ms: number): void {
    const value = Math.max(ms, 0);
    this.count++;
    this.sum += value;
    if (value > this.max) this.max = value;
    const fine = Math.floor(value / STEP_MS);
    const bin = fine < FINE_BINS ? fine : FINE_BINS + Math.min(COARSE_BINS - 1, Math.floor(2 * Math.log2(value / 20)));
    this.bins[bin] = (this.bins[bin] as number) + 1;
  }

  /** Upper edge of the bin that holds the value of this rank. */
  private quantile(q: number): number {
    let left = Math.ceil(q * this.count);
    for (let i = 0; i < this.bins.length; i++) {
      left -= this.bins[i] as number;
      if (left <= 0) return Math.min(this.max, i < FINE_BINS ? (i + 1) * STEP_MS : 20 * 2 ** ((i - FINE_BINS + 1) / 2));
    }
    return this.max;
  }

  summary(): LatenessSummary {
    if (this.count === 0) return { count: 0, meanMs: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 };
    return {
      count: this.count,
      meanMs: this.sum / this.count,
      p50Ms: this.quantile(0.5),
      p99Ms: this.quantile(0.99),
      maxMs: this.max,
    };
  }
}
