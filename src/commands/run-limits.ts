/** `--max-errors` and `--max-error-rate`: when a run has failed so much that it is not worth its time. */
import type { RequestRecord } from '../record/record.ts';

/** Requests that must have ended before their share of failures can stop a run. */
export const LEAST_REQUESTS = 20;
/** Deviations of the normal distribution that one bad stretch stays within 999 times in a thousand. */
const SURE = 3.29;

/** Limits of a run; null = none. */
export interface FailureLimits {
  readonly maxErrors: number | null;
  /** 0..1. */
  readonly maxErrorRate: number | null;
}

/**
 * Is the true share of failures above the limit, beyond what chance explains? The lower end of Wilson's interval (E. B. Wilson,
 * JASA 22, 1927) is compared, so that the first failure of a long run does not end it.
 */
export function isBeyondChance(failed: number, ended: number, limit: number): boolean {
  if (ended < LEAST_REQUESTS || failed <= limit * ended) return false;
  const share = failed / ended;
  const z2 = SURE * SURE;
  const centre = share + z2 / (2 * ended);
  const spread = SURE * Math.sqrt((share * (1 - share)) / ended + z2 / (4 * ended * ended));
  return (centre - spread) / (1 + z2 / ended) > limit;
}

/** Counts what ended, and says when a limit is missed. */
export class FailureCount {
  /** Failures; what we gave up ourselves is none. */
  failed = 0;
  private ended = 0;
  private readonly limits: FailureLimits;

  constructor(limits: FailureLimits) {
    this.limits = limits;
  }

  /** @returns the option whose limit is missed now, with the count; null when none is */
  add({ success, error_kind: kind }: Pick<RequestRecord, 'success' | 'error_kind'>): string | null {
    if (kind === 'aborted') return null;
    this.ended++;
    if (success) return null;
    this.failed++;
    const { maxErrors, maxErrorRate } = this.limits;
    if (maxErrors !== null && this.failed >= maxErrors) return `--max-errors ${maxErrors}`;
    if (maxErrorRate === null || !isBeyondChance(this.failed, this.ended, maxErrorRate)) return null;
    return `--max-error-rate ${percent(maxErrorRate)}`;
  }

  /** `12 of 40 requests failed`. */
  get words(): string {
    return `${this.failed} of ${this.ended} requests failed`;
  }

  /** More failed than the share allows, of all that ended. */
  get isRateMissed(): boolean {
    const { maxErrorRate } = this.limits;
    return maxErrorRate !== null && this.failed > maxErrorRate * this.ended;
  }
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(6))}%`;
}
