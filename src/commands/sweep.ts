/** `tabby-load sweep`: measures level by level, and says where the server saturates. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { initHistograms } from '../aggregate/histogram.ts';
import { answerOf, triedOf } from '../aggregate/sweep-answer.ts';
import { triesOf, withTry } from '../aggregate/sweep-noise.ts';
import { nextLevel } from '../aggregate/sweep-plan.ts';
import { openInput } from '../dataset/input-file.ts';
import { writeManifest } from '../dataset/manifest.ts';
import { withNonces } from '../dataset/unique-prompts.ts';
import { AppError, EXIT, type ExitCode, messageOf, unreachableError, usageError } from '../errors.ts';
import { parseLimit } from '../limits.ts';
import type { SweepOptions } from '../options/table.ts';
import { nowMs, wallClock } from '../record/clock.ts';
import { SWEEP_SCHEMA, type SweepDocument, type SweepLevel } from '../record/sweep.ts';
import { localStamp } from '../report/finish.ts';
import { sweepPage } from '../report/html-sweep.ts';
import { limitLines } from '../report/limits.ts';
import { checkWritable } from '../report/result-file.ts';
import { sweepLines } from '../report/sweep-table.ts';
import { hideOnTerminal, printable, printErr, printOut } from '../report/terminal.ts';
import { concealed } from '../secrets.ts';
import { jobBound, type ServerFound } from '../transport/server.ts';
import { formatDuration } from '../units.ts';
import { putHtml } from './put-html.ts';
import { checkKind } from './run.ts';
import { checkOpenFiles } from './run-load.ts';
import { bannerLine } from './run-notices.ts';
import { checkReady } from './run-ready.ts';
import { meetServer } from './run-server.ts';
import { secretsOfRun } from './run-target.ts';
import { runWarmUps } from './run-warmup.ts';
import { SetupSignals } from './setup-signals.ts';
import { highestLevel, levelWords, type Plan, planOf, requestsFor } from './sweep-asked.ts';
import { claimFolder, keptLevels, optionsOfSweep, readSweep, releaseFolder, saveSweep } from './sweep-folder.ts';
import { levelFiles, levelOptions, runLevel } from './sweep-level.ts';
import { Deadline, estimateInput, estimateOf, estimateWords, levelSeconds, OverTime } from './sweep-time.ts';
import { type TakenSamples, takeSamples } from './take-samples.ts';
import { VERSION } from './version.ts';

/** A sweep under way. */
interface Sweep {
  readonly options: SweepOptions;
  readonly plan: Plan;
  readonly server: ServerFound;
  readonly taken: TakenSamples;
  readonly folder: string;
  readonly deadline: Deadline;
  document: SweepDocument;
  /** One request on its own, ms. */
  requestMs: number;
}

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

/** Everything before the first level. */
async function begin(
  options: SweepOptions,
  plan: Plan,
  {
    folder,
    startedAt,
    earlier,
    deadline,
  }: Pick<Sweep, 'folder' | 'deadline'> & {
    readonly startedAt: string;
    readonly earlier: SweepDocument | null;
  },
): Promise<Sweep> {
  const highest = highestLevel(plan);
  const run = levelOptions(options, { axis: plan.axis, level: highest, requests: requestsFor(plan, highest) });
  const server = await meetServer(run);
  printErr(bannerLine(run, server));
  checkKind(options, server);
  const taken = await takeSamples(run, server);
  try {
    await checkNonce(options, taken);
    const { sha256 } = await writeManifest(taken.samples);
    const fresh: SweepDocument = {
      schema: SWEEP_SCHEMA,
      version: VERSION,
      started_at: earlier?.started_at ?? startedAt,
      axis: plan.axis,
      asked: plan.levels,
      samples_sha256: sha256,
      options: concealed(optionsOfSweep(options), secretsOfRun(options)) as Readonly<Record<string, unknown>>,
      server: { kind: server.kind, base_url: options.baseUrl, model: server.model, parameters: told(server) },
      levels: [],
      answer: answerOf({ axis: plan.axis, levels: [], jobs: null, hasLimits: false, goodputTarget: null }),
      complete: false,
    };
    const document = earlier === null ? fresh : { ...fresh, levels: keptLevels(earlier, fresh, folder) };
    const sweep: Sweep = { options, plan, server, taken, folder, deadline, document, requestMs: 0 };
    await saveSweep(folder, answered(sweep, false));
    for (const line of noticesOf(sweep)) printErr(`tabby-load: ${line}`);
    await checkReady(run, server, taken.samples);
    sweep.requestMs = await requestAlone(run, server, taken);
    tellEstimate(sweep);
    return sweep;
  } catch (error) {
    await taken.close();
    throw error;
  }
}

/** Prompts that take no nonce are refused before the first level, not at each. */
async function checkNonce({ nonce }: SweepOptions, { samples }: TakenSamples): Promise<void> {
  if (!nonce) return;
  try {
    await withNonces(samples.slice(0, 1), 'x', null);
  } catch (error) {
    throw usageError('the prompts are token ids, before which no nonce can be put', 'Add --no-nonce.', error);
  }
}

function told({ parameters }: ServerFound): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'prompt_template_content'));
}

/** What the user should know before the first level. */
function noticesOf({ options, plan, taken, document }: Sweep): string[] {
  const fixed = plan.levels === 'auto' ? [] : plan.levels;
  const raised = fixed.filter(
    (level) => requestsFor({ ...plan, axis: 'request_rate' }, level) < requestsFor(plan, level),
  );
  const short = fixed.filter((level) => taken.samples.length < requestsFor(plan, level));
  const [done, wasDone] = [document.levels.length, document.levels.length === 1 ? 'level is' : 'levels are'];
  return [
    ...(options.resume === null ? [] : [`resumed: ${done} ${wasDone} measured already`]),
    ...(options.nonce
      ? []
      : ['note: all levels send the same prompts (--no-nonce): a prefix cache knows them from the second level on']),
    ...(raised.length === 0
      ? []
      : [`note: at ${raised.join(', ')} there are as many requests as streams, as fewer would never fill the level`]),
    ...(short.length === 0
      ? []
      : [
          `warning: the data set has ${taken.samples.length} samples, too few for ${short.join(', ')}: these get no more`,
        ]),
  ];
}

/** One request on its own, scaled to the mean length of the samples, ms. */
async function requestAlone(
  run: ReturnType<typeof levelOptions>,
  server: ServerFound,
  { samples }: TakenSamples,
): Promise<number> {
  const before = nowMs();
  await runWarmUps({ ...run, numWarmups: 1 }, server, samples);
  const firstLength = samples[0]?.outputLen ?? 1;
  const meanLength = samples.reduce((sum, { outputLen }) => sum + (outputLen ?? 0), 0) / samples.length;
  return (nowMs() - before) * (firstLength ? Math.max(meanLength, 1) / firstLength : 1);
}

/** Before the first level: that one request tells what is left, as if the server served any number of streams like one, up to some level. */
function tellEstimate({ options, plan, document, requestMs }: Sweep): void {
  const { leastS, mostS } = estimateOf(estimateInput(plan, options, requestMs, document.levels));
  const bound =
    options.maxDurationMs === null ? '' : `; --max-duration ends it after ${formatDuration(options.maxDurationMs)}`;
  const unit = plan.axis === 'concurrency' ? 'streams' : 'requests/s';
  const names =
    plan.levels === 'auto'
      ? `up to ${plan.range.most}, fewer where throughput stops growing`
      : plan.levels.filter((level) => !document.levels.some((done) => done.level === level)).join(', ') || 'none left';
  printErr(`tabby-load: sweep of ${unit} ${names}: ${estimateWords({ leastS, mostS })}${bound}`);
}

/** Measures level after level until there is none left, or something ends the sweep. */
async function carryOn(sweep: Sweep, outer: SetupSignals): Promise<ExitCode> {
  const between = new BetweenSignals();
  outer.close();
  sweep.deadline.release();
  let code: ExitCode | null = null;
  try {
    for (let isFirst = true; code === null; isFirst = false) {
      const level = next(sweep);
      if (level === null || !isInTime(sweep, level, isFirst)) break;
      code = (await measure(sweep, level, isFirst)) ?? between.code;
    }
    const isComplete = code !== EXIT.unreachable && code !== EXIT.wrongServer && next(sweep) === null;
    sweep.document = answered(sweep, isComplete);
    await saveSweep(sweep.folder, sweep.document);
    for (const line of sweepLines(sweep.document)) if (!sweep.options.quiet) printOut(line);
    printErr(`tabby-load: sweep: ${printable(join(sweep.folder, 'sweep.json'))}`);
    if (sweep.options.html !== null) await putHtml(sweep.options.html, sweepPage(sweep.document));
    if (!isComplete) printErr(`tabby-load: go on with the same command and --resume ${printable(sweep.folder)}`);
    return code ?? codeOf(sweep.document);
  } finally {
    between.close();
  }
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

function secondsOf({ plan, options, requestMs, document }: Sweep, level: number): number {
  return levelSeconds(estimateInput(plan, options, requestMs, document.levels), level);
}

function next(sweep: Sweep): number | null {
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

/** One level; returns the exit code that ends the sweep, or null to go on. */
async function measure(sweep: Sweep, level: number, isFirst: boolean): Promise<ExitCode | null> {
  const { options, plan, deadline } = sweep;
  const requests = Math.min(requestsFor(plan, level), sweep.taken.samples.length);
  const known = sweep.document.levels.find((each) => each.level === level && each.status === 'done');
  const signals = new SetupSignals();
  const over = deadline.passed();
  try {
    if (!isFirst) {
      await Promise.race([sleep(options.settleMs), signals.interrupted, over]);
      await Promise.race([checkSame(sweep), signals.interrupted, over]);
    }
    const again = known === undefined ? '' : ', once more to be sure';
    printErr(`tabby-load: level ${levelWords(plan.axis, level)}: ${requests} requests${again}`);
    const running = runLevel({
      ...sweep,
      axis: plan.axis,
      level,
      requests,
      attempt: known === undefined ? 1 : triesOf(known).length + 1,
      nonce: options.nonce ? randomBytes(4).toString('hex') : null,
      deadlineMs: deadline.atMs,
      begin: () => {
        signals.close();
        deadline.release();
      },
    });
    const { level: ran, code } = await Promise.race([running, signals.interrupted, over]);
    await add(sweep, ran);
    tell(sweep, ran);
    if (code === EXIT.sigint || code === EXIT.sigterm || code === EXIT.unreachable) return code;
    return tooManyErrors(sweep);
  } catch (error) {
    return notMeasured(sweep, { level, requests, error });
  } finally {
    signals.close();
    deadline.release();
  }
}

/** What follows from a level that could not be measured. */
async function notMeasured(
  sweep: Sweep,
  { level, requests, error }: { readonly level: number; readonly requests: number; readonly error: unknown },
): Promise<ExitCode | null> {
  const words = levelWords(sweep.plan.axis, level);
  if (error instanceof OverTime) {
    printErr(`tabby-load: --max-duration is over before the load of ${words}`);
    return null;
  }
  if (error instanceof ServerLost) {
    if (error.exitCode === EXIT.unreachable) await doubtLast(sweep);
    printErr(`tabby-load: the sweep ends before ${words}: ${printable(error.message)}`);
    return error.exitCode;
  }
  if (!(error instanceof AppError)) throw error;
  if (error.exitCode === EXIT.sigint || error.exitCode === EXIT.sigterm) {
    printErr(`tabby-load: ${error.exitCode === EXIT.sigint ? 'SIGINT' : 'SIGTERM'}: the sweep ends before ${words}`);
    return error.exitCode;
  }
  printErr(`tabby-load: ${words} could not be measured: ${printable(messageOf(error))}`);
  await add(sweep, unrun(sweep, level, requests, messageOf(error)));
  return null;
}

/** A server that is gone before a level may have gone while the one before was still running: what failed there is not the load's doing. */
async function doubtLast(sweep: Sweep): Promise<void> {
  const last = sweep.document.levels.at(-1);
  if (last === undefined || last.failed === 0 || last.tries !== undefined) return;
  const reason = `${last.failed} requests failed, and then the server was gone`;
  sweep.document = {
    ...sweep.document,
    levels: [...sweep.document.levels.slice(0, -1), { ...last, status: 'partial', reason }],
  };
}

/** The server is gone, or is another one than the levels so far were measured on. */
class ServerLost extends AppError {}

/** Levels say something together only when all are of one server. */
async function checkSame({ options, plan, server }: Sweep): Promise<void> {
  let now: ServerFound;
  try {
    now = await meetServer(levelOptions(options, { axis: plan.axis, level: 1, requests: 1 }));
  } catch (error) {
    throw error instanceof AppError ? new ServerLost(error.exitCode, error.message) : error;
  }
  if (now.kind === server.kind && now.model === server.model) return;
  throw new ServerLost(
    EXIT.wrongServer,
    `the server has ${now.model ?? 'no model'} now, not ${server.model ?? 'none'} as before`,
  );
}

function tell(sweep: Sweep, { level, status, reason, output_throughput: rate, limits }: SweepLevel): void {
  const { plan, options, document, requestMs } = sweep;
  const words = status === 'done' ? `${rate.toFixed(1)} tokens/s` : `${status}: ${printable(reason)}`;
  const isLast = status === 'partial' || next(sweep) === null;
  const left = estimateOf(estimateInput(plan, options, requestMs, document.levels));
  printErr(`tabby-load: level ${level}: ${words}${isLast ? '' : `; then ${estimateWords(left)}`}`);
  const results = limits.map(({ limit, value, kept }) => ({ limit: parseLimit(limit), value, isKept: kept }));
  for (const line of limitLines(results)) printErr(`tabby-load: level ${level}: ${line}`);
}

async function add(sweep: Sweep, level: SweepLevel): Promise<void> {
  const known = sweep.document.levels.find((other) => other.level === level.level);
  const others = sweep.document.levels.filter((other) => other.level !== level.level);
  sweep.document = { ...sweep.document, levels: [...others, withTry(known, level)] };
  sweep.document = answered(sweep, false);
  await saveSweep(sweep.folder, sweep.document);
}

function answered(sweep: Sweep, complete: boolean): SweepDocument {
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

/** `--max-errors` bounds the whole sweep. */
function tooManyErrors({ document, options }: Sweep): ExitCode | null {
  const failed = document.levels.flatMap(triesOf).reduce((sum, level) => sum + level.failed, 0);
  if (options.maxErrors === null || failed < options.maxErrors) return null;
  printErr(`tabby-load: ${failed} requests failed (--max-errors ${options.maxErrors}): no more levels`);
  return EXIT.requestsFailed;
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

/** A level that did not even begin. */
function unrun({ plan, document }: Sweep, level: number, requests: number, reason: string): SweepLevel {
  const { result, records } = levelFiles(plan.axis, level);
  return {
    level,
    status: 'failed',
    reason,
    result_file: result,
    records_file: records,
    samples_sha256: document.samples_sha256,
    nonce: null,
    requests,
    completed: 0,
    failed: 0,
    duration_s: 0,
    request_throughput: 0,
    output_throughput: 0,
    throughput_from: 'whole_run',
    ttft: null,
    tpot: null,
    itl: null,
    e2el: null,
    server_queue: null,
    limits: [],
    goodput: null,
    client_was_limit: null,
  };
}
