/** One level of a sweep: a run over the first of the common samples, saved before anything else happens. */
import { join } from 'node:path';
import { RunAggregate } from '../aggregate/collect.ts';
import type { SeriesSummary } from '../aggregate/summary.ts';
import { noiseOf } from '../aggregate/sweep-noise.ts';
import { wilson } from '../aggregate/wilson.ts';
import { writeManifest } from '../dataset/manifest.ts';
import { repeatedPrompts } from '../dataset/repeats.ts';
import type { SampleRequest } from '../dataset/sample.ts';
import { withNonces } from '../dataset/unique-prompts.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { RunOptions, SweepOptions } from '../options/table.ts';
import { nowMs } from '../record/clock.ts';
import type { SweepAxis, SweepLatency, SweepLevel } from '../record/sweep.ts';
import { type FinishedReport, finishReport } from '../report/finish.ts';
import { drawLora } from '../schedule/lora.ts';
import type { ServerFound } from '../transport/server.ts';
import { putOut } from './put-out.ts';
import { countedTokens } from './run.ts';
import { arrivalsOf } from './run-arrivals.ts';
import { type Carried, carryLoad } from './run-load.ts';
import { openOutputs } from './run-outputs.ts';
import { workOf } from './run-target.ts';
import { runWarmUps } from './run-warmup.ts';
import type { TakenSamples } from './take-samples.ts';

/** What a level is run with. */
export interface LevelInput {
  readonly options: SweepOptions;
  readonly server: ServerFound;
  readonly taken: TakenSamples;
  readonly axis: SweepAxis;
  readonly level: number;
  readonly requests: number;
  /** Levels in all, and which one this is (from 1); null where that is found out on the way. */
  readonly place?: { readonly number: number; readonly of: number } | null;
  /** Folder of the sweep. */
  readonly folder: string;
  /** Null: prompts as they are. */
  readonly nonce: string | null;
  /** Which measurement of this level it is, from 1. */
  readonly attempt: number;
  /** When `--max-duration` is over, on the clock of `nowMs`; infinite = no bound. */
  readonly deadlineMs: number;
  /** The load takes over: it handles interrupts by itself from here. */
  begin(): void;
}

/** A level that was run, with what it says about the rest of the sweep. */
export interface LevelRun {
  readonly level: SweepLevel;
  readonly code: ExitCode;
  /** Why its records are not whole; null when they are. */
  readonly trouble: string | null;
}

/** The steady-state window stands for the level when it is at least this share of it. */
const LEAST_WINDOW = 0.3;

/** Names of a level's files in the folder of the sweep. */
export function levelFiles(
  axis: SweepAxis,
  level: number,
  attempt = 1,
): { readonly result: string; readonly records: string } {
  const name = `${axis === 'concurrency' ? 'concurrency' : 'rate'}-${level}${attempt === 1 ? '' : `-again-${attempt}`}`;
  return { result: `${name}.json`, records: `${name}.records` };
}

/** The options of a run that a level is. */
export function levelOptions(options: SweepOptions, own: Pick<LevelInput, 'axis' | 'level' | 'requests'>): RunOptions {
  const { axis, level, requests } = own;
  return {
    ...options,
    form: 'run',
    numRuns: 1,
    maxConcurrency: axis === 'concurrency' ? level : null,
    requestRate: axis === 'concurrency' ? Number.POSITIVE_INFINITY : level,
    numPrompts: requests,
    rampUpStrategy: null,
    rampUpStartRps: null,
    rampUpEndRps: null,
    selfTimed: null,
    uniquePrompts: false,
    json: null,
    html: null,
    saveRecords: null,
    saveResult: false,
    appendResult: false,
    resultDir: null,
    resultFilename: null,
    samplesOut: null,
    saveHdr: null,
    plotTimeline: false,
    timelineItlThresholds: [],
    plotDatasetStats: false,
    dryRun: false,
  };
}

/** Warms up, runs and saves one level. Throws what a run throws before its load begins. */
export async function runLevel(input: LevelInput): Promise<LevelRun> {
  const { server, taken, folder, nonce, deadlineMs } = input;
  const plain = taken.samples.slice(0, input.requests);
  const { sha256 } = await writeManifest(plain);
  // Lengths stay those of the samples: usage tells what the nonce adds.
  const samples = nonce === null ? plain : await withNonces(plain, nonce, null);
  const files = levelFiles(input.axis, input.level, input.attempt);
  const options: RunOptions = {
    ...levelOptions(input.options, input),
    json: join(folder, files.result),
    saveRecords: join(folder, files.records),
  };
  const outputs = await openOutputs(options);
  try {
    await runWarmUps(options, server, samples);
    const aggregate = new RunAggregate({
      maxExactValues: options.maxExactValues,
      ...(options.goodput === null ? {} : { goodput: options.goodput }),
      keepDetail: options.saveDetailed,
      exactLength: options.exactLength,
    });
    input.begin();
    const { place } = input;
    const carried = await carryLoad({
      label: place == null ? 'level' : `level ${place.number} of ${place.of}`,
      options,
      server,
      work: levelWork(options, server, samples, taken),
      outputs,
      aggregate,
      samplesSha256: sha256,
      repeatedPrompts: repeatedPrompts(samples),
      tokenizerId: taken.tokenizerId,
      deadlineMs,
      endExtras: async () => ({
        ...(nonce === null ? {} : { sweep_nonce: nonce }),
        ...(await countedTokens(aggregate, taken.countTokens)),
      }),
    });
    const { header, end, histograms, code } = carried;
    const report = await finishReport({ aggregate, header, end });
    // Of a level the sweep tells in a line; the table of a run is in its result.
    await putOut({
      report: { ...report, warningLines: [] },
      header,
      end,
      places: { ...options, quiet: true },
      secrets: [],
      histograms: () => histograms,
    });
    const isShort =
      report.completed + report.failed < samples.length ||
      report.summary.errorKinds.some(({ kind }) => kind === 'aborted');
    const isCut = nowMs() >= deadlineMs && isShort;
    return {
      level: levelOf(input, { sha256, files, report, carried, isCut }),
      code,
      trouble: outputs.records?.failure ?? null,
    };
  } finally {
    await outputs.abandon();
  }
}

function levelWork(
  options: RunOptions,
  server: ServerFound,
  samples: readonly SampleRequest[],
  taken: TakenSamples,
): ReturnType<typeof workOf> {
  const models = drawLora(
    taken.pyRandom,
    options.loraModules ?? [],
    options.loraAssignment as 'random' | 'round-robin',
    samples.length,
  );
  const { delaysS } = arrivalsOf(options, { samples, npRandom: taken.npRandom });
  return workOf(options, server, samples, { delaysS, models });
}

interface Outcome {
  readonly sha256: string;
  readonly files: ReturnType<typeof levelFiles>;
  readonly report: FinishedReport;
  readonly carried: Carried;
  readonly isCut: boolean;
}

function levelOf(input: LevelInput, { sha256, files, report, carried, isCut }: Outcome): SweepLevel {
  const { summary, limits } = report;
  const { completed, failed, durationS } = summary;
  const rate = throughputOf(input.axis, report);
  const own = report.result.get('tabby_load') as { readonly client_was_limit?: boolean } | undefined;
  const total = completed + failed;
  return {
    level: input.level,
    ...statusOf(carried, report, isCut),
    result_file: files.result,
    records_file: files.records,
    samples_sha256: sha256,
    nonce: input.nonce,
    requests: input.requests,
    completed,
    failed,
    duration_s: durationS,
    request_throughput: durationS > 0 ? completed / durationS : 0,
    ...rate,
    in_flight_mean: inFlightMean(summary),
    ttft: latency(summary.metrics.ttft),
    tpot: latency(summary.metrics.tpot),
    itl: latency(summary.metrics.itl),
    e2el: latency(summary.metrics.e2el),
    server_queue: latency(summary.own.server_queue_time),
    limits: limits.map(({ limit, value, isKept }) => ({ limit: limit.text, value, bound: limit.bound, kept: isKept })),
    goodput:
      input.options.goodput === null
        ? null
        : {
            good: summary.goodRequests,
            requests: total,
            share: total === 0 ? 0 : summary.goodRequests / total,
            ...wilson(summary.goodRequests, total),
          },
    client_was_limit: own?.client_was_limit ?? null,
  };
}

function statusOf(
  { end, code }: Carried,
  report: FinishedReport,
  isCut: boolean,
): Pick<SweepLevel, 'status' | 'reason'> {
  if (code === EXIT.sigint || code === EXIT.sigterm) return { status: 'partial', reason: 'interrupted' };
  if (isCut) return { status: 'partial', reason: '--max-duration was over' };
  if (code === EXIT.ok) return { status: 'done', reason: '' };
  const by = end['interrupted_by'];
  const reasons = [
    ...(typeof by === 'string' ? [`ended by ${by}`] : []),
    ...(report.failed > 0 ? [`${report.failed} of ${report.completed + report.failed} requests failed`] : []),
  ];
  return { status: 'failed', reason: reasons.join(': ') || `ended with exit code ${code}` };
}

/** In a closed loop beginning and end of a level have fewer streams than the level says; the window between has not. */
function throughputOf(
  axis: SweepAxis,
  { summary }: FinishedReport,
): Pick<SweepLevel, 'output_throughput' | 'throughput_from' | 'throughput_noise'> {
  const { steady, durationS, outputTokens } = summary;
  const figures = axis === 'concurrency' ? (steady?.figures ?? null) : null;
  if (figures !== null && figures.lengthS >= LEAST_WINDOW * durationS && figures.outputTokens > 0) {
    return {
      output_throughput: figures.outputTokens / figures.lengthS,
      throughput_from: 'steady_state',
      throughput_noise: noiseOf(figures.partTokens),
    };
  }
  return {
    output_throughput: durationS > 0 ? outputTokens / durationS : 0,
    throughput_from: 'whole_run',
    throughput_noise: null,
  };
}

/** Requests in flight on average: the time that all took together over the time that they took in all (Little's law). */
function inFlightMean({ metrics, durationS }: FinishedReport['summary']): number | null {
  const { count, meanMs } = metrics.e2el;
  return count === 0 || !(durationS > 0) ? null : (count * meanMs) / 1000 / durationS;
}

function latency(series: SeriesSummary): SweepLatency | null {
  if (series.count === 0) return null;
  const at = (percentile: number): number => series.percentilesMs.get(percentile) ?? series.maxMs;
  return {
    mean_ms: series.meanMs,
    median_ms: series.medianMs,
    p90_ms: at(90),
    p95_ms: at(95),
    p99_ms: at(99),
    max_ms: series.maxMs,
  };
}
