/**
 * Collects the requests of a run as they end and yields every figure of it. Requests come in any order; statistics are taken in
 * sample order, so that they equal vLLM's bit for bit and do not depend on who finished first.
 */
import type { GoodputKey } from '../metrics.ts';
import type { RequestRecord } from '../record/record.ts';
import type { RunSummary } from './summary.ts';

/** Limits of `--goodput`, in milliseconds. */
export type GoodputLimits = Readonly<Partial<Record<GoodputKey, number>>>;

export interface RunAggregateOptions {
  /** `--max-exact-values`: values kept per series before it goes over to a histogram. Default 20,000,000. */
  readonly maxExactValues?: number;
  /** Limits of `--goodput` in milliseconds. */
  readonly goodput?: GoodputLimits;
  /** Keep texts and errors of every request for `--save-detailed`. */
  readonly keepDetail?: boolean;
}

/** Counts tokens of texts without special tokens; same length and order as `texts`. */
export type CountTokens = (texts: readonly string[]) => Promise<readonly number[]>;

export interface SummarizeOptions {
  /** Percentiles wanted, 0..100. */
  readonly percentiles: readonly number[];
  /** Duration of the run in seconds. */
  readonly durationS: number;
  /** For successful requests whose server told no token count; without it each of them counts as 1 token. */
  readonly countTokens?: CountTokens;
}

export class RunAggregate {
  constructor(_options: RunAggregateOptions = {}) {
    throw new Error('to be filled');
  }

  /** Starts another record file: its requests may repeat indices of the former. */
  nextSource(): void {
    throw new Error('to be filled');
  }

  /** Takes one finished request. */
  add(_record: RequestRecord): void {
    throw new Error('to be filled');
  }

  /** Requests that succeeded so far. */
  get completed(): number {
    throw new Error('to be filled');
  }

  /** Requests that failed so far. */
  get failed(): number {
    throw new Error('to be filled');
  }

  /** All figures. The aggregate is spent afterwards. */
  async summarize(_options: SummarizeOptions): Promise<RunSummary> {
    throw new Error('to be filled');
  }
}
