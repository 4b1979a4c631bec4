/** The levels of a sweep and the requests of each, as the user writes them. */
import type { SweepAxis } from '../record/sweep.ts';

/** Levels, or the line that says what is wrong with them. */
export type LevelsRead = { readonly levels: readonly number[] | 'auto' } | { readonly problem: string };

/** Reads `1,2,4` or `auto`: positive numbers, each once; whole ones for streams. The order stays as given. */
export function readLevels(words: readonly string[], axis: SweepAxis): LevelsRead {
  const example = axis === 'concurrency' ? '1,2,4,8 or auto' : '0.5,1,2 or auto';
  if (words.length === 0 || words.every((word) => word.trim() === '')) {
    return { problem: `no levels: give ${example}` };
  }
  if (words.length === 1 && words[0]?.trim().toLowerCase() === 'auto') return { levels: 'auto' };
  const levels: number[] = [];
  for (const word of words.map((each) => each.trim())) {
    const level = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word) ? Number(word) : Number.NaN;
    if (!Number.isFinite(level) || level <= 0) {
      return { problem: `${JSON.stringify(word.slice(0, 40))} is no level: give numbers above 0, such as ${example}` };
    }
    if (axis === 'concurrency' && !Number.isSafeInteger(level)) {
      return { problem: `${word} is no number of streams: give whole numbers, such as ${example}` };
    }
    if (levels.includes(level)) return { problem: `${level} is there twice: give each level once` };
    levels.push(level);
  }
  return { levels };
}

/** Requests of a level: a fixed number, or so many per stream (per request/s of the rate). */
export interface LevelRequests {
  readonly count: number;
  readonly isScaled: boolean;
}

/** Reads `500` or `4x`; null when it is neither. */
export function readLevelRequests(text: string): LevelRequests | null {
  const [, digits, times] = /^(\d+(?:\.\d+)?)(x?)$/i.exec(text.trim()) ?? [];
  const count = Number(digits);
  if (digits === undefined || !(count > 0) || count > 1e9) return null;
  if (times === '' && !Number.isInteger(count)) return null;
  return { count, isScaled: times !== '' };
}

/** Scaled levels have at least so many requests: fewer say nothing. */
const LEAST_SCALED = 8;

/** How many requests a level gets. */
export function requestsOf(level: number, { count, isScaled }: LevelRequests): number {
  return isScaled ? Math.max(LEAST_SCALED, Math.ceil(count * level)) : count;
}
