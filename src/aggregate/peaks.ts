/**
 * Peak token rate and peak concurrency as vLLM counts them: one-second buckets from the earliest start of a successful request;
 * tokens are token frames (not usage tokens); a request counts in every bucket that it touches, so that the peak can exceed
 * the concurrency asked for.
 */

export interface Peaks {
  /** Most token frames in one bucket. */
  readonly tokensPerS: number;
  /** Most requests that touch one bucket. */
  readonly concurrentRequests: number;
}

/** One successful request, times in seconds. */
export interface PeakRequest {
  readonly start: number;
  readonly ttft: number;
  readonly latency: number;
}

/**
 * Exact peaks, fed with every successful request in any order. The origin must be known beforehand. Buckets are kept in maps, since
 * nothing bounds the time that a record file spans.
 */
export class PeakCounter {
  readonly #origin: number;
  readonly #seconds: number;
  readonly #tokens = new Map<number, number>();
  readonly #change = new Map<number, number>();

  /**
   * @param origin earliest start of all successful requests
   * @param end latest start + latency
   */
  constructor(origin: number, end: number) {
    this.#origin = origin;
    this.#seconds = Math.ceil(end - origin) + 1;
  }

  add(request: PeakRequest, gaps: ArrayLike<number>): void {
    let at = request.start + request.ttft;
    let bucket = Math.trunc(at - this.#origin);
    let inBucket = 1;
    for (let k = 0; k < gaps.length; k++) {
      at += gaps[k] as number;
      const next = Math.trunc(at - this.#origin);
      if (next !== bucket) {
        this.#count(bucket, inBucket);
        bucket = next;
        inBucket = 0;
      }
      inBucket++;
    }
    this.#count(bucket, inBucket);
    const first = Math.trunc(request.start - this.#origin);
    const last = Math.trunc(request.start + request.latency - this.#origin);
    if (last < first) return;
    this.#change.set(first, (this.#change.get(first) ?? 0) + 1);
    this.#change.set(last + 1, (this.#change.get(last + 1) ?? 0) - 1);
  }

  peaks(): Peaks {
    let tokensPerS = 0;
    for (const count of this.#tokens.values()) if (count > tokensPerS) tokensPerS = count;
    return { tokensPerS, concurrentRequests: highest(this.#change) };
  }

  #count(bucket: number, n: number): void {
    if (bucket < 0 || bucket >= this.#seconds) return;
    this.#tokens.set(bucket, (this.#tokens.get(bucket) ?? 0) + n);
  }
}

/** Slices of {@link PeakEstimate} per second. */
const SLICES = 100;

/**
 * Peaks for a run whose values are no longer kept: counts in slices of 10 ms from the first request seen, laid into seconds from the
 * earliest start at the end. Right to within one slice at the borders of a second.
 */
export class PeakEstimate {
  readonly #base: number;
  #earliest = Number.POSITIVE_INFINITY;
  readonly #tokens = new Map<number, number>();
  readonly #starts = new Map<number, number>();
  readonly #ends = new Map<number, number>();

  constructor(base: number) {
    this.#base = base;
  }

  add(request: PeakRequest, gaps: ArrayLike<number>): void {
    if (request.start < this.#earliest) this.#earliest = request.start;
    let at = request.start + request.ttft;
    bump(this.#tokens, this.#slice(at));
    for (let k = 0; k < gaps.length; k++) {
      at += gaps[k] as number;
      bump(this.#tokens, this.#slice(at));
    }
    bump(this.#starts, this.#slice(request.start));
    bump(this.#ends, this.#slice(request.start + request.latency));
  }

  peaks(): Peaks {
    if (this.#earliest === Number.POSITIVE_INFINITY) return { tokensPerS: 0, concurrentRequests: 0 };
    const origin = this.#slice(this.#earliest);
    const second = (slice: number) => Math.floor((slice - origin) / SLICES);
    const tokens = new Map<number, number>();
    for (const [slice, n] of this.#tokens) tokens.set(second(slice), (tokens.get(second(slice)) ?? 0) + n);
    const change = new Map<number, number>();
    for (const [slice, n] of this.#starts) change.set(second(slice), (change.get(second(slice)) ?? 0) + n);
    for (const [slice, n] of this.#ends) change.set(second(slice) + 1, (change.get(second(slice) + 1) ?? 0) - n);
    let tokensPerS = 0;
    for (const count of tokens.values()) if (count > tokensPerS) tokensPerS = count;
    return { tokensPerS, concurrentRequests: highest(change) };
  }

  #slice(at: number): number {
    return Math.floor((at - this.#base) * SLICES);
  }
}

function bump(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Highest running sum of the changes, in order of their keys. */
function highest(change: ReadonlyMap<number, number>): number {
  let now = 0;
  let most = 0;
  for (const key of [...change.keys()].sort((a, b) => a - b)) {
    now += change.get(key) as number;
    if (now > most) most = now;
  }
  return most;
}
