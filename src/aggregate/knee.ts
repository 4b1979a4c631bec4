/** Where a host stops scaling: which level to measure next, and which is the knee. Pure. */

/** A level that was measured. */
export interface KneePoint {
  readonly level: number;
  /** Output tokens per second; 0 for a level that failed. */
  readonly throughput: number;
  /** False: a limit was missed, or the level failed. */
  readonly isKept: boolean;
}

/** Below this growth from one doubling to the next throughput counts as flat. */
export const FLAT_GROWTH = 0.05;
/** So many flat doublings end the search upwards. */
const FLAT_STEPS = 2;
/** Share of the highest throughput from which on a level counts as saturated. */
const NEARLY_ALL = 0.95;
/** Bisection ends when the two levels are this close, as a share of the upper one. */
const CLOSE = 0.125;

/**
 * The next level: doubling until throughput is flat or a limit is missed, then bisecting to the knee and to the last level that keeps the
 * limits. Null when there is nothing more to learn.
 * @param hasLimits bisect to where limits begin to be missed as well
 */
export function nextLevel(points: readonly KneePoint[], max: number, hasLimits: boolean): number | null {
  const sorted = points.toSorted((a, b) => a.level - b.level);
  const up = doublings(sorted);
  const last = up.at(-1);
  if (last === undefined) return 1;
  if (!isEnough(up) && last.level < max) return Math.min(max, last.level * 2);
  return betweenThroughputs(sorted) ?? (hasLimits ? betweenLimits(sorted) : null);
}

/** Smallest level with nearly the highest throughput; null while it still grew at the highest level. */
export function kneeOf(points: readonly KneePoint[]): number | null {
  const sorted = points.toSorted((a, b) => a.level - b.level);
  const best = Math.max(0, ...sorted.map(({ throughput }) => throughput));
  const knee = sorted.find(({ throughput }) => throughput > 0 && throughput >= NEARLY_ALL * best);
  return knee === undefined || knee === sorted.at(-1) ? null : knee.level;
}

/** Largest level that keeps all limits, as do all below it; null when the lowest one misses them. */
export function largestKept(points: readonly KneePoint[]): number | null {
  const sorted = points.toSorted((a, b) => a.level - b.level);
  const missed = sorted.findIndex(({ isKept }) => !isKept);
  return sorted[missed === -1 ? sorted.length - 1 : missed - 1]?.level ?? null;
}

/** The levels of the way up: 1, 2, 4, … and a last one that the bound cut short. */
function doublings(sorted: readonly KneePoint[]): readonly KneePoint[] {
  const out: KneePoint[] = [];
  for (const point of sorted) {
    const want = out.length === 0 ? 1 : (out.at(-1) as KneePoint).level * 2;
    if (point.level === want) out.push(point);
  }
  const highest = sorted.at(-1);
  if (highest !== undefined && out.length > 0 && highest.level > (out.at(-1) as KneePoint).level) out.push(highest);
  return out;
}

function isEnough(up: readonly KneePoint[]): boolean {
  if (up.some(({ isKept }) => !isKept)) return true;
  let flat = 0;
  let best = 0;
  for (const { throughput } of up) {
    flat = throughput < best * (1 + FLAT_GROWTH) ? flat + 1 : 0;
    best = Math.max(best, throughput);
  }
  return flat >= FLAT_STEPS;
}

/** Between the largest level below the knee and the knee. */
function betweenThroughputs(sorted: readonly KneePoint[]): number | null {
  const best = Math.max(...sorted.map(({ throughput }) => throughput));
  const at = sorted.findIndex(({ throughput }) => throughput >= NEARLY_ALL * best);
  return middle(sorted[at - 1]?.level ?? 0, (sorted[at] as KneePoint).level);
}

function betweenLimits(sorted: readonly KneePoint[]): number | null {
  const at = sorted.findIndex(({ isKept }) => !isKept);
  return at <= 0 ? null : middle((sorted[at - 1] as KneePoint).level, (sorted[at] as KneePoint).level);
}

function middle(low: number, high: number): number | null {
  return high - low <= Math.max(1, high * CLOSE) ? null : Math.floor((low + high) / 2);
}
