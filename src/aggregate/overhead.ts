/** The figures of the self-benchmark, as `commands/overhead.ts` makes them and `report/overhead-table.ts` shows them. */
import type { Delivery } from './delivery.ts';

/** What the built-in server says of itself. Never charged to the client. */
export interface ServerFigures {
  /** Write − due time of the token frames, ms. */
  readonly lateMs: { readonly mean: number; readonly p99: number; readonly max: number };
  readonly frames: number;
  /** CPU time of its process per frame, µs, without its start-up. */
  readonly cpuUsPerFrame: number;
}

/** One run of the self-benchmark. */
export interface OverheadFigures extends Delivery {
  readonly streams: number;
  readonly requests: number;
  readonly workers: number;
  /** Events seen per second, from the first to the last. */
  readonly eventsPerS: number;
  /** CPU time of this process (all threads) in the run, per event that the server sent, µs. */
  readonly cpuUsPerEvent: number;
  /** The same as cores in use. */
  readonly cpuCores: number;
  /** Worst worker. */
  readonly loopDelayMs: { readonly p99: number; readonly max: number };
  readonly utilisation: number;
  readonly readsPerEvent: number;
  readonly server: ServerFigures;
}

/** Why a number of streams was not measured. */
export interface SkippedLevel {
  readonly streams: number;
  readonly why: string;
}

/** What ended the search: the limit, or something before it could be reached; then the rate found is a lower bound. */
export type SearchEnd = 'limit' | 'server' | 'files' | 'time' | 'most';

/** The highest rate found. */
export interface SearchResult {
  readonly limitMs: number;
  readonly endedBy: SearchEnd;
  /** The best run within the limit; null when there was none. */
  readonly best: OverheadFigures | null;
  /** Every number of streams that was tried, in order. */
  readonly tries: readonly OverheadFigures[];
}

/** Everything that one call yields. */
export interface OverheadReport {
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly ttftMs: number;
  readonly itlMs: number;
  readonly tokens: number;
  readonly lockstep: boolean;
  readonly levels: readonly OverheadFigures[];
  readonly skipped: readonly SkippedLevel[];
  /** Null with `--no-search`. */
  readonly search: SearchResult | null;
}
