/** Which level of a sweep comes next, from what the levels so far have shown. Pure, so that a resumed sweep takes the same way. */

/** Throughput that grows by less than this share over a step has stopped growing. */
export const GROWTH = 0.05;
/** Flat steps of the doubling after which it ends. */
const FLAT_STEPS = 2;
/** A bisection ends when the two levels are no further apart than this. */
const CLOSE_ENOUGH = 1.1;

/** What a level has shown. */
export interface TriedLevel {
  readonly level: number;
  /** Output tokens/s; 0 for a level that failed. */
  readonly throughput: number;
  /** Every limit and the goodput target was kept; a level that failed keeps none. */
  readonly isKept: boolean;
}

/** Where the search may go. */
export interface SweepRange {
  readonly first: number;
  readonly most: number;
  /** Levels are whole numbers (streams). */
  readonly isWhole: boolean;
}

/**
 * The next level of `auto`: doubled from the first until throughput has grown by less than {@link GROWTH} for two steps or a limit is missed;
 * then the knee is bisected (the lowest level within 5 % of the highest throughput), then the edge of the limits.
 * @returns null when all is known
 */
export function nextLevel(tried: readonly TriedLevel[], range: SweepRange): number | null {
  const levels = tried.toSorted((a, b) => a.level - b.level);
  const last = levels.at(-1);
  if (last === undefined) return Math.min(range.first, range.most);
  const isMissed = levels.some(({ isKept }) => !isKept);
  if (!isMissed && !isFlat(levels) && last.level < range.most) return Math.min(last.level * 2, range.most);
  // A limit missed before throughput stopped growing leaves no knee to look for.
  const knee = isSaturated(levels) ? between(below(levels, kneeOf(levels)), kneeOf(levels), range) : null;
  if (knee !== null) return knee;
  const { highestKept, lowestMissed } = edgeOf(levels);
  if (lowestMissed === null) return null;
  if (highestKept !== null) return between(highestKept, lowestMissed, range);
  const half = rounded(lowestMissed / 2, range);
  return half >= lowestMissed || half < (range.isWhole ? 1 : range.first / 64) ? null : half;
}

/** Did the last two steps of the doubling bring less than {@link GROWTH} each? Levels in order. */
function isFlat(levels: readonly TriedLevel[]): boolean {
  let best = 0;
  let flat = 0;
  for (const { throughput } of levels) {
    flat = best > 0 && throughput < best * (1 + GROWTH) ? flat + 1 : 0;
    best = Math.max(best, throughput);
  }
  return flat >= FLAT_STEPS;
}

/** The lowest level whose throughput is within {@link GROWTH} of the highest; null when no level has any. */
export function kneeOf(tried: readonly TriedLevel[]): number | null {
  const best = Math.max(0, ...tried.map(({ throughput }) => throughput));
  if (best === 0) return null;
  const near = tried.filter(({ throughput }) => throughput >= best * (1 - GROWTH)).map(({ level }) => level);
  return Math.min(...near);
}

/** Was throughput seen to stop growing: is there a level above the knee? */
export function isSaturated(tried: readonly TriedLevel[]): boolean {
  const knee = kneeOf(tried);
  return knee !== null && tried.some(({ level, throughput }) => level > knee && throughput > 0);
}

/** The highest level below which nothing was missed, and the lowest that missed. */
export function edgeOf(tried: readonly Pick<TriedLevel, 'level' | 'isKept'>[]): {
  readonly highestKept: number | null;
  readonly lowestMissed: number | null;
} {
  const missed = tried.filter(({ isKept }) => !isKept).map(({ level }) => level);
  const lowestMissed = missed.length === 0 ? null : Math.min(...missed);
  const kept = tried.filter(({ isKept, level }) => isKept && level < (lowestMissed ?? Number.POSITIVE_INFINITY));
  return { highestKept: kept.length === 0 ? null : Math.max(...kept.map(({ level }) => level)), lowestMissed };
}

function below(levels: readonly TriedLevel[], knee: number | null): number | null {
  return levels.findLast(({ level }) => knee !== null && level < knee)?.level ?? null;
}

/** A level between two; null when they are as close as makes no difference. */
function between(low: number | null, high: number | null, range: SweepRange): number | null {
  if (low === null || high === null || high / low <= CLOSE_ENOUGH) return null;
  const middle = rounded((low + high) / 2, range);
  return middle <= low || middle >= high ? null : middle;
}

function rounded(level: number, { isWhole }: SweepRange): number {
  return isWhole ? Math.round(level) : Number(level.toPrecision(3));
}
