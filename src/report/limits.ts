/** The limits of `--slo` in words: a line each, with the value, and by how much it was missed. */
import type { LimitResult } from '../aggregate/limits.ts';
import { shownValue } from '../limits.ts';

/** One line per limit, in the order given. */
export function limitLines(results: readonly LimitResult[]): string[] {
  return results.map(({ limit, value, isKept }) => {
    if (value === null) return `limit MISSED: ${limit.text}: there is no such value`;
    if (isKept) return `limit kept: ${limit.text}: ${shownValue(limit, value)}`;
    const by = Math.abs(value - limit.bound);
    const share = limit.bound === 0 ? '' : `, ${Number(((by / limit.bound) * 100).toPrecision(3))} %`;
    return `limit MISSED: ${limit.text}: ${shownValue(limit, value)}, by ${shownValue(limit, by)}${share}`;
  });
}

/** Was any missed? */
export function isAnyMissed(results: readonly LimitResult[]): boolean {
  return results.some(({ isKept }) => !isKept);
}
