/**
 * How long the rest of a sweep takes. Where the server saturates is not known beforehand, so the search is played through for hosts that
 * saturate at one level after another, as far as the measured levels leave them possible: the shortest and the longest way are the answer.
 * Pure.
 */
import { isSaturated, nextLevel, type SweepRange, type TriedLevel } from './sweep-plan.ts';

/** A level that was measured: what the search knows of it, and how long its load took. */
export interface TimedLevel extends TriedLevel {
  readonly durationS: number;
  readonly requests: number;
}

/** What the estimate is made from. */
export interface EstimateInput {
  readonly levels: readonly number[] | 'auto';
  readonly range: SweepRange;
  /** The levels are requests per second. */
  readonly isRate: boolean;
  /** One request on its own, s. */
  readonly requestS: number;
  /** Settling and warm-up before each level, s. */
  readonly pauseS: number;
  requestsOf(level: number): number;
  readonly done: readonly TimedLevel[];
}

/** Seconds. */
export interface Estimate {
  readonly leastS: number;
  /** Null where nothing bounds it: fixed levels of which none was measured. */
  readonly mostS: number | null;
}

/** What is left of the sweep. */
export function estimateOf(input: EstimateInput): Estimate {
  const ways = hosts(input).flatMap((saturatesAt) => [1, 2].map((tries) => wayOf(input, saturatesAt, tries)));
  const leastS = Math.min(...ways);
  return { leastS, mostS: input.levels !== 'auto' && input.done.length === 0 ? null : Math.max(...ways) };
}

/** How long a level takes at least: if the server carried it as far as the levels so far leave possible. */
export function levelSeconds(input: EstimateInput, level: number): number {
  return input.pauseS + loadSeconds(input, level, Math.max(...hosts(input)));
}

/** Levels at which the host may saturate; infinite: it never does. */
function hosts({ levels, range, done }: EstimateInput): number[] {
  const highest = Math.max(0, ...done.map(({ level }) => level));
  if (isSaturated(done)) return [highest];
  const from = highest > 0 ? highest : Math.min(range.first, range.most);
  const ways = [Number.POSITIVE_INFINITY];
  if (levels === 'auto') for (let level = from; level < range.most; level *= 2) ways.push(level);
  else if (highest > 0) ways.push(highest);
  return ways;
}

/** `mostTries`: 1 where noise decides nothing, 2 where levels near a threshold are measured again. */
function wayOf(input: EstimateInput, saturatesAt: number, mostTries: number): number {
  const { levels, range, done, pauseS } = input;
  const seconds = (level: number): number => pauseS + loadSeconds(input, level, saturatesAt);
  if (levels !== 'auto') {
    const left = levels.filter((level) => !done.some((each) => each.level === level));
    return left.reduce((sum, level) => sum + seconds(level), 0);
  }
  const tried = new Map<number, TriedLevel>(done.map((each) => [each.level, each]));
  const known = done.reduce<TimedLevel | null>((a, b) => (a === null || b.throughput > a.throughput ? b : a), null);
  const perRequest = known === null || known.throughput === 0 ? 1 : known.throughput / rateOf(known);
  let sum = 0;
  const follow = (): number | null => nextLevel([...tried.values()], range, mostTries);
  for (let next = follow(); next !== null; next = follow()) {
    sum += seconds(next);
    const known = tried.get(next);
    const throughput = known?.throughput ?? perRequest * served(input, next, saturatesAt);
    // The second measurement is taken to decide.
    const again = { noise: known === undefined ? null : 0, tries: known === undefined ? 1 : mostTries };
    tried.set(next, { level: next, throughput, isKept: known?.isKept ?? true, ...again });
  }
  return sum;
}

/** Sending may take longer than the server does, in an open loop. */
function loadSeconds(input: EstimateInput, level: number, saturatesAt: number): number {
  const same = input.done.find((each) => each.level === level);
  if (same !== undefined) return same.durationS;
  const requests = input.requestsOf(level);
  const tailS = input.isRate ? input.requestS : 0;
  return Math.max(requests / served(input, level, saturatesAt) + tailS, input.requestS);
}

/** Requests per second at a level: as the measured levels around it, or grown from the highest of them in proportion. */
function served(input: EstimateInput, level: number, saturatesAt: number): number {
  const { isRate, requestS, done } = input;
  const sorted = done.filter(({ throughput }) => throughput > 0).toSorted((a, b) => a.level - b.level);
  const carried = Math.min(level, saturatesAt);
  const above = sorted.find((each) => each.level >= level);
  const below = sorted.findLast((each) => each.level <= level);
  if (above !== undefined && below !== undefined && above !== below) {
    const share = (level - below.level) / (above.level - below.level);
    return rateOf(below) + share * (rateOf(above) - rateOf(below));
  }
  const near = below ?? above;
  if (near === undefined) return isRate ? carried : carried / requestS;
  return (rateOf(near) * Math.max(carried, Math.min(near.level, level))) / near.level;
}

function rateOf({ requests, durationS }: TimedLevel): number {
  return requests / Math.max(durationS, 1e-3);
}
