/** What a sweep is asked for, worked out of its options. */
import type { SweepRange } from '../aggregate/sweep-plan.ts';
import { type LevelRequests, readLevelRequests, readLevels, requestsOf } from '../options/sweep-levels.ts';
import type { SweepOptions } from '../options/table.ts';
import type { SweepAxis } from '../record/sweep.ts';

/** Highest level that `auto` tries, and where it begins. */
const AUTO = { concurrency: { first: 1, most: 512 }, request_rate: { first: 1, most: 64 } } as const;
const DEFAULT_REQUESTS = { concurrency: '4x', request_rate: '20x' } as const;

/** See above. */
export interface Plan {
  readonly axis: SweepAxis;
  readonly levels: readonly number[] | 'auto';
  readonly requests: LevelRequests;
  readonly range: SweepRange;
}

/** Reads the options, which were looked at when the command line was read. */
export function planOf(options: SweepOptions): Plan {
  const axis: SweepAxis = options.sweepRequestRate === null ? 'concurrency' : 'request_rate';
  const words = (axis === 'concurrency' ? options.sweepMaxConcurrency : options.sweepRequestRate) ?? [];
  const read = readLevels(words, axis);
  const requests = readLevelRequests(options.requestsPerLevel ?? DEFAULT_REQUESTS[axis]);
  if ('problem' in read || requests === null) throw new Error(`levels: ${words.join()}`);
  const { first, most } = AUTO[axis];
  const isWhole = axis === 'concurrency';
  const highest = options.maxLevel ?? most;
  return {
    axis,
    levels: read.levels,
    requests,
    range: { first, most: isWhole ? Math.max(1, Math.floor(highest)) : highest, isWhole },
  };
}

/** The highest level that may come. */
export function highestLevel({ levels, range }: Plan): number {
  return levels === 'auto' ? range.most : Math.max(...levels);
}

/** Requests of a level. So many streams need as many requests at least: fewer would measure a lower level under this one's name. */
export function requestsFor({ axis, requests }: Plan, level: number): number {
  return Math.max(requestsOf(level, requests), axis === 'concurrency' ? level : 1);
}

/** `32 streams`, `1 stream`, `2.5 requests/s`. */
export function levelWords(axis: SweepAxis, level: number): string {
  return `${level} ${axis === 'request_rate' ? 'requests/s' : level === 1 ? 'stream' : 'streams'}`;
}
