/** Were the limits of `--slo` kept? */
import { isKept, type Limit } from '../limits.ts';
import type { RunSummary, SeriesSummary } from './summary.ts';

/** A limit and what came of it. */
export interface LimitResult {
  readonly limit: Limit;
  /** In the limit's unit; null when there is none (no request succeeded, no goodput limits). */
  readonly value: number | null;
  /** A limit without a value is missed: nothing shows that it was kept. */
  readonly isKept: boolean;
}

/** Percentiles that the limits ask for. */
export function limitPercentiles(limits: readonly Limit[]): readonly number[] {
  return limits.flatMap(({ statistic }) => (typeof statistic === 'number' ? [statistic] : []));
}

/** Judges a run; the summary must have the percentiles of {@link limitPercentiles}. */
export function judgeLimits(limits: readonly Limit[], summary: RunSummary): readonly LimitResult[] {
  return limits.map((limit) => {
    const value = measured(limit, summary);
    return { limit, value, isKept: value !== null && isKept(limit, value) };
  });
}

function measured({ metric, statistic }: Limit, summary: RunSummary): number | null {
  if (statistic === null) return rateOf(metric, summary);
  const all: Readonly<Record<string, SeriesSummary>> = { ...summary.metrics, ...summary.ownMetrics, ...summary.own };
  const series = all[metric];
  // Answers in one piece each: their time per token is 0 because nothing was there to be timed.
  if (metric === 'tpot' && summary.metrics.itl.count === 0) return null;
  if (series === undefined || series.count === 0) return null;
  return typeof statistic === 'number' ? (series.percentilesMs.get(statistic) ?? null) : series[NAMES[statistic]];
}

const NAMES = {
  mean: 'meanMs',
  median: 'medianMs',
  std: 'stdMs',
  min: 'minMs',
  max: 'maxMs',
} as const satisfies Record<string, keyof SeriesSummary>;

function rateOf(metric: string, summary: RunSummary): number | null {
  const { durationS, completed, failed, inputTokens, outputTokens, goodRequests } = summary;
  const perS = (amount: number): number | null => (durationS > 0 ? amount / durationS : null);
  switch (metric) {
    case 'request_throughput':
      return perS(completed);
    case 'request_goodput':
      return perS(goodRequests);
    case 'output_throughput':
      return perS(outputTokens);
    case 'total_token_throughput':
      return perS(inputTokens + outputTokens);
    case 'max_output_tokens_per_s':
      return summary.maxOutputTokensPerS;
    case 'max_concurrent_requests':
      return summary.maxConcurrentRequests;
    case 'error_rate': {
      // What we gave up ourselves when the run was ended is no error of the server, as for --max-errors.
      const aborted = summary.errorKinds.find(({ kind }) => kind === 'aborted')?.count ?? 0;
      const ended = completed + failed - aborted;
      return ended > 0 ? (failed - aborted) / ended : null;
    }
    case 'duration':
      return durationS * 1000;
    default:
      return null;
  }
}
