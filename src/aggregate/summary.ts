/**
 * The figures of a run as data: made by `collect.ts`, read by `report/`. Latencies in milliseconds, made as vLLM makes them: the
 * statistic is taken over seconds first and multiplied by 1000 afterwards.
 */
import type { LatencyKey, OwnMetricKey, OwnSeriesKey } from '../metrics.ts';
import type { CountSource } from './believed.ts';

/** Where percentiles and medians come from: all values, or a HDR histogram (three digits) when there were too many. */
export type PercentileSource = 'exact' | 'hdr';

/** Figures of one series. All 0 when it is empty (`count` 0), as in vLLM. */
export interface SeriesSummary {
  readonly count: number;
  readonly meanMs: number;
  readonly medianMs: number;
  readonly stdMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Value by percentile, for each percentile asked for and each of {@link STANDARD_PERCENTILES}. */
  readonly percentilesMs: ReadonlyMap<number, number>;
  readonly source: PercentileSource;
}

/** Percentiles that every series of ours has, whatever was asked for. */
export const STANDARD_PERCENTILES: readonly number[] = [50, 90, 95, 99, 99.9];

/** A value per request in sample order, made when it is read. */
export interface View<T> {
  readonly length: number;
  at(index: number): T;
}

/** Per-request values in sample order, failed requests included: vLLM's arrays. */
export interface DetailViews {
  readonly inputLens: View<number>;
  readonly outputLens: View<number>;
  readonly ttfts: View<number>;
  /** Null when there were too many gaps to keep them. */
  readonly itls: View<Float64Array> | null;
  readonly latencies: View<number>;
  readonly startTimes: View<number>;
  /** start − arrival. */
  readonly queueTimes: View<number>;
  readonly generatedTexts: View<string>;
  readonly errors: View<string>;
  readonly successes: View<boolean>;
  /** Send to the moment at which the request's place was free again, failed ones too, seconds. */
  readonly takenTimes?: View<number>;
  /** Wait in the server's queue as its usage tells, seconds; NaN where it tells none. */
  readonly serverQueueTimes?: View<number>;
}

/** Failures of one kind. */
export interface ErrorKindSummary {
  readonly kind: string;
  readonly count: number;
  /** The words of the failure that comes first in sample order. */
  readonly sample: string;
  /** The same by HTTP status, for kind `http`. */
  readonly statuses: ReadonlyMap<number, { readonly count: number; readonly sample: string }>;
}

/** Token frames of the successful requests. */
export interface FrameSummary {
  readonly tokenFrames: number;
  readonly reasoningFrames: number;
  /** Frames that shared a socket read with an earlier token frame. */
  readonly mergedFrames: number;
  readonly reads: number;
  /** Output tokens per token frame, over requests whose tokens were told; null when none was. */
  readonly tokensPerFrame: number | null;
}

/** Output lengths asked for against those made, over successful requests that have both. */
export interface LengthSummary {
  readonly requests: number;
  readonly askedTokens: number;
  readonly madeTokens: number;
  readonly exact: number;
  readonly short: number;
  readonly long: number;
  /** How many tokens were missing → how many requests, for those that ended by length. */
  readonly missingAtLengthEnd: ReadonlyMap<number, number>;
  /** Short ones that ended by themselves (any finish reason but "length"). */
  readonly shortByOwnEnd: number;
}

/** One category of the data set. */
export interface CategorySummary {
  readonly category: string;
  readonly completed: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly meanTtftMs: number;
  readonly meanTpotMs: number;
  readonly meanE2elMs: number;
}

/** How the output tokens of successful requests were counted. */
export interface TokenCountSummary {
  /** Told by the server. */
  readonly told: number;
  /** Counted by the tokenizer over the text, because the server told none. */
  readonly counted: number;
  /** No usage: told by the `logprobs` of the answer. */
  readonly byLogprobs: number;
  /** Neither usage nor text: at least one per frame. */
  readonly byFrames: number;
  /** Taken as 1, because there was no tokenizer either. */
  readonly assumedOne: number;
  /** Usage was wrong, and these were counted otherwise: number of requests by what. */
  readonly corrected: Readonly<Record<CountSource, number>>;
  /** Usage seems wrong, but nothing tells more. */
  readonly doubted: number;
}

/** One source (record file) of the aggregate. */
export interface SourceSpan {
  readonly requests: number;
  /** Earliest start of a request, seconds; infinity without requests. */
  readonly firstStart: number;
  /** Latest end of an answer, seconds; minus infinity without requests. */
  readonly lastEnd: number;
}

/** Series of the steady-state window: those of its requests. */
export type SteadySeriesKey = 'ttft' | 'tpot' | 'itl' | 'e2el' | OwnMetricKey;

/** What happened in the steady-state window (or windows, one per repeat of a run). */
export interface SteadyFigures {
  /** Seconds after the first request of the run (or repeat) was sent. */
  readonly windows: readonly { readonly fromS: number; readonly toS: number }[];
  /** Length of all windows together. */
  readonly lengthS: number;
  /** Time of it at which the number in flight was at the level. */
  readonly atLevelS: number;
  /** Successful requests sent within. */
  readonly started: number;
  /** Successful requests that ended within. */
  readonly completed: number;
  /** Failed requests that ended within. */
  readonly failed: number;
  /** Successful requests, each counted by the share of its time in flight that lies within. */
  readonly requests: number;
  /** Prompt tokens, counted in the same way. */
  readonly inputTokens: number;
  /** Output tokens that arrived within: each token frame counts as its answer's tokens / its answer's frames. */
  readonly outputTokens: number;
  /**
   * Output tokens in equal parts of the window, about as many as answers that followed each other in one place of the level (20 at most), as if
   * each answer had come evenly over the time that the server worked on it: where all answers begin together, no part is without tokens
   * because all are prefilled. Their spread is the noise of the throughput.
   */
  readonly partTokens: readonly number[];
  /** Of the successful requests that were sent within. */
  readonly series: Readonly<Record<SteadySeriesKey, SeriesSummary>>;
  /** Null when all values were kept. */
  readonly precision: SteadyPrecision | null;
}

/** How exact a window is when values were not kept. */
export interface SteadyPrecision {
  /** The window begins and ends at multiples of this; null where the requests were kept. */
  readonly sliceS: number | null;
  /** Series that are not exact hold the requests sent in those segments of this length that lie wholly within. */
  readonly segmentS: number;
}

/** The steady-state window of a run. */
export interface SteadySummary {
  /** Share of {@link concurrency} that must be in flight. */
  readonly share: number;
  readonly concurrency: number;
  /** No concurrency was asked for: it is the most that was seen. */
  readonly isObserved: boolean;
  /** The level as a number of requests. */
  readonly level: number;
  /** Most requests in flight. */
  readonly peak: number;
  /** Null when the level was never reached. */
  readonly figures: SteadyFigures | null;
}

/** How requests were sent against their plan (open loop). */
export interface PlanSummary {
  readonly requests: number;
  /** Sent later than due by more than the tolerance. */
  readonly late: number;
  /** Sent - due. */
  readonly lateBy: SeriesSummary;
  /** The part of it in which all places of --max-concurrency were taken; null when the values were not kept. */
  readonly slotWait: SeriesSummary | null;
  /** The rest, which is the client's own; null when the values were not kept. */
  readonly clientLate: SeriesSummary | null;
  /** Requests per second as they were due, and as they were sent: from the first to the last; null for fewer than two. */
  readonly duePerS: number | null;
  readonly sentPerS: number | null;
}

/** Every figure of a run. */
export interface RunSummary {
  readonly durationS: number;
  readonly completed: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Completed requests within every goodput limit; 0 without limits. */
  readonly goodRequests: number;
  readonly inputAudioS: number;
  readonly inputSequences: number;
  readonly maxOutputTokensPerS: number;
  readonly maxConcurrentRequests: number;
  readonly metrics: Readonly<Record<LatencyKey, SeriesSummary>>;
  readonly ownMetrics: Readonly<Record<OwnMetricKey, SeriesSummary>>;
  readonly own: Readonly<Record<OwnSeriesKey, SeriesSummary>>;
  /** Null when it was not asked for, or nothing was in flight. */
  readonly steady: SteadySummary | null;
  /** Null when it was not asked for: requests without a plan. */
  readonly plan: PlanSummary | null;
  /** Null when there were too many requests to keep their values. */
  readonly detail: DetailViews | null;
  /** Errors of the first failures in sample order, ten at most. */
  readonly firstErrors: readonly string[];
  readonly tokenCounts: TokenCountSummary;
  readonly errorKinds: readonly ErrorKindSummary[];
  /** Failed requests that had received token frames. */
  readonly failedAfterFirstToken: number;
  /** Successful requests by finish reason; 'none' where the server gave none. */
  readonly finishReasons: ReadonlyMap<string, number>;
  readonly frames: FrameSummary;
  readonly lengths: LengthSummary;
  readonly categories: readonly CategorySummary[];
  readonly connections: { readonly opened: number; readonly staleReconnects: number };
  /** Answers with something other than events behind `[DONE]`. */
  readonly trailingGarbage: number;
  /** Answers that came compressed though nothing but identity was asked for, and the encoding of one of them. */
  readonly compressed: { readonly answers: number; readonly encoding: string };
  /** Requests that were sent again after a 429 or 503, how often, and the time waited for that. */
  readonly retried: { readonly requests: number; readonly retries: number; readonly waitS: number };
  readonly cached: { readonly requests: number; readonly tokens: number; readonly promptTokens: number };
  /** Tokens of the draft model, over the requests whose usage tells of them. `rejected` is 0 where only the accepted ones are told. */
  readonly accepted: {
    readonly requests: number;
    readonly tokens: number;
    readonly rejected: number;
    readonly outputTokens: number;
  };
  readonly sources: readonly SourceSpan[];
  /** Indices that occurred more than once: repeats when they are in different sources. */
  readonly repeatedIndices: number;
}
