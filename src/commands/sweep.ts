/** `tabby-load sweep`: measures level by level, and says where the server saturates. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { initHistograms } from '../aggregate/histogram.ts';
import { openInput } from '../dataset/input-file.ts';
import { EXIT, type ExitCode, unreachableError, usageError } from '../errors.ts';
import type { SweepOptions } from '../options/table.ts';
import { wallClock } from '../record/clock.ts';
import type { SweepDocument } from '../record/sweep.ts';
import { localStamp } from '../report/finish.ts';
import { sweepPage } from '../report/html-sweep.ts';
import { checkWritable } from '../report/result-file.ts';
import { sweepLines } from '../report/sweep-table.ts';
import { hideOnTerminal, printable, printErr, printOut } from '../report/terminal.ts';
import { formatDuration } from '../units.ts';
import { putHtml } from './put-html.ts';
import { checkOpenFiles } from './run-load.ts';
import { secretsOfRun } from './run-target.ts';
import { SetupSignals } from './setup-signals.ts';
import { highestLevel, levelWords, type Plan, planOf, requestsFor } from './sweep-asked.ts';
import { begin } from './sweep-begin.ts';
import { claimFolder, readSweep, releaseFolder } from './sweep-folder.ts';
import { levelOptions } from './sweep-level.ts';
import { measure } from './sweep-measure.ts';
import { answered, NotSaved, next, type Sweep, save, secondsOf } from './sweep-state.ts';
import { Deadline, estimateWords, OverTime } from './sweep-time.ts';

/** Runs the sweep. Returns the exit code; throws AppError for what was foreseen to go wrong before the first level. */
export async function sweepCommand(options: SweepOptions): Promise<ExitCode> {
  hideOnTerminal(secretsOfRun(options));
  await initHistograms();
  for (const line of options.warnings) printErr(`tabby-load: warning: ${line}`);
  const plan = planOf(options);
  const highest = highestLevel(plan);
  if (plan.axis === 'concurrency' && plan.levels !== 'auto') {
    checkOpenFiles(levelOptions(options, { axis: plan.axis, level: highest, requests: highest }), highest);
  }
  checkAmount(plan, highest);
  const path = options.datasetPath;
  if (path !== null && options.datasetName !== 'hf' && !existsSync(path)) await openInput(path);
  const startedAt = wallClock().toISOString();
  const folder = options.resume ?? options.sweepDir ?? `sweep-${localStamp(startedAt)}`;
  const earlier = options.resume === null ? null : await readSweep(options.resume);
  if (options.html !== null) await checkWritable(options.html, '--html');
  await claimFolder(folder, earlier !== null);
  const deadline = new Deadline(options.maxDurationMs);
  const signals = new SetupSignals();
  try {
    const started = begin(options, plan, { folder, startedAt, earlier, deadline });
    const sweep = await Promise.race([started, signals.interrupted, deadline.passed()]);
    try {
      return await carryOn(sweep, signals);
    } finally {
      await sweep.taken.close();
    }
  } catch (error) {
    if (!(error instanceof OverTime)) throw error;
    throw unreachableError(
      `--max-duration ${formatDuration(options.maxDurationMs)} was over before the first level could begin`,
      'Give it more time, or see what the server does.',
    );
  } finally {
    deadline.release();
    signals.close();
    await releaseFolder(folder);
  }
}

/** More samples than this do not fit into memory: each is a prompt. */
const MOST_REQUESTS = 5_000_000;

function checkAmount(plan: Plan, highest: number): void {
  const requests = requestsFor(plan, highest);
  if (requests <= MOST_REQUESTS) return;
  throw usageError(
    `--requests-per-level: ${requests} requests at level ${highest} are too many`,
    `Ask for at most ${MOST_REQUESTS}, or for lower levels.`,
  );
}

/** Measures level after level until there is none left, or something ends the sweep. */
async function carryOn(sweep: Sweep, outer: SetupSignals): Promise<ExitCode> {
  const between = new BetweenSignals();
  outer.close();
  sweep.deadline.release();
  try {
    const code = await allLevels(sweep, between);
    const isComplete = code !== EXIT.unreachable && code !== EXIT.wrongServer && next(sweep) === null;
    sweep.document = answered(sweep, isComplete);
    await save(sweep);
    tellAnswer(sweep);
    printErr(`tabby-load: sweep: ${printable(join(sweep.folder, 'sweep.json'))}`);
    const { html, typed } = sweep.options;
    if (html !== null) await putHtml(html, sweepPage(sweep.document, typed), secretsOfRun(sweep.options));
    if (!isComplete) printErr(`tabby-load: go on with the same command and --resume ${printable(sweep.folder)}`);
    return code ?? (sweep.hasTrouble ? EXIT.usage : codeOf(sweep.document));
  } catch (error) {
    // What was measured is told at least.
    if (error instanceof NotSaved) tellAnswer(sweep);
    throw error;
  } finally {
    between.close();
  }
}

/** Returns the exit code that ended it before its time; null when none did. */
async function allLevels(sweep: Sweep, between: BetweenSignals): Promise<ExitCode | null> {
  for (let isFirst = true; ; isFirst = false) {
    const level = next(sweep);
    if (level === null || !isInTime(sweep, level, isFirst)) return null;
    const code = (await measure(sweep, level, isFirst)) ?? between.code;
    if (code !== null) return code;
  }
}

function tellAnswer({ document, options }: Sweep): void {
  for (const line of sweepLines(document)) if (!options.quiet) printOut(line);
}

/** Hears signals while nobody else does: what was measured is saved and reported all the same. */
class BetweenSignals {
  code: ExitCode | null = null;
  private readonly onInt = (): void => {
    this.code ??= EXIT.sigint;
  };
  private readonly onTerm = (): void => {
    this.code ??= EXIT.sigterm;
  };

  constructor() {
    process.on('SIGINT', this.onInt);
    process.on('SIGTERM', this.onTerm);
  }

  close(): void {
    process.off('SIGINT', this.onInt);
    process.off('SIGTERM', this.onTerm);
  }
}

/** Whether a level can be begun: one that could not be finished even if all went well is not. */
function isInTime(sweep: Sweep, level: number, isFirst: boolean): boolean {
  const { deadline, options } = sweep;
  if (options.maxDurationMs === null) return true;
  const words = levelWords(sweep.plan.axis, level);
  if (deadline.leftMs <= 0) {
    const isCut = sweep.document.levels.some((each) => each.level === level);
    printErr(`tabby-load: --max-duration is over${isCut ? '' : ` before ${words}`}`);
    return false;
  }
  // The first one shows at least something.
  if (isFirst || deadline.leftMs >= secondsOf(sweep, level) * 1000) return true;
  const takes = estimateWords({ leastS: secondsOf(sweep, level), mostS: secondsOf(sweep, level) });
  printErr(
    `tabby-load: ${words}: not begun, as it takes ${takes} and ${(deadline.leftMs / 1000).toFixed(1)} s of --max-duration are left`,
  );
  return false;
}

function codeOf({ levels, answer }: SweepDocument): ExitCode {
  const haveFailed = levels.length > 0 && levels.every(({ status }) => status === 'failed');
  if (haveFailed && levels.every(({ completed }) => completed === 0)) return EXIT.requestsFailed;
  const isMissed =
    levels.some(({ status }) => status !== 'partial') &&
    [answer.limits, answer.goodput].some((bracket) => bracket !== null && bracket.highest_kept === null);
  if (isMissed) return EXIT.limitMissed;
  return haveFailed ? EXIT.requestsFailed : EXIT.ok;
}
