/** The search for the highest load that still meets a limit: which load to try next. Pure, so that it can be tried on any machine. */

/** One try. */
export interface Trial {
  readonly streams: number;
  /** The limit was met. */
  readonly isGood: boolean;
}

/** The search ends when the lowest bad load is no more than this above the highest good one. */
const CLOSE_ENOUGH = 1.2;

/**
 * Streams to try next: doubled while all is good, halved while nothing is, then between the highest good and the lowest bad number
 * above it (geometric mean).
 * @param first what to begin with
 * @param most no more than so many
 * @returns null when the answer is known well enough, or there is nothing left to try
 */
export function nextTrial(trials: readonly Trial[], first: number, most: number): number | null {
  if (trials.length === 0) return Math.max(1, Math.min(first, most));
  const good = highestGood(trials);
  const bad = trials.filter(({ isGood, streams }) => !isGood && streams > good).map(({ streams }) => streams);
  if (bad.length === 0) return good >= most ? null : Math.min(most, good * 2);
  const lowestBad = Math.min(...bad);
  if (good === 0) return lowestBad === 1 ? null : Math.max(1, Math.floor(lowestBad / 2));
  const between = Math.round(Math.sqrt(good * lowestBad));
  return lowestBad / good <= CLOSE_ENOUGH || between === good || between === lowestBad ? null : between;
}

/** The highest number of streams that met the limit; 0 when none did. */
export function highestGood(trials: readonly Trial[]): number {
  return Math.max(0, ...trials.filter(({ isGood }) => isGood).map(({ streams }) => streams));
}
