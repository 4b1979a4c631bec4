/** Counts of delays for the health figures: fixed size, so that a run of days takes no more memory than one of seconds. */

const BUCKET_MS = 0.1;
/** One second; longer delays share the last bucket, and percentiles in it are the longest one. */
const BUCKETS = 10_000;

/** Delays in milliseconds, kept in buckets of 0.1 ms. */
export class DelayCounts {
  count = 0;
  max = 0;
  private total = 0;
  private readonly buckets = new Uint32Array(BUCKETS);

  /** Takes a delay; negative ones count as 0. */
  add(ms: number): void {
    const delay = Math.max(ms, 0);
    this.count++;
    this.total += delay;
    if (delay > this.max) this.max = delay;
    const bucket = Math.min(BUCKETS - 1, Math.floor(delay / BUCKET_MS));
    this.buckets[bucket] = (this.buckets[bucket] as number) + 1;
  }

  get mean(): number {
    return this.count === 0 ? 0 : this.total / this.count;
  }

  /** Upper edge of the bucket that holds the delay of this rank; 0 without delays. @param share 0..1 */
  percentile(share: number): number {
    let left = Math.ceil(this.count * share);
    if (left <= 0) return 0;
    for (let bucket = 0; bucket < BUCKETS - 1; bucket++) {
      left -= this.buckets[bucket] as number;
      if (left <= 0) return Math.min(this.max, (bucket + 1) * BUCKET_MS);
    }
    return this.max;
  }
}
