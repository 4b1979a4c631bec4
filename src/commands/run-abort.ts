/** `--abort-on-slo`: has a run missed a limit for good, whatever the rest of it brings? */
import type { Limit } from '../limits.ts';
import type { RequestRecord } from '../record/record.ts';

/** Series of one value per request, in ms. */
const PER_REQUEST: Readonly<Record<string, (record: RequestRecord) => number | null>> = {
  ttft: ({ ttft }) => ttft * 1000,
  e2el: ({ latency }) => latency * 1000,
  tpot: ({ ttft, latency, output_tokens: tokens }) =>
    tokens !== null && tokens > 1 ? ((latency - ttft) * 1000) / (tokens - 1) : null,
  client_queue_time: ({ start_time: start, arrival_time: arrival }) => (start - arrival) * 1000,
};

/**
 * Counts what lies beyond the bounds of percentiles and what fails. No estimate, so no noise: a percentile p over n requests is missed for
 * good once more than n · (100 − p) / 100 of them are beyond the bound, plus one for the value that numpy's percentile interpolates with.
 * Means and rates can always be made up for.
 */
export class AbortRule {
  private readonly rules: readonly { readonly limit: Limit; beyond: number; readonly most: number }[];

  /** `planned`: requests of the whole run. */
  constructor(limits: readonly Limit[], planned: number) {
    this.rules = limits.flatMap((limit) => {
      const most = allowed(limit, planned);
      return most === null ? [] : [{ limit, beyond: 0, most }];
    });
  }

  /** @returns the limit that is missed for good now; null while none is */
  add(record: RequestRecord): Limit | null {
    for (const rule of this.rules) {
      if (isBeyond(rule.limit, record)) rule.beyond++;
      if (rule.beyond > rule.most) return rule.limit;
    }
    return null;
  }
}

/** How many requests may be beyond the limit; null for limits that cannot be judged early. */
function allowed({ metric, statistic, operator, bound }: Limit, planned: number): number | null {
  if (operator === '>' || operator === '>=') return null;
  if (metric === 'error_rate') return bound * planned;
  if (PER_REQUEST[metric] === undefined) return null;
  if (statistic === 'max') return 0;
  return typeof statistic === 'number' ? (planned * (100 - statistic)) / 100 + 1 : null;
}

function isBeyond({ metric, operator, bound }: Limit, record: RequestRecord): boolean {
  if (metric === 'error_rate') return !record.success && record.error_kind !== 'aborted';
  const value = record.success ? (PER_REQUEST[metric]?.(record) ?? null) : null;
  return value !== null && (operator === '<' ? value >= bound : value > bound);
}
