/** The measured part of a run: workers, records, progress, interrupts. */
import { chunkSizeOf } from '../aggregate/believed.ts';
import type { RunAggregate } from '../aggregate/collect.ts';
import { HistogramSet } from '../aggregate/histogram.ts';
import type { Repeats } from '../dataset/repeats.ts';
import { EXIT, type ExitCode, usageError } from '../errors.ts';
import { parseLimit } from '../limits.ts';
import { optionsForRecord } from '../options/redact.ts';
import type { RunOptions } from '../options/table.ts';
import { wallClock } from '../record/clock.ts';
import type { SharedWork } from '../record/messages.ts';
import { RECORD_SCHEMA, type RecordEnd, type RecordHeader } from '../record/record.ts';
import { LiveView, liveKind } from '../report/live.ts';
import { printable, printErr } from '../report/terminal.ts';
import { concealed } from '../secrets.ts';
import { type LoadResult, LoadRun } from '../transport/coordinator.ts';
import type { LostWorker } from '../transport/crew.ts';
import { openFilesLimit } from '../transport/open-files.ts';
import type { ServerFound } from '../transport/server.ts';
import { healthBlock, RunCpu } from './client-health.ts';
import { AbortRule } from './run-abort.ts';
import { RunEnding } from './run-ending.ts';
import { FailureCount } from './run-limits.ts';
import { liveTitle, RunWatch } from './run-live.ts';
import { outageBlocks, outagePlan } from './run-outage.ts';
import type { Outputs } from './run-outputs.ts';
import { routeOf, secretsOfRun, targetOf, timeoutsOf } from './run-target.ts';
import { runWarnings } from './run-warnings.ts';
import { VERSION } from './version.ts';
import { chooseWorkers } from './workers.ts';

/** What the measured part needs. */
export interface LoadInput {
  readonly options: RunOptions;
  readonly server: ServerFound;
  readonly work: SharedWork;
  readonly outputs: Outputs;
  readonly aggregate: RunAggregate;
  readonly samplesSha256: string;
  readonly repeatedPrompts: Repeats;
  readonly tokenizerId: string | null;
  /** Which of several runs or levels this is, for the display; null or absent when it is the only one. */
  readonly label?: string | null;
  /** When everything under way is given up, on the clock of `nowMs`; absent or infinite: never. */
  readonly deadlineMs?: number;
  /** The clock has started. */
  onStart?(): void;
  /** The last request has ended: further members of the end frame. `startedAt` is wall clock. */
  endExtras?(startedAt: Date): Promise<Readonly<Record<string, unknown>>>;
}

/** What it yields beside the filled aggregate. */
export interface Carried {
  readonly header: RecordHeader;
  readonly end: RecordEnd;
  readonly histograms: HistogramSet;
  /** As the run went; what is wrong with its files comes on top. */
  readonly code: ExitCode;
}

/** Files and sockets that the process needs beside one connection per slot. */
const RESERVED_FILES = 64;

/** Carries the load to its end and closes the record file. */
export async function carryLoad(input: LoadInput): Promise<Carried> {
  const { options, server, work, outputs, aggregate } = input;
  const isPlanned = hasPlan(work);
  const slots = slotsOf(options, work.count, isPlanned);
  checkOpenFiles(options, slots);
  const header = headerOf(input);
  aggregate.judgeUsageBy({ exactLength: options.exactLength, chunkSize: chunkSizeOf(server.parameters) });
  outputs.records?.header(header);
  const ui = options.disableTqdm || options.quiet ? 'none' : options.ui;
  const isWatched = liveKind(ui) === 'panel';
  const watch = new RunWatch(options, work);
  const medians = new Medians();
  const lastPlannedMs = new Float64Array(work.plannedMs).at(-1) ?? 0;
  const failures = new FailureCount(options);
  const abort = options.abortOnSlo ? new AbortRule((options.slo ?? []).map(parseLimit), work.count) : null;
  const canGrow = options.maxConcurrency === null && isPlanned;
  let isOver = false;
  let isTroubleTold = false;
  const tellTrouble = (): void => {
    const trouble = outputs.records?.failure ?? null;
    if (trouble !== null && !isTroubleTold) printErr(`tabby-load: warning: ${printable(trouble)}`);
    isTroubleTold ||= trouble !== null;
  };
  const run: LoadRun = new LoadRun({
    target: targetOf(options, server),
    timeouts: timeoutsOf(options),
    work,
    slots,
    canGrow,
    workers: workersOf(options, work, slots, canGrow),
    outage: outagePlan(options, server, () => ending),
    isWatched,
    maxErrors: options.maxErrors,
    onRecords(bytes, records) {
      // What still comes when nobody waits any longer is not in the report, so it is not in the records either.
      if (isOver) return;
      outputs.records?.appendEncoded(bytes);
      tellTrouble();
      for (const record of records) {
        const believed = aggregate.add(record);
        if (isWatched) watch.add(record);
        else if (record.success) medians.add(record);
        const hopeless = abort?.add(believed) ?? null;
        if (hopeless !== null) {
          ending.endEarly(
            '--abort-on-slo',
            EXIT.limitMissed,
            `"${hopeless.text}" cannot be kept any more (--abort-on-slo): no more requests`,
          );
        }
        const missed = failures.add(record);
        if (missed !== null) {
          ending.endEarly(missed, EXIT.requestsFailed, `${failures.words} (${missed}): no more are started`);
        }
      }
    },
    onWorkerLost(lost) {
      watch.lose(lost.reason);
      tellLostWorker(lost);
    },
  });
  const ending = new RunEnding(run, options);
  const view = new LiveView(ui, {
    title: liveTitle(options, server, input.label ?? null),
    line: () => ({
      planned: work.count,
      ...run.progress,
      ...medians.known,
      durationMs: options.durationMs,
      lastPlannedMs,
    }),
    panel: () => watch.state({ run, ending }),
  });
  try {
    const cpu = new RunCpu();
    let startedAt = wallClock();
    const whole = run.run(() => {
      cpu.begin();
      ending.startDuration();
      ending.startDeadline(input.deadlineMs ?? Number.POSITIVE_INFINITY);
      startedAt = wallClock();
      input.onStart?.();
    });
    const result = await Promise.race([whole, ending.leaving.then(() => run.resultSoFar())]);
    isOver = true;
    const end = {
      ...endOf(input, result, ending),
      ...(await input.endExtras?.(startedAt)),
      client_health: healthBlock(result, cpu.used(), isPlanned ? null : slots),
    };
    await outputs.records?.end(end);
    const histograms = histogramsOf(result, aggregate);
    return { header, end, histograms, code: exitCodeOf(input, result, ending, failures) };
  } finally {
    view.stop();
    medians.close();
    ending.close();
  }
}

/**
 * What the workers measured. They are made from the requests where a dead worker took its histograms with it, and where tokens were counted
 * otherwise than by usage, which a worker goes by.
 */
function histogramsOf(result: LoadResult, aggregate: RunAggregate): HistogramSet {
  const isLost = result.lostWorkers.length > 0 || result.histograms.length === 0;
  if (isLost || aggregate.countedOtherwise.i.length > 0) return aggregate.histograms();
  const histograms = new HistogramSet();
  for (const bytes of result.histograms) histograms.addEncoded(bytes);
  return histograms;
}

/** What the way the run went says about the exit code, before any limit on results. */
function exitCodeOf(
  { work, aggregate }: LoadInput,
  { lostWorkers }: LoadResult,
  ending: RunEnding,
  failures: FailureCount,
): ExitCode {
  if (ending.code !== null) return ending.code;
  // All workers died, and were not replaced any more.
  if (lostWorkers.length > 0 && aggregate.completed + aggregate.failed < work.count) return EXIT.bug;
  const isAllFailed = aggregate.completed === 0 && aggregate.failed > 0;
  return isAllFailed || failures.isRateMissed ? EXIT.requestsFailed : EXIT.ok;
}

function tellLostWorker({ worker, reason, requests, isReplaced }: LostWorker): void {
  const next = isReplaced ? 'another one takes over its slots' : 'its slots are gone';
  const lost = requests === 1 ? '1 request is' : `${requests} requests are`;
  printErr(`tabby-load: worker thread ${worker} died (${printable(reason)}): ${lost} lost with it; ${next}`);
}

function slotsOf(options: RunOptions, count: number, isPlanned: boolean): number {
  if (options.maxConcurrency !== null) return Math.max(1, Math.min(options.maxConcurrency, count));
  // Requests that come one by one get slots as they need them.
  return isPlanned ? Math.min(count, 32) : Math.max(1, count);
}

function workersOf(options: RunOptions, work: SharedWork, slots: number, canGrow: boolean): number {
  // Prompt and output tokens, in turns.
  const lengths = new Float64Array(work.lengths);
  let outputTokens = 0;
  for (let i = 1; i < lengths.length; i += 2) outputTokens += (lengths[i] as number) / work.count;
  const { workers: asked, requestRate } = options;
  return chooseWorkers({ asked, slots, canGrow, requestRate, requests: work.count, outputTokens });
}

/** Do requests have times at which they are due? Otherwise each starts as soon as a slot is free. */
function hasPlan(work: SharedWork): boolean {
  return new Float64Array(work.plannedMs).some((ms) => ms > 0);
}

/** Can so many connections be open at once? Throws a usage error when the system's limit is lower. */
export function checkOpenFiles(options: RunOptions, slots: number): void {
  const limit = openFilesLimit();
  if (limit === null || slots + RESERVED_FILES <= limit) return;
  const asked =
    options.maxConcurrency === null ? `${slots} requests at once` : `--concurrency ${options.maxConcurrency}`;
  throw usageError(
    `${asked} needs ${slots + RESERVED_FILES} open files, but the limit is ${limit}`,
    `Raise it (ulimit -n ${slots + RESERVED_FILES}) or ask for at most ${Math.max(1, limit - RESERVED_FILES)} at once.`,
  );
}

function headerOf(input: LoadInput): RecordHeader {
  const { options, server } = input;
  const recorded = optionsForRecord(options);
  const { proxy } = routeOf(options);
  const model = options.model ?? server.modelRoot ?? server.model;
  const header: RecordHeader = {
    type: 'header',
    schema: RECORD_SCHEMA,
    started_at: wallClock().toISOString(),
    options: { ...recorded, model, tokenizer: options.tokenizer ?? input.tokenizerId },
    server: {
      kind: server.kind,
      base_url: options.baseUrl,
      model: server.model,
      ...(proxy === null ? {} : { proxy: proxy.shown }),
      parameters: withoutTemplate(server.parameters),
    },
    samples_sha256: input.samplesSha256,
    prompts: input.work.count,
    repeated_prompts: input.repeatedPrompts.count,
    ...(input.repeatedPrompts.first === null ? {} : { first_repeat: input.repeatedPrompts.first }),
    planned: input.work.count,
    version: VERSION,
  };
  return concealed(header, secretsOfRun(options)) as RecordHeader;
}

/** The chat template is long and says nothing about a run. */
function withoutTemplate(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'prompt_template_content'));
}

function endOf({ options, work, aggregate }: LoadInput, result: LoadResult, ending: RunEnding): RecordEnd {
  const { lostWorkers, outages } = result;
  const secrets = secretsOfRun(options);
  return {
    type: 'end',
    duration_s: result.durationMs / 1000,
    interrupted: ending.reason !== null,
    ...(ending.reason === null ? {} : { interrupted_by: ending.reason }),
    planned: work.count,
    recorded: aggregate.completed + aggregate.failed,
    ...(lostWorkers.length > 0 ? { lost_workers: lostWorkers.map(lostWords) } : {}),
    ...(outages.length > 0 ? { outages: concealed(outageBlocks(outages), secrets) } : {}),
    warnings: runWarnings(options, result),
  };
}

function lostWords({ worker, reason, requests, isReplaced }: LostWorker): string {
  return `worker ${worker}: ${reason} (${requests === 1 ? '1 request' : `${requests} requests`} lost, ${isReplaced ? '' : 'not '}replaced)`;
}

/** Medians so far, for the plain line. */
class Medians {
  private readonly set = new HistogramSet();

  add(success: { readonly ttft: number; readonly latency: number; readonly frames?: number }): void {
    this.set.record('ttft', success.ttft);
    const gaps = (success.frames ?? 0) - 1;
    if (gaps > 0) this.set.record('itl', (success.latency - success.ttft) / gaps);
  }

  /** Those that are known: the others are left to what the streams under way show. */
  get known(): { readonly ttftMs?: number; readonly itlMs?: number } {
    const ttftMs = this.set.stats('ttft')?.percentileMs(50);
    const itlMs = this.set.stats('itl')?.percentileMs(50);
    return { ...(ttftMs === undefined ? {} : { ttftMs }), ...(itlMs === undefined ? {} : { itlMs }) };
  }

  close(): void {
    this.set.destroy();
  }
}
