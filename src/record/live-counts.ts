/**
 * Times to first token and token gaps as they happen, for the display of a run under way: per worker two histograms in shared memory, which
 * the worker fills and the main thread reads. They hold streams that are not at their end too, so that figures move while long answers
 * come. Reports are never made of them.
 *
 * Whole microseconds in buckets that are 1/32 of an octave wide (as in HdrHistogram): what is read is within 1.6 % of what was put in.
 */

/** Steps within an octave, as a power of two. */
const STEP_BITS = 5;
const STEPS = 1 << STEP_BITS;
/** Longest duration that is told apart, µs (36 minutes); what is longer counts as this. */
const MAX_US = 0x7fffffff;
/** Buckets of one histogram. */
export const LIVE_BUCKETS = (31 - STEP_BITS + 1) * STEPS;
/** Bytes that one worker needs: TTFT, then gaps. */
export const LIVE_BYTES = 2 * LIVE_BUCKETS * 4;

/** The bucket of a duration in ms. Negative ones and NaN count as 0. */
export function liveBucket(ms: number): number {
  const us = ms > 0 ? (ms * 1000 >= MAX_US ? MAX_US : Math.round(ms * 1000)) : 0;
  if (us < STEPS) return us;
  const octave = 31 - Math.clz32(us);
  const shift = octave - STEP_BITS;
  return (shift + 1) * STEPS + ((us >>> shift) & (STEPS - 1));
}

/** The middle of a bucket, ms. */
export function liveBucketMs(bucket: number): number {
  if (bucket < STEPS) return bucket / 1000;
  const shift = Math.floor(bucket / STEPS) - 1;
  const lowUs = (STEPS + (bucket % STEPS)) * 2 ** shift;
  return (lowUs + (2 ** shift - 1) / 2) / 1000;
}

/** What the filling needs of a stream. */
interface Timed {
  /** Arrival of each token frame, ms; only the first `tokenFrames` count. */
  readonly times: Float64Array;
  readonly tokenFrames: number;
}

/** A worker's pair of histograms, to be filled. */
export class LiveCounts {
  private readonly ttft: Uint32Array;
  private readonly gaps: Uint32Array;

  /** @param memory of {@link LIVE_BYTES} */
  constructor(memory: SharedArrayBuffer) {
    this.ttft = new Uint32Array(memory, 0, LIVE_BUCKETS);
    this.gaps = new Uint32Array(memory, LIVE_BUCKETS * 4, LIVE_BUCKETS);
  }

  /**
   * Takes what a stream got since it was last looked at: some nanoseconds per event, and none of them while bytes are read.
   * @param startMs when its request was sent
   * @param counted token frames that were taken before
   * @returns the number that is taken now
   */
  take(stream: Timed, startMs: number, counted: number): number {
    const { times, tokenFrames } = stream;
    if (counted >= tokenFrames) return tokenFrames;
    let from = counted;
    if (from === 0) {
      count(this.ttft, (times[0] as number) - startMs);
      from = 1;
    }
    for (let k = from; k < tokenFrames; k++) count(this.gaps, (times[k] as number) - (times[k - 1] as number));
    return tokenFrames;
  }
}

function count(cells: Uint32Array, ms: number): void {
  const bucket = liveBucket(ms);
  cells[bucket] = (cells[bucket] as number) + 1;
}

/** Two percentiles of a series, ms. */
export interface LiveLatency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What the workers' pairs say together; null where nothing was counted. */
export function liveLatencies(memories: readonly SharedArrayBuffer[]): {
  readonly ttft: LiveLatency | null;
  readonly itl: LiveLatency | null;
} {
  return { ttft: latency(memories, 0), itl: latency(memories, LIVE_BUCKETS * 4) };
}

function latency(memories: readonly SharedArrayBuffer[], offset: number): LiveLatency | null {
  const sums = new Float64Array(LIVE_BUCKETS);
  let total = 0;
  for (const memory of memories) {
    const cells = new Uint32Array(memory, offset, LIVE_BUCKETS);
    for (let bucket = 0; bucket < LIVE_BUCKETS; bucket++) {
      const n = cells[bucket] as number;
      sums[bucket] = (sums[bucket] as number) + n;
      total += n;
    }
  }
  return total === 0 ? null : { p50Ms: atShare(sums, total, 0.5), p99Ms: atShare(sums, total, 0.99) };
}

/** Nearest rank: the value that at least this share of all do not exceed. */
function atShare(sums: Float64Array, total: number, share: number): number {
  let left = Math.ceil(total * share);
  for (let bucket = 0; bucket < LIVE_BUCKETS; bucket++) {
    left -= sums[bucket] as number;
    if (left <= 0) return liveBucketMs(bucket);
  }
  return liveBucketMs(LIVE_BUCKETS - 1);
}
