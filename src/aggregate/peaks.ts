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

/** Buckets that may be counted: 97 days of seconds. A file that spans more has holes, and its peaks are those of the first buckets. */
const MAX_BUCKETS = 1 << 23;

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
    bump(this.#change, first, 1);
    bump(this.#change, last + 1, -1);
  }

  peaks(): Peaks {
    let tokensPerS = 0;
    for (const count of this.#tokens.values()) if (count > tokensPerS) tokensPerS = count;
    return { tokensPerS, concurrentRequests: highest(this.#change) };
  }

  #count(bucket: number, n: number): void {
    if (bucket < 0 || bucket >= this.#seconds) return;
    bump(this.#tokens, bucket, n);
  }
}

/** Slices per second of {@link PeakEstimate}, finest first. */
const SLICES = [100, 10, 1] as const;
/** Slices held before the estimate goes over to coarser ones. */
const MAX_SLICES = 1 << 20;

/**
 * Peaks for a run whose values are no longer kept: counts in slices of 10 ms from the first request seen (100 ms and 1 s in long runs),
 * laid into seconds from the earliest start at the end. Right to within one slice at the borders of a second.
 */
export class PeakEstimate {
  readonly #base: number;
  #level = 0;
  #earliest = Number.POSITIVE_INFINITY;
  #tokens = new Map<number, number>();
  #starts = new Map<number, number>();
  #ends = new Map<number, number>();

  constructor(base: number) {
    this.#base = base;
  }

  add(request: PeakRequest, gaps: ArrayLike<number>): void {
    if (request.start < this.#earliest) this.#earliest = request.start;
    let at = request.start + request.ttft;
    bump(this.#tokens, this.#slice(at), 1);
    for (let k = 0; k < gaps.length; k++) {
      at += gaps[k] as number;
      bump(this.#tokens, this.#slice(at), 1);
    }
    bump(this.#starts, this.#slice(request.start), 1);
    bump(this.#ends, this.#slice(request.start + request.latency), 1);
    if (this.#tokens.size + this.#starts.size + this.#ends.size > MAX_SLICES && this.#level < SLICES.length - 1) {
      this.#coarsen();
    }
  }

  peaks(): Peaks {
    if (this.#earliest === Number.POSITIVE_INFINITY) return { tokensPerS: 0, concurrentRequests: 0 };
    const origin = this.#slice(this.#earliest);
    const second = (slice: number) => Math.floor((slice - origin) / this.#perSecond);
    const change = regrouped(this.#starts, second);
    for (const [slice, n] of this.#ends) bump(change, second(slice) + 1, -n);
    let tokensPerS = 0;
    for (const count of regrouped(this.#tokens, second).values()) if (count > tokensPerS) tokensPerS = count;
    return { tokensPerS, concurrentRequests: highest(change) };
  }

  get #perSecond(): number {
    return SLICES[this.#level] as number;
  }

  #slice(at: number): number {
    return Math.floor((at - this.#base) * this.#perSecond);
  }

  #coarsen(): void {
    const factor = this.#perSecond;
    this.#level++;
    const coarser = (slice: number) => Math.floor((slice * this.#perSecond) / factor);
    this.#tokens = regrouped(this.#tokens, coarser);
    this.#starts = regrouped(this.#starts, coarser);
    this.#ends = regrouped(this.#ends, coarser);
  }
}

function regrouped(counts: ReadonlyMap<number, number>, to: (key: number) => number): Map<number, number> {
  const out = new Map<number, number>();
  for (const [key, n] of counts) bump(out, to(key), n);
  return out;
}

function bump(counts: Map<number, number>, key: number, by: number): void {
  const known = counts.get(key);
  if (known !== undefined) counts.set(key, known + by);
  else if (counts.size < MAX_BUCKETS) counts.set(key, by);
}

/** Highest running sum of the changes, in order of their keys. */
function highest(change: ReadonlyMap<number, number>): number {
  let now = 0;
  let most = 0;
  for (const [, by] of [...change].sort((a, b) => a[0] - b[0])) {
    now += by;
    if (now > most) most = now;
  }
  return most;
}
