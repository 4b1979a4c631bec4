/** The answer of a sweep: where throughput saturates, what bounds it there, and how far the limits are kept. */
import type { SweepAnswer, SweepAxis, SweepBracket, SweepLevel } from '../record/sweep.ts';
import type { JobBound } from '../transport/server.ts';
import { boundOf } from './sweep-bound.ts';
import { keepsLimits, triesOf } from './sweep-noise.ts';
import { edgeOf, isSaturated, kneeOf, type TriedLevel } from './sweep-plan.ts';
import { wordsOf } from './sweep-words.ts';

/** What the answer is made from. */
export interface AnswerInput {
  readonly axis: SweepAxis;
  readonly levels: readonly SweepLevel[];
  /** How many jobs the server runs at once, by what it tells of itself; null when it does not. */
  readonly jobs: JobBound | null;
  readonly hasLimits: boolean;
  /** Share of good requests asked for; null = none. */
  readonly goodputTarget: number | null;
  /** Levels that were asked for, or would come next; none when absent. */
  readonly missing?: readonly number[];
}

/** Works the answer out; partial levels take no part in it. */
export function answerOf(input: AnswerInput): SweepAnswer {
  const { axis, jobs, goodputTarget: target, missing = [] } = input;
  const levels = input.levels.filter(({ status }) => status !== 'partial');
  const tried = levels.map((level) => triedOf(level, null));
  const knee = kneeOf(tried);
  const saturated = isSaturated(tried);
  const at = levels.find(({ level }) => level === knee);
  const cause = saturated && at !== undefined ? boundOf(axis, jobs, levels, at) : null;
  const answer = {
    knee,
    knee_throughput: at?.output_throughput ?? null,
    is_saturated: saturated,
    bound: cause?.bound ?? null,
    bound_why: cause?.why ?? '',
    limits: input.hasLimits ? bracketOf(tried) : null,
    goodput: target === null ? null : bracketOf(levels.map((level) => goodputTried(level, target))),
    goodput_interval: target === null ? null : intervalOf(levels, target),
    missing,
  };
  return { ...answer, words: wordsOf(axis, target, levels, answer) };
}

/** A level as the search sees it: kept when it kept every limit and the goodput target (null = none). */
export function triedOf(level: SweepLevel, target: number | null): TriedLevel {
  const isDone = level.status === 'done';
  const goodput = target === null ? null : goodputTried(level, target);
  return {
    level: level.level,
    throughput: isDone ? level.output_throughput : 0,
    noise: level.throughput_noise ?? null,
    isKept: isDone && keepsLimits(level) && (goodput === null || goodput.isKept),
    isUnsure: isDone && (isOneMiss(level) || goodput?.isUnsure === true),
    tries: triesOf(level).length,
  };
}

/** A limit missed once may be an outlier, among few requests most of all; missed twice it is missed. */
function isOneMiss(level: SweepLevel): boolean {
  return !keepsLimits(level) && triesOf(level).filter((each) => !keepsLimits(each)).length === 1;
}

function goodputTried(
  { level, status, goodput }: SweepLevel,
  target: number,
): Pick<TriedLevel, 'level' | 'isKept'> & { readonly isUnsure: boolean } {
  if (status !== 'done' || goodput === null) return { level, isKept: false, isUnsure: false };
  return { level, isKept: goodput.share >= target, isUnsure: goodput.low < target && goodput.high >= target };
}

function bracketOf(tried: readonly Pick<TriedLevel, 'level' | 'isKept'>[]): SweepBracket {
  const { highestKept, lowestMissed } = edgeOf(tried);
  return { highest_kept: highestKept, lowest_missed: lowestMissed };
}

/** By Wilson's interval of each level: what lies between the two is not sure. */
function intervalOf(levels: readonly SweepLevel[], target: number): { from: number | null; to: number | null } {
  const judged = levels.map((level) => goodputTried(level, target));
  const to = edgeOf(judged.map((each) => ({ ...each, isKept: each.isKept || each.isUnsure }))).lowestMissed;
  const sure = judged.filter((each) => each.isKept && !each.isUnsure && each.level < (to ?? Number.POSITIVE_INFINITY));
  return { from: sure.length === 0 ? null : Math.max(...sure.map(({ level }) => level)), to };
}
