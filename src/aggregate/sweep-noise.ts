/** How sure the throughput of a level is, and what several measurements of one level come to. */
import type { SweepLevel } from '../record/sweep.ts';
import { student975 } from './repeats.ts';
import { wilson } from './wilson.ts';

/** Fewer parts of a window say nothing of its noise. */
const LEAST_PARTS = 3;

/**
 * Half width of the 95 % interval of a throughput, as a share of it, by the method of batch means: Student's t over equal parts of the
 * steady-state window (A. M. Law, Simulation Modeling and Analysis, ch. 9).
 * @param parts tokens of each part
 * @returns null when there are too few parts, or no tokens
 */
export function noiseOf(parts: readonly number[]): number | null {
  const n = parts.length;
  const mean = parts.reduce((sum, value) => sum + value, 0) / n;
  if (n < LEAST_PARTS || !(mean > 0)) return null;
  const std = Math.sqrt(parts.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  return (student975(n - 1) * std) / Math.sqrt(n) / mean;
}

/** A level with one more measurement; one that was not measured to its end adds nothing to one that was. */
export function withTry(known: SweepLevel | undefined, ran: SweepLevel): SweepLevel {
  if (known === undefined || known.status !== 'done') return ran;
  if (ran.status !== 'done') return known;
  return merged([...triesOf(known), ran]);
}

/** The measurements of a level, one at least. */
export function triesOf(level: SweepLevel): readonly SweepLevel[] {
  return level.tries ?? [level];
}

function merged(tries: readonly SweepLevel[]): SweepLevel {
  const throughput = medianOf(tries.map(({ output_throughput: rate }) => rate));
  const keeping = tries.filter(keepsLimits);
  // Of two that disagree the worse one stands until a third has decided.
  const agreed = keeping.length * 2 > tries.length ? keeping : tries.filter((each) => !keepsLimits(each));
  const apart = (each: SweepLevel): number => Math.abs(each.output_throughput - throughput);
  const nearest = (agreed.length === 0 ? tries : agreed).reduce((a, b) => (apart(b) < apart(a) ? b : a));
  return {
    ...nearest,
    output_throughput: throughput,
    throughput_noise: noiseOfTries(tries),
    goodput: goodputOf(tries),
    tries,
  };
}

/** Did one measurement keep every limit? */
export function keepsLimits({ limits }: SweepLevel): boolean {
  return limits.every(({ kept }) => kept);
}

/**
 * Noise of the median: half of what the measurements differ by; of three, the two that are nearer to each other, as one that was disturbed is
 * what the median is for.
 */
function noiseOfTries(tries: readonly SweepLevel[]): number {
  const rates = tries.map(({ output_throughput: rate }) => rate).sort((a, b) => a - b);
  const gaps = rates.slice(1).map((rate, k) => rate - (rates[k] as number));
  return Math.min(...gaps) / 2 / Math.max(medianOf(rates), Number.MIN_VALUE);
}

function goodputOf(tries: readonly SweepLevel[]): SweepLevel['goodput'] {
  const all = tries.flatMap(({ goodput }) => (goodput === null ? [] : [goodput]));
  if (all.length === 0) return null;
  const good = all.reduce((sum, each) => sum + each.good, 0);
  const requests = all.reduce((sum, each) => sum + each.requests, 0);
  return { good, requests, share: requests === 0 ? 0 : good / requests, ...wilson(good, requests) };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2;
}
