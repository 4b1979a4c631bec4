/**
 * The shape of `sweep.json`: what `tabby-load sweep` found, written anew after each level, read again by `--resume` and by reports.
 * Snake case, times in ms unless the name says `_s`; null where there is no value.
 */

/** Schema name; the number grows when a reader of the old form would go wrong. */
export const SWEEP_SCHEMA = 'tabby-load.sweep/1';

/** What is varied: requests in flight (closed loop), or requests per second (open loop). */
export type SweepAxis = 'concurrency' | 'request_rate';

/**
 * How a level ended. `done`: measured. `failed`: every request failed, or more than the limits on failures allow, or it could not be run.
 * `partial`: broken off by an interrupt or `--max-duration`; saved, but no part of the answer, and repeated by `--resume`.
 */
export type LevelStatus = 'done' | 'failed' | 'partial';

/** A latency over the successful requests of a level. */
export interface SweepLatency {
  readonly mean_ms: number;
  readonly median_ms: number;
  readonly p90_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
}

/** One limit of `--slo` at one level. */
export interface SweepLimit {
  /** As the user wrote it. */
  readonly limit: string;
  /** In the unit of the limit: ms, share or plain; null when there is no such value. */
  readonly value: number | null;
  readonly bound: number;
  readonly kept: boolean;
}

/** Share of the requests sent that kept every `--goodput` limit, with Wilson's 95 % interval (JASA 22, 1927). */
export interface SweepGoodput {
  readonly good: number;
  readonly requests: number;
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

/** One level. */
export interface SweepLevel {
  /** Streams, or requests per second. */
  readonly level: number;
  readonly status: LevelStatus;
  /** Why it failed or is partial; empty for `done`. */
  readonly reason: string;
  /** Files of the level, relative to the folder of the sweep. */
  readonly result_file: string;
  readonly records_file: string;
  /** Of the samples as they were before the nonce: equal counts give equal hashes. */
  readonly samples_sha256: string;
  /** Start of each prompt of this level; null with `--no-nonce`. */
  readonly nonce: string | null;
  readonly requests: number;
  readonly completed: number;
  readonly failed: number;
  readonly duration_s: number;
  readonly request_throughput: number;
  /** Output tokens/s: of the steady-state window where it is long enough (`throughput_from`), else of the whole level. */
  readonly output_throughput: number;
  readonly throughput_from: 'steady_state' | 'whole_run';
  /**
   * Half width of the 95 % interval of the throughput as a share of it, from the parts of the steady-state window (null when there are too
   * few of them), or half of what several measurements differ by. Absent in files of earlier versions, as the others with a question mark.
   */
  readonly throughput_noise?: number | null;
  /** Requests in flight on average from the first one sent to the end of the last; null when nothing succeeded. */
  readonly in_flight_mean?: number | null;
  /**
   * All measurements of a level that was measured more than once, in order. The level itself then has the median of their throughputs, the
   * goodput of all their requests, and everything else of the one that is most like that.
   */
  readonly tries?: readonly SweepLevel[];
  readonly ttft: SweepLatency | null;
  readonly tpot: SweepLatency | null;
  readonly itl: SweepLatency | null;
  readonly e2el: SweepLatency | null;
  /** Wait in the server's queue as its usage tells; null when it tells none. */
  readonly server_queue: SweepLatency | null;
  readonly limits: readonly SweepLimit[];
  /** Null without `--goodput`. */
  readonly goodput: SweepGoodput | null;
  /** Was the client the limit? Null when nothing is known. */
  readonly client_was_limit: boolean | null;
}

/** What sets the knee. */
export type SweepBound = 'batch_slots' | 'cache_pages' | 'server_queue' | 'compute' | 'client' | 'unknown';

/** The highest level at which something holds, and the lowest at which it does not any more: the truth lies between. */
export interface SweepBracket {
  /** Null when it held at no level. */
  readonly highest_kept: number | null;
  /** Null when it held at every level above. */
  readonly lowest_missed: number | null;
}

/** The answer of a sweep. */
export interface SweepAnswer {
  /** Lowest level within the tolerance (5 %) of the throughput that the highest levels have on average; null when nothing was measured. */
  readonly knee: number | null;
  /** Throughput there, output tokens/s. */
  readonly knee_throughput: number | null;
  /** False when throughput still grew at the highest level. */
  readonly is_saturated: boolean;
  /** Null when throughput was not seen to saturate. */
  readonly bound: SweepBound | null;
  /** Why, in words. */
  readonly bound_why: string;
  /** Null without `--slo`. */
  readonly limits: SweepBracket | null;
  /** Null without `--goodput-target`. */
  readonly goodput: SweepBracket | null;
  /**
   * 95 % interval of the highest level that keeps the goodput target: from the highest level whose share is surely above it (null: surely
   * at none) to the lowest whose share is surely below (null: at none). Null without `--goodput-target`.
   */
  readonly goodput_interval?: { readonly from: number | null; readonly to: number | null } | null;
  /** Levels that were asked for, or would have come next, and were not measured to their end. */
  readonly missing?: readonly number[];
  /** The answer in sentences. */
  readonly words: readonly string[];
}

/** The document. */
export interface SweepDocument {
  readonly schema: typeof SWEEP_SCHEMA;
  readonly version: string;
  readonly started_at: string;
  readonly axis: SweepAxis;
  /** `auto`, or the levels as asked. */
  readonly asked: readonly number[] | 'auto';
  /** Of all samples taken, of which each level takes the first. */
  readonly samples_sha256: string;
  /** Options without secrets, vLLM's names (snake case): a resumed sweep must have the same. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly server: Readonly<Record<string, unknown>>;
  /** In the order in which they were run. */
  readonly levels: readonly SweepLevel[];
  readonly answer: SweepAnswer;
  /** False while levels are still to come. */
  readonly complete: boolean;
}
