/** The time of a sweep: what is left of `--max-duration`, and how long the rest takes. */

import { triedOf } from '../aggregate/sweep-answer.ts';
import { type Estimate, type EstimateInput, estimateOf, levelSeconds } from '../aggregate/sweep-estimate.ts';
import type { SweepOptions } from '../options/table.ts';
import { nowMs } from '../record/clock.ts';
import type { SweepLevel } from '../record/sweep.ts';
import { formatDuration } from '../units.ts';
import { type Plan, requestsFor } from './sweep-asked.ts';

/** Thrown where `--max-duration` is over. */
export class OverTime extends Error {}

/** The end that `--max-duration` sets. */
export class Deadline {
  /** On the clock of `nowMs`; infinite without a bound. */
  readonly atMs: number;
  private timer: NodeJS.Timeout | null = null;

  constructor(maxDurationMs: number | null) {
    this.atMs = maxDurationMs === null ? Number.POSITIVE_INFINITY : nowMs() + maxDurationMs;
  }

  get leftMs(): number {
    return this.atMs - nowMs();
  }

  /** Rejects with {@link OverTime} when the time is over; never resolves. Ends with `release`. */
  passed(): Promise<never> {
    this.release();
    return new Promise((_, reject) => {
      if (!Number.isFinite(this.atMs)) return;
      this.timer = setTimeout(() => reject(new OverTime()), Math.min(MOST_MS, Math.max(0, this.leftMs)));
    });
  }

  release(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}

/** No timer of Node's runs longer: a longer one would end at once. */
const MOST_MS = 2 ** 31 - 1;

/** Starting workers and saving take about so long per level, s. */
const OVERHEAD_S = 0.2;

/** What estimates are made from; `requestMs`: one request on its own. */
export function estimateInput(
  plan: Plan,
  options: SweepOptions,
  requestMs: number,
  levels: readonly SweepLevel[],
): EstimateInput {
  const requestS = Math.max(requestMs, 1) / 1000;
  return {
    levels: plan.levels,
    range: plan.range,
    isRate: plan.axis === 'request_rate',
    requestS,
    pauseS: options.settleMs / 1000 + (options.numWarmups > 0 ? requestS : 0) + OVERHEAD_S,
    requestsOf: (level) => requestsFor(plan, level),
    done: levels
      .filter(({ status, duration_s: durationS }) => status !== 'partial' && durationS > 0)
      .map((level) => ({
        ...triedOf(level, options.goodputTarget),
        durationS: level.duration_s,
        requests: level.completed + level.failed,
      })),
  };
}

/** `about 12s`, `12s to 1m30s`, `12s or more`. */
export function estimateWords({ leastS, mostS }: Estimate): string {
  const least = rounded(leastS);
  if (mostS === null) return `${formatDuration(least)} or more`;
  const most = rounded(mostS);
  return most <= least * 1.2 ? `about ${formatDuration(most)}` : `${formatDuration(least)} to ${formatDuration(most)}`;
}

/** Seconds up to two minutes, tens of them beyond. */
function rounded(seconds: number): number {
  const step = seconds > 120 ? 10 : 1;
  return Math.max(1, Math.round(seconds / step) * step) * 1000;
}

export { estimateOf, levelSeconds };
