/** The measured part of a run: workers, records, progress, interrupts. */
import type { RunAggregate } from '../aggregate/collect.ts';
import { HistogramSet } from '../aggregate/histogram.ts';
import { EXIT, type ExitCode, usageError } from '../errors.ts';
import { optionsForRecord } from '../options/redact.ts';
import type { RunOptions } from '../options/table.ts';
import { wallClock } from '../record/clock.ts';
import { decodeRequests } from '../record/codec.ts';
import type { SharedWork } from '../record/messages.ts';
import { RECORD_SCHEMA, type RecordEnd, type RecordHeader } from '../record/record.ts';
import { LiveView } from '../report/live.ts';
import { printErr } from '../report/terminal.ts';
import { type LoadResult, LoadRun } from '../transport/coordinator.ts';
import { openFilesLimit } from '../transport/open-files.ts';
import type { ServerFound } from '../transport/server.ts';
import { healthBlock, RunCpu } from './client-health.ts';
import type { Outputs } from './run-outputs.ts';
import { targetOf, timeoutsOf } from './run-target.ts';
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
  readonly tokenizerId: string | null;
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
  /** 130 or 143 when a signal ended the run, else null. */
  readonly signalCode: ExitCode | null;
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
  outputs.records?.header(header);
  const seen = new SoFar();
  const canGrow = options.maxConcurrency === null && isPlanned;
  const run = new LoadRun({
    target: targetOf(options, server),
    timeouts: timeoutsOf(options),
    work,
    slots,
    canGrow,
    workers: workersOf(options, work, slots, canGrow),
    onRecords(bytes) {
      outputs.records?.appendEncoded(bytes);
      for (const record of decodeRequests(bytes)) {
        aggregate.add(record);
        seen.add(record.success ? record : null, run, options);
      }
    },
  });
  const interrupt = new Interrupt(run, options);
  const view = new LiveView(options.disableTqdm || options.quiet ? 'none' : options.ui, () => ({
    planned: work.count,
    ...run.progress,
    ...seen.medians,
  }));
  try {
    const cpu = new RunCpu();
    let startedAt = wallClock();
    const result = await run.run(() => {
      cpu.begin();
      interrupt.startDuration();
      startedAt = wallClock();
      input.onStart?.();
    });
    const end = {
      ...endOf(result, interrupt, work.count, aggregate),
      ...(await input.endExtras?.(startedAt)),
      client_health: healthBlock(result, cpu.used(), isPlanned ? null : slots),
    };
    await outputs.records?.end(end);
    const histograms = new HistogramSet();
    for (const bytes of result.histograms) histograms.addEncoded(bytes);
    return { header, end, histograms, signalCode: interrupt.signalCode };
  } finally {
    view.stop();
    seen.close();
    interrupt.close();
  }
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

function checkOpenFiles(options: RunOptions, slots: number): void {
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
  const model = options.model ?? server.modelRoot ?? server.model;
  return {
    type: 'header',
    schema: RECORD_SCHEMA,
    started_at: wallClock().toISOString(),
    options: { ...recorded, model, tokenizer: options.tokenizer ?? input.tokenizerId },
    server: {
      kind: server.kind,
      base_url: options.baseUrl,
      model: server.model,
      parameters: withoutTemplate(server.parameters),
    },
    samples_sha256: input.samplesSha256,
    version: VERSION,
  };
}

/** The chat template is long and says nothing about a run. */
function withoutTemplate(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'prompt_template_content'));
}

function endOf(result: LoadResult, interrupt: Interrupt, planned: number, aggregate: RunAggregate): RecordEnd {
  return {
    type: 'end',
    duration_s: result.durationMs / 1000,
    interrupted: interrupt.reason !== null,
    ...(interrupt.reason === null ? {} : { interrupted_by: interrupt.reason }),
    planned,
    recorded: aggregate.completed + aggregate.failed,
    ...(result.lostWorkers.length > 0 ? { lost_workers: result.lostWorkers } : {}),
  };
}

/** Medians so far, for the live line, and the limits that stop a run. */
class SoFar {
  private readonly set = new HistogramSet();
  private failures = 0;

  add(
    success: { readonly ttft: number; readonly latency: number; readonly frames?: number } | null,
    run: LoadRun,
    options: RunOptions,
  ): void {
    if (success === null) {
      this.failures++;
      if (options.maxErrors !== null && this.failures === options.maxErrors) {
        printErr(`tabby-load: ${this.failures} requests failed (--max-errors): no more are started`);
        run.stop(drainMs(options));
      }
      return;
    }
    this.set.record('ttft', success.ttft);
    const gaps = (success.frames ?? 0) - 1;
    if (gaps > 0) this.set.record('itl', (success.latency - success.ttft) / gaps);
  }

  get medians(): { ttftMs: number | null; itlMs: number | null } {
    return {
      ttftMs: this.set.stats('ttft')?.percentileMs(50) ?? null,
      itlMs: this.set.stats('itl')?.percentileMs(50) ?? null,
    };
  }

  close(): void {
    this.set.destroy();
  }
}

function drainMs(options: RunOptions): number {
  return options.drainTimeoutMs ?? Number.POSITIVE_INFINITY;
}

/** Signals and `--duration`: the first Ctrl-C stops sending and waits a little for what is under way, the second gives that up. */
class Interrupt {
  /** What ended the run before its time; null when nothing did. */
  reason: string | null = null;
  signalCode: ExitCode | null = null;
  private readonly run: LoadRun;
  private readonly options: RunOptions;
  private durationTimer: NodeJS.Timeout | null = null;
  private readonly onInt = (): void => this.signal('SIGINT', EXIT.sigint);
  private readonly onTerm = (): void => this.signal('SIGTERM', EXIT.sigterm);

  constructor(run: LoadRun, options: RunOptions) {
    this.run = run;
    this.options = options;
    process.on('SIGINT', this.onInt);
    process.on('SIGTERM', this.onTerm);
  }

  /** The clock has started: `--duration` counts from here. */
  startDuration(): void {
    const { durationMs } = this.options;
    if (durationMs === null) return;
    this.durationTimer = setTimeout(() => this.run.stop(drainMs(this.options)), durationMs);
  }

  close(): void {
    if (this.durationTimer !== null) clearTimeout(this.durationTimer);
    process.off('SIGINT', this.onInt);
    process.off('SIGTERM', this.onTerm);
  }

  private signal(name: string, code: ExitCode): void {
    if (this.reason !== null) {
      this.run.stop(0);
      return;
    }
    this.reason = name;
    this.signalCode = code;
    const wait = drainMs(this.options);
    const patience = Number.isFinite(wait) ? ` for up to ${wait / 1000} s` : '';
    printErr(`tabby-load: ${name}: no more requests; waiting${patience} for those in flight (again to leave at once)`);
    this.run.stop(wait);
  }
}
