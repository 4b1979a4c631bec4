/** `tabby-load sweep`: measures level by level, and says where the server saturates. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { initHistograms } from '../aggregate/histogram.ts';
import { answerOf, triedOf } from '../aggregate/sweep-answer.ts';
import { nextLevel } from '../aggregate/sweep-plan.ts';
import { openInput } from '../dataset/input-file.ts';
import { writeManifest } from '../dataset/manifest.ts';
import { AppError, EXIT, type ExitCode, messageOf } from '../errors.ts';
import { parseLimit } from '../limits.ts';
import { type LevelRequests, readLevelRequests, readLevels, requestsOf } from '../options/sweep-levels.ts';
import type { SweepOptions } from '../options/table.ts';
import { nowMs, wallClock } from '../record/clock.ts';
import { SWEEP_SCHEMA, type SweepAxis, type SweepDocument, type SweepLevel } from '../record/sweep.ts';
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
import { bannerLine } from './run-notices.ts';
import { checkReady } from './run-ready.ts';
import { meetServer } from './run-server.ts';
import { secretsOfRun } from './run-target.ts';
import { runWarmUps } from './run-warmup.ts';
import { SetupSignals } from './setup-signals.ts';
import { claimFolder, keptLevels, optionsOfSweep, readSweep, saveSweep } from './sweep-folder.ts';
import { levelFiles, levelOptions, runLevel } from './sweep-level.ts';
import { type TakenSamples, takeSamples } from './take-samples.ts';
import { VERSION } from './version.ts';

/** Highest level that `auto` tries, and where it begins. */
const AUTO = { concurrency: { first: 1, most: 512 }, request_rate: { first: 1, most: 64 } } as const;
const DEFAULT_REQUESTS = { concurrency: '4x', request_rate: '20x' } as const;

/** What is asked for, worked out of the options. */
interface Plan {
  readonly axis: SweepAxis;
  readonly levels: readonly number[] | 'auto';
  readonly requests: LevelRequests;
  readonly first: number;
  readonly most: number;
}

/** A sweep under way. */
interface Sweep {
  readonly options: SweepOptions;
  readonly plan: Plan;
  readonly server: ServerFound;
  readonly taken: TakenSamples;
  readonly folder: string;
  readonly startedMs: number;
  document: SweepDocument;
}

/** Runs the sweep. Returns the exit code; throws AppError for what was foreseen to go wrong before the first level. */
export async function sweepCommand(options: SweepOptions): Promise<ExitCode> {
  hideOnTerminal(secretsOfRun(options));
  await initHistograms();
  for (const line of options.warnings) printErr(`tabby-load: warning: ${line}`);
  const path = options.datasetPath;
  if (path !== null && options.datasetName !== 'hf' && !existsSync(path)) await openInput(path);
  const startedAt = wallClock().toISOString();
  const folder = options.resume ?? options.sweepDir ?? `sweep-${localStamp(startedAt)}`;
  const earlier = options.resume === null ? null : await readSweep(options.resume);
  await claimFolder(folder, earlier !== null);
  if (options.html !== null) await checkWritable(options.html, '--html');
  const signals = new SetupSignals();
  try {
    const started = begin(options, folder, startedAt, earlier);
    const sweep = await Promise.race([started, signals.interrupted]);
    try {
      return await carryOn(sweep, signals);
    } finally {
      await sweep.taken.close();
    }
  } finally {
    signals.close();
  }
}

function planOf(options: SweepOptions): Plan {
  const axis: SweepAxis = options.sweepRequestRate === null ? 'concurrency' : 'request_rate';
  const words = (axis === 'concurrency' ? options.sweepMaxConcurrency : options.sweepRequestRate) ?? [];
  const read = readLevels(words, axis);
  const requests = readLevelRequests(options.requestsPerLevel ?? DEFAULT_REQUESTS[axis]);
  // Both were looked at when the command line was read.
  if ('problem' in read || requests === null) throw new Error(`levels: ${words.join()}`);
  const most = options.maxLevel ?? AUTO[axis].most;
  return {
    axis,
    levels: read.levels,
    requests,
    first: AUTO[axis].first,
    most: axis === 'concurrency' ? Math.max(1, Math.floor(most)) : most,
  };
}

/** Everything before the first level. */
async function begin(
  options: SweepOptions,
  folder: string,
  startedAt: string,
  earlier: SweepDocument | null,
): Promise<Sweep> {
  const startedMs = nowMs();
  const plan = planOf(options);
  const highest = plan.levels === 'auto' ? plan.most : Math.max(...plan.levels);
  const run = levelOptions(options, { axis: plan.axis, level: highest, requests: requestsOf(highest, plan.requests) });
  const server = await meetServer(run);
  printErr(bannerLine(run, server));
  checkKind(options, server);
  const taken = await takeSamples(run, server);
  try {
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
    const sweep: Sweep = { options, plan, server, taken, folder, startedMs, document };
    await saveSweep(folder, answered(sweep, false));
    await checkReady(run, server, taken.samples);
    await tellEstimate(sweep, run);
    return sweep;
  } catch (error) {
    await taken.close();
    throw error;
  }
}

function told({ parameters }: ServerFound): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'prompt_template_content'));
}

/** One request on its own shows how long the sweep takes at best: if the server answered every level's streams as fast as one. */
async function tellEstimate({ options, plan, server, taken, document }: Sweep, run: ReturnType<typeof levelOptions>) {
  const before = nowMs();
  await runWarmUps({ ...run, numWarmups: 1 }, server, taken.samples);
  const firstLength = taken.samples[0]?.outputLen ?? 1;
  const meanLength = taken.samples.reduce((sum, { outputLen }) => sum + (outputLen ?? 0), 0) / taken.samples.length;
  const requestMs = (nowMs() - before) * (firstLength ? Math.max(meanLength, 1) / firstLength : 1);
  const levels = plan.levels === 'auto' ? doublings(plan) : plan.levels;
  const left = levels.filter((level) => !document.levels.some((done) => done.level === level));
  const wholeMs = left.reduce((sum, level) => {
    const requests = requestsOf(level, plan.requests);
    const busyMs =
      plan.axis === 'concurrency' ? Math.ceil(requests / level) * requestMs : (requests / level) * 1000 + requestMs;
    return sum + busyMs + options.settleMs + (options.numWarmups > 0 ? requestMs : 0);
  }, 0);
  const shown = formatDuration(Math.max(1000, Math.round(wholeMs / 1000) * 1000));
  const bound =
    options.maxDurationMs === null ? '' : `; --max-duration ends it after ${formatDuration(options.maxDurationMs)}`;
  const names = plan.levels === 'auto' ? `up to ${plan.most}, fewer where throughput stops growing` : left.join(', ');
  printErr(`tabby-load: sweep of ${unitOf(plan.axis)} ${names}: about ${shown} or more${bound}`);
}

function doublings({ first, most }: Plan): readonly number[] {
  const levels: number[] = [];
  for (let level = first; level < most; level *= 2) levels.push(level);
  return [...levels, most];
}

function unitOf(axis: SweepAxis): string {
  return axis === 'concurrency' ? 'streams' : 'requests/s';
}

/** Measures level after level until there is none left, or something ends the sweep. */
async function carryOn(sweep: Sweep, outer: SetupSignals): Promise<ExitCode> {
  outer.close();
  let code: ExitCode | null = null;
  for (let isFirst = true; code === null; isFirst = false) {
    const level = next(sweep);
    if (level === null) break;
    const leftMs = leftOf(sweep);
    if (leftMs !== null && leftMs <= 0) {
      printErr(`tabby-load: --max-duration is over before level ${level}`);
      break;
    }
    code = await measure(sweep, level, isFirst);
  }
  const isComplete = next(sweep) === null;
  sweep.document = answered(sweep, isComplete);
  await saveSweep(sweep.folder, sweep.document);
  for (const line of sweepLines(sweep.document)) if (!sweep.options.quiet) printOut(line);
  printErr(`tabby-load: sweep: ${printable(join(sweep.folder, 'sweep.json'))}`);
  if (sweep.options.html !== null) await putHtml(sweep.options.html, sweepPage(sweep.document));
  if (!isComplete) printErr(`tabby-load: go on with the same command and --resume ${printable(sweep.folder)}`);
  return code ?? codeOf(sweep.document);
}

function leftOf({ options, startedMs }: Sweep): number | null {
  return options.maxDurationMs === null ? null : options.maxDurationMs - (nowMs() - startedMs);
}

function next({ plan, document, options }: Sweep): number | null {
  const ran = document.levels.filter(({ status }) => status !== 'partial');
  if (plan.levels !== 'auto') return plan.levels.find((level) => !ran.some((done) => done.level === level)) ?? null;
  const range = { first: plan.first, most: plan.most, isWhole: plan.axis === 'concurrency' };
  return nextLevel(
    ran.map((level) => triedOf(level, options.goodputTarget)),
    range,
  );
}

/** One level; returns the exit code that ends the sweep, or null to go on. */
async function measure(sweep: Sweep, level: number, isFirst: boolean): Promise<ExitCode | null> {
  const { options, plan } = sweep;
  const requests = Math.min(requestsOf(level, plan.requests), sweep.taken.samples.length);
  const signals = new SetupSignals();
  try {
    if (!isFirst) await Promise.race([sleep(options.settleMs), signals.interrupted]);
    printErr(`tabby-load: level ${level} ${unitOf(plan.axis)}: ${requests} requests`);
    const running = runLevel({
      ...sweep,
      axis: plan.axis,
      level,
      requests,
      place: plan.levels === 'auto' ? null : { number: plan.levels.indexOf(level) + 1, of: plan.levels.length },
      nonce: options.nonce ? randomBytes(4).toString('hex') : null,
      leftMs: leftOf(sweep),
      begin: () => signals.close(),
    });
    const { level: ran, code } = await Promise.race([running, signals.interrupted]);
    await add(sweep, ran);
    tell(ran);
    if (code === EXIT.sigint || code === EXIT.sigterm || code === EXIT.unreachable) return code;
    return tooManyErrors(sweep);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.exitCode === EXIT.sigint || error.exitCode === EXIT.sigterm) {
      printErr(
        `tabby-load: ${error.exitCode === EXIT.sigint ? 'SIGINT' : 'SIGTERM'}: the sweep ends before level ${level}`,
      );
      return error.exitCode;
    }
    printErr(`tabby-load: level ${level} could not be run: ${printable(messageOf(error))}`);
    await add(sweep, unrun(sweep, level, requests, messageOf(error)));
    return null;
  } finally {
    signals.close();
  }
}

function tell({ level, status, reason, output_throughput: rate, limits }: SweepLevel): void {
  const words = status === 'done' ? `${rate.toFixed(1)} tokens/s` : `${status}: ${printable(reason)}`;
  printErr(`tabby-load: level ${level}: ${words}`);
  const results = limits.map(({ limit, value, kept }) => ({ limit: parseLimit(limit), value, isKept: kept }));
  for (const line of limitLines(results)) printErr(`tabby-load: level ${level}: ${line}`);
}

async function add(sweep: Sweep, level: SweepLevel): Promise<void> {
  const others = sweep.document.levels.filter((other) => other.level !== level.level);
  sweep.document = { ...sweep.document, levels: [...others, level] };
  sweep.document = answered(sweep, false);
  await saveSweep(sweep.folder, sweep.document);
}

function answered({ document, plan, options, server, taken }: Sweep, complete: boolean): SweepDocument {
  const { axis } = plan;
  const { samples } = taken;
  const promptTokens = samples.reduce((sum, { promptLen }) => sum + promptLen, 0) / Math.max(1, samples.length);
  const jobs = server.kind === 'tabbyapi' ? jobBound(server.parameters, Math.max(1, promptTokens)) : null;
  const hasLimits = (options.slo ?? []).length > 0;
  const { goodputTarget } = options;
  return { ...document, complete, answer: answerOf({ axis, levels: document.levels, jobs, hasLimits, goodputTarget }) };
}

/** `--max-errors` bounds the whole sweep. */
function tooManyErrors({ document, options }: Sweep): ExitCode | null {
  const failed = document.levels.reduce((sum, level) => sum + level.failed, 0);
  if (options.maxErrors === null || failed < options.maxErrors) return null;
  printErr(`tabby-load: ${failed} requests failed (--max-errors ${options.maxErrors}): no more levels`);
  return EXIT.requestsFailed;
}

function codeOf({ levels, answer }: SweepDocument): ExitCode {
  if (levels.every(({ status }) => status === 'failed')) return levels.length === 0 ? EXIT.ok : EXIT.requestsFailed;
  const isMissed = [answer.limits, answer.goodput].some((bracket) => bracket !== null && bracket.highest_kept === null);
  return isMissed ? EXIT.limitMissed : EXIT.ok;
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
