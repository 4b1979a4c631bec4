/**
 * Block bootstrap (Efron, Annals of Statistics 7, 1979; blocks: Künsch, Annals of Statistics 17, 1989) of the relative difference of two runs.
 * What is drawn again are whole groups of requests that were in flight together, never single requests or gaps: the gaps of one answer, and
 * the requests of one batch, are no independent values. The interval covers chance within the runs, not between days. Deterministic: the
 * generator has a fixed seed.
 */

/** Values of one run, by request. */
export interface Sampled {
  /** Value of each request, or the sum of its gaps. */
  readonly values: Float64Array;
  /** Number of gaps behind each value; null where each request has one value. */
  readonly weights: Float64Array | null;
}

/** What is taken over the values; a number is a percentile. */
export type Taken = 'mean' | number;

const RESAMPLES = 2000;
/** Values that are drawn in all, at most; with more requests there are fewer resamples, and less need of them. */
const MAX_DRAWS = 20_000_000;
/** Sorting costs more than adding. */
const SORT_COST = 10;
const LEAST_RESAMPLES = 200;
const SEED = 20261201;
const LOW = 0.025;
const HIGH = 0.975;

/**
 * 95 % interval of (b − a) / a, or null when there are too few values to draw from.
 * @param paired request k of both is the same sample: they are drawn together
 * @param together requests that are in flight at the same time: neighbours in the order of samples
 */
export function relativeInterval(
  a: Sampled,
  b: Sampled,
  taken: Taken,
  paired: boolean,
  together = 1,
): readonly [number, number] | null {
  const [n, m] = [a.values.length, b.values.length];
  if (n < 2 || m < 2) return null;
  const cost = (n + m) * (taken === 'mean' ? 1 : SORT_COST);
  const times = Math.max(LEAST_RESAMPLES, Math.min(RESAMPLES, Math.floor(MAX_DRAWS / cost)));
  const random = generator(SEED);
  const [atA, atB] = [new Uint32Array(n), new Uint32Array(m)];
  const found: number[] = [];
  for (let k = 0; k < times; k++) {
    drawBlocks(atA, together, random);
    if (paired) atB.set(atA);
    else drawBlocks(atB, together, random);
    const base = statistic(a, atA, taken);
    if (base > 0) found.push((statistic(b, atB, taken) - base) / base);
  }
  if (found.length < LEAST_RESAMPLES) return null;
  found.sort((x, y) => x - y);
  return [quantile(found, LOW), quantile(found, HIGH)];
}

/** With fewer blocks than this there is nothing to draw from: they are made smaller. */
const LEAST_BLOCKS = 8;

/** Fills `at` with blocks of neighbours that begin anywhere, the last one cut to fit. */
function drawBlocks(at: Uint32Array, together: number, random: () => number): void {
  const n = at.length;
  const block = Math.max(1, Math.min(together, Math.floor(n / LEAST_BLOCKS)));
  for (let filled = 0; filled < n; ) {
    // Around the end, so that the last requests are drawn as often as others.
    const start = Math.floor(random() * n);
    for (let k = 0; k < block && filled < n; k++) at[filled++] = (start + k) % n;
  }
}

/** The statistic itself over all values. */
export function statisticOf(sampled: Sampled, taken: Taken): number {
  return statistic(
    sampled,
    Uint32Array.from(sampled.values, (_, i) => i),
    taken,
  );
}

function statistic({ values, weights }: Sampled, at: Uint32Array, taken: Taken): number {
  if (taken !== 'mean') return quantile(Float64Array.from(at, (i) => values[i] as number).sort(), taken / 100);
  let sum = 0;
  let count = 0;
  for (let k = 0; k < at.length; k++) {
    const i = at[k] as number;
    sum += values[i] as number;
    count += weights === null ? 1 : (weights[i] as number);
  }
  return count === 0 ? 0 : sum / count;
}

/** Linear between the neighbours, as numpy's. */
function quantile(sorted: ArrayLike<number>, share: number): number {
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  const [x, y] = [sorted[low] as number, sorted[Math.min(low + 1, sorted.length - 1)] as number];
  return x + (y - x) * (at - low);
}

/** Mulberry32: small, even, and the same everywhere. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
