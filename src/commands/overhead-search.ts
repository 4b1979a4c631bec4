/** The search of the self-benchmark: the highest rate of events that are seen in time. How a number of streams is run is put in. */
import type { OverheadFigures, SearchEnd, SearchResult } from '../aggregate/overhead.ts';
import { nextTrial } from '../aggregate/rate-search.ts';
import { nowMs } from '../record/clock.ts';

/** Half of what a server may be late, where the gaps between its tokens are shorter. */
const LATE_SERVER_MS = 5;

/** What is searched, and in which bounds. */
export interface SearchPlan {
  /** `--limit`: 99 % of the events must be seen within it. */
  readonly limitMs: number;
  readonly itlMs: number;
  /** Streams of the first try. */
  readonly first: number;
  readonly most: number;
  /** Where `most` comes from. */
  readonly mostBy: Extract<SearchEnd, 'files' | 'most'>;
  /** No new try begins after so long. */
  readonly forMs: number;
  /** Runs so many streams in steady state. */
  run(streams: number): Promise<OverheadFigures>;
}

/** Searches. Passes on what `run` throws. */
export async function searchRate(plan: SearchPlan): Promise<SearchResult> {
  const { limitMs, itlMs, first, most } = plan;
  const tries: OverheadFigures[] = [];
  const isSeen = (one: OverheadFigures): boolean => one.deliveryMs.p99 <= limitMs && one.lost + one.failed === 0;
  // A server that cannot keep up sends another load than it was asked for: no test of the client.
  const isGood = (one: OverheadFigures): boolean => isSeen(one) && !isServerLate(one, itlMs);
  const untilMs = nowMs() + plan.forMs;
  let next = nextTrial([], first, most);
  while (next !== null && nowMs() <= untilMs) {
    tries.push(await plan.run(next));
    const trials = tries.map((one) => ({ streams: one.streams, isGood: isGood(one) }));
    next = nextTrial(trials, first, most);
  }
  const best = tries.filter(isGood).toSorted((a, b) => b.streams - a.streams)[0] ?? null;
  let endedBy: SearchEnd = 'limit';
  if (next !== null) endedBy = 'time';
  else if (best?.streams === most) endedBy = plan.mostBy;
  else if (tries.some((one) => one.streams > (best?.streams ?? 0) && isSeen(one))) endedBy = 'server';
  return { limitMs, endedBy, best, tries };
}

function isServerLate({ server }: OverheadFigures, itlMs: number): boolean {
  return server.lateMs.p99 > 2 * Math.max(itlMs, LATE_SERVER_MS);
}
