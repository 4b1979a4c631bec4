/** A sweep under way: what is known of it, which level comes next, and how it is saved. */
import { answerOf, triedOf } from '../aggregate/sweep-answer.ts';
import { nextLevel } from '../aggregate/sweep-plan.ts';
import { AppError } from '../errors.ts';
import type { SweepOptions } from '../options/table.ts';
import type { SweepDocument } from '../record/sweep.ts';
import { jobBound, type ServerFound } from '../transport/server.ts';
import type { Plan } from './sweep-asked.ts';
import { saveSweep } from './sweep-folder.ts';
import { type Deadline, estimateInput, levelSeconds } from './sweep-time.ts';
import type { TakenSamples } from './take-samples.ts';

/** A sweep under way. */
export interface Sweep {
  readonly options: SweepOptions;
  readonly plan: Plan;
  readonly server: ServerFound;
  readonly taken: TakenSamples;
  readonly folder: string;
  readonly deadline: Deadline;
  document: SweepDocument;
  /** One request on its own, ms. */
  requestMs: number;
  /** Some file is not what it should be, though the sweep goes on. */
  hasTrouble: boolean;
}

export function next(sweep: Sweep): number | null {
  const { plan, document, options, deadline } = sweep;
  const ran = document.levels.filter(({ status }) => status !== 'partial');
  if (plan.levels !== 'auto') return plan.levels.find((level) => !ran.some((done) => done.level === level)) ?? null;
  const tried = ran.map((level) => triedOf(level, options.goodputTarget));
  const level = nextLevel(tried, plan.range);
  const isAgain = tried.some((each) => each.level === level);
  // Without the time to measure anything twice the search goes on by what it has.
  if (level === null || !isAgain || deadline.leftMs >= secondsOf(sweep, level) * 1000) return level;
  return nextLevel(tried, plan.range, 1);
}

export function secondsOf({ plan, options, requestMs, document }: Sweep, level: number): number {
  return levelSeconds(estimateInput(plan, options, requestMs, document.levels), level);
}

export function answered(sweep: Sweep, complete: boolean): SweepDocument {
  const { document, plan, options, server, taken } = sweep;
  const { axis } = plan;
  const { samples } = taken;
  const promptTokens = samples.reduce((sum, { promptLen }) => sum + promptLen, 0) / Math.max(1, samples.length);
  const jobs = server.kind === 'tabbyapi' ? jobBound(server.parameters, Math.max(1, promptTokens)) : null;
  const hasLimits = (options.slo ?? []).length > 0;
  const { goodputTarget } = options;
  const missing = complete ? [] : missingLevels(sweep);
  const answer = answerOf({ axis, levels: document.levels, jobs, hasLimits, goodputTarget, missing });
  return { ...document, complete, answer };
}

/** Levels that are still to come, as far as that is known. */
function missingLevels(sweep: Sweep): readonly number[] {
  const { levels } = sweep.plan;
  if (levels !== 'auto') {
    const ran = sweep.document.levels.filter(({ status }) => status !== 'partial');
    return levels.filter((level) => !ran.some((done) => done.level === level));
  }
  const level = next(sweep);
  return level === null ? [] : [level];
}

/** `sweep.json` or `sweep.csv` could not be written. */
export class NotSaved extends AppError {}

export async function save({ folder, document }: Sweep): Promise<void> {
  try {
    await saveSweep(folder, document);
  } catch (error) {
    throw error instanceof AppError ? new NotSaved(error.exitCode, error.message, error.hint) : error;
  }
}
