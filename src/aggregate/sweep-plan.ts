/** Which level of a sweep comes next, from what the levels so far have shown. Pure, so that a resumed sweep takes the same way. */

/** Throughput that grows by less than this share over a step has stopped growing. */
export const GROWTH = 0.05;
/** Flat steps of the doubling after which it ends. */
const FLAT_STEPS = 2;
/** A bisection ends when the two levels are no further apart than this. */
const CLOSE_ENOUGH = 1.1;
/**
 * Noise that is believed of one measurement: what comes of a few parts of a window may be far too much or too little. Measuring again shows
 * more than any calculation.
 */
const ONE_TRY = { least: 0.01, most: 0.04 } as const;
/** A level is measured so often at most, where one measurement does not decide. */
export const MOST_TRIES = 3;

/** What a level has shown. */
export interface TriedLevel {
  readonly level: number;
  /** Output tokens/s; 0 for a level that failed. */
  readonly throughput: number;
  /** Half width of the throughput's 95 % interval, as a share of it; absent: exact; null: not known. */
  readonly noise?: number | null;
  /** Every limit and the goodput target was kept; a level that failed keeps none. */
  readonly isKept: boolean;
  /** One more measurement could turn that round. */
  readonly isUnsure?: boolean;
  /** How often it was measured; absent: once. */
  readonly tries?: number;
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
 * then the edge of the limits is bisected, then the knee (see {@link kneeOf}). A level that was measured already is measured again where
 * its noise leaves open what the search hangs on: whether a limit is missed, the doubling over, the knee here or one level higher.
 * @param mostTries 1: no level is measured again
 * @returns null when all is known
 */
export function nextLevel(
  tried: readonly TriedLevel[],
  range: SweepRange,
  mostTries: number = MOST_TRIES,
): number | null {
  const levels = tried.toSorted((a, b) => a.level - b.level);
  const last = levels.at(-1);
  if (last === undefined) return Math.min(range.first, range.most);
  const { highestKept, lowestMissed } = edgeOf(levels);
  const again = (asked: readonly (TriedLevel | undefined)[]): number | null =>
    asked.find((each) => each !== undefined && (each.tries ?? 1) < mostTries)?.level ?? null;
  const at = (level: number | null): TriedLevel | undefined => levels.find((each) => each.level === level);
  const unsure = (level: number | null): readonly (TriedLevel | undefined)[] =>
    at(level)?.isUnsure === true ? [at(level)] : [];
  if (lowestMissed !== null) {
    const doubted = again(unsure(lowestMissed));
    if (doubted !== null) return doubted;
  } else if (last.level < range.most) {
    const { isFlat, doubtful } = flatness(levels);
    const doubted = isFlat ? again(doubtful) : null;
    if (doubted !== null) return doubted;
    if (!isFlat) return Math.min(last.level * 2, range.most);
  }
  // What the user asked for by limits comes first. A limit missed before throughput stopped growing leaves no knee to look for.
  return edgeStep(highestKept, lowestMissed, range) ?? again(unsure(highestKept)) ?? kneeStep(levels, range, again);
}

/** One step towards the edge of the limits; null when none was missed, or it is found. */
function edgeStep(highestKept: number | null, lowestMissed: number | null, range: SweepRange): number | null {
  if (lowestMissed === null) return null;
  if (highestKept !== null) return between(highestKept, lowestMissed, range);
  const half = rounded(lowestMissed / 2, range);
  return half >= lowestMissed || half < (range.isWhole ? 1 : range.first / 64) ? null : half;
}

/** One step towards the knee, where throughput was seen to saturate: what is doubtful of its two sides first. */
function kneeStep(
  levels: readonly TriedLevel[],
  range: SweepRange,
  again: (asked: readonly (TriedLevel | undefined)[]) => number | null,
): number | null {
  if (!isSaturated(levels)) return null;
  const knee = levels.find(({ level }) => level === kneeOf(levels));
  const below = levels.findLast(({ level }) => knee !== undefined && level < knee.level);
  if (knee === undefined || below === undefined) return null;
  const { rate, noise } = plateauOf(levels);
  const isDoubtful = (each: TriedLevel): boolean =>
    Math.abs(each.throughput / rate - (1 - GROWTH)) < (1 - GROWTH) * Math.hypot(noiseIn(each), noise);
  return again([below, knee].filter(isDoubtful)) ?? between(below.level, knee.level, range);
}

/** Did the last two steps of the doubling bring less than {@link GROWTH} each, and which levels' noise leaves that open? Levels in order. */
function flatness(levels: readonly TriedLevel[]): {
  readonly isFlat: boolean;
  readonly doubtful: readonly TriedLevel[];
} {
  let best: TriedLevel | null = null;
  let flat = 0;
  let doubtful: TriedLevel[] = [];
  for (const each of levels) {
    if (best !== null && each.throughput < best.throughput * (1 + GROWTH)) {
      flat++;
      const noise = Math.hypot(noiseIn(each), noiseIn(best));
      if (each.throughput * (1 + noise) >= best.throughput * (1 + GROWTH)) doubtful.push(...noisiest(each, best));
    } else {
      flat = 0;
      doubtful = [];
    }
    if (best === null || each.throughput > best.throughput) best = each;
  }
  return { isFlat: flat >= FLAT_STEPS, doubtful };
}

function noiseIn({ noise, tries = 1 }: TriedLevel): number {
  if (noise === undefined || tries > 1) return noise ?? 0;
  return Math.min(ONE_TRY.most, Math.max(ONE_TRY.least, noise ?? ONE_TRY.most));
}

function noisiest(a: TriedLevel, b: TriedLevel): readonly TriedLevel[] {
  return noiseIn(b) > noiseIn(a) ? [b, a] : [a, b];
}

/**
 * The lowest level whose throughput is within {@link GROWTH} of the plateau; null when no level has any. The plateau is the mean of all levels
 * that are so near to the highest throughput: the highest of many noisy values is too high by itself.
 */
export function kneeOf(tried: readonly TriedLevel[]): number | null {
  const { rate } = plateauOf(tried);
  if (rate === 0) return null;
  return Math.min(...tried.filter(({ throughput }) => throughput >= rate * (1 - GROWTH)).map(({ level }) => level));
}

/** Throughput and noise of the plateau; 0 when no level has any. */
function plateauOf(tried: readonly TriedLevel[]): { readonly rate: number; readonly noise: number } {
  const best = Math.max(0, ...tried.map(({ throughput }) => throughput));
  const near = tried.filter(({ throughput }) => throughput > 0 && throughput >= best * (1 - GROWTH));
  if (near.length === 0) return { rate: 0, noise: 0 };
  return {
    rate: near.reduce((sum, { throughput }) => sum + throughput, 0) / near.length,
    noise: Math.hypot(...near.map(noiseIn)) / near.length,
  };
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

/** A level between two; null when they are as close as makes no difference. */
function between(low: number | null, high: number | null, range: SweepRange): number | null {
  if (low === null || high === null || high / low <= CLOSE_ENOUGH) return null;
  const middle = rounded((low + high) / 2, range);
  return middle <= low || middle >= high ? null : middle;
}

function rounded(level: number, { isWhole }: SweepRange): number {
  return isWhole ? Math.round(level) : Number(level.toPrecision(3));
}
