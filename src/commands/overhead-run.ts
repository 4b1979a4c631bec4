/** One run of the self-benchmark: the way of a real run (workers, records, aggregate), against a server that notes the truth. */
import { RunAggregate } from '../aggregate/collect.ts';
import { compareDelivery, type Delivery, type SentRequest, type Window } from '../aggregate/delivery.ts';
import type { OverheadFigures } from '../aggregate/overhead.ts';
import { decodeRequests } from '../record/codec.ts';
import type { SharedWork, Target, WorkerHealth } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import { backendOf, bodyBytes } from '../transport/backend.ts';
import { LoadRun } from '../transport/coordinator.ts';
import { packWork } from '../transport/shared-work.ts';
import { RunCpu } from './client-health.ts';
import { TruthServer } from './overhead-server.ts';
import { chooseWorkers } from './workers.ts';

/** What is run. */
export interface OverheadPlan {
  readonly streams: number;
  /** Requests that each stream makes, one after the other. */
  readonly rounds: number;
  readonly tokens: number;
  readonly ttftMs: number;
  readonly itlMs: number;
  readonly lockstep: boolean;
  /** `--workers`. */
  readonly workers: number | null;
  /**
   * Start the streams evenly over the time of one answer and measure only while all of them run: the load in its middle. Otherwise all start
   * at once and all counts, as in a real run.
   */
  readonly isSteady: boolean;
}

/** How long one answer takes at least, ms. */
export function answerMs({ ttftMs, itlMs, tokens }: Pick<OverheadPlan, 'ttftMs' | 'itlMs' | 'tokens'>): number {
  return ttftMs + itlMs * (tokens - 1);
}

/** Runs a plan against a server of its own. @param onServer told of the server, so that it can be ended from outside */
export async function runOverhead(
  plan: OverheadPlan,
  onServer: (server: TruthServer) => void,
): Promise<OverheadFigures> {
  const server = await TruthServer.start(plan);
  onServer(server);
  try {
    const { records, sent, startMs, health, cpuMs, durationS } = await carry(plan, server);
    const delivery = compareDelivery(records, sent, plan.isSteady ? steadyWindow(plan, startMs, sent) : undefined);
    const figures = await server.figures();
    return { ...delivery, ...clientFigures(plan, delivery, health, cpuMs, durationS), server: figures };
  } finally {
    server.stop();
  }
}

interface Carried {
  readonly records: readonly RequestRecord[];
  readonly sent: readonly SentRequest[];
  /** Start on the system's monotonic clock. */
  readonly startMs: number;
  readonly health: readonly WorkerHealth[];
  readonly cpuMs: number;
  readonly durationS: number;
}

async function carry(plan: OverheadPlan, server: TruthServer): Promise<Carried> {
  const { streams, rounds, tokens } = plan;
  const requests = streams * rounds;
  const records: RequestRecord[] = [];
  const aggregate = new RunAggregate();
  const cpu = new RunCpu();
  const load = { asked: plan.workers, slots: streams, canGrow: false, requestRate: Number.POSITIVE_INFINITY };
  const run = new LoadRun({
    target: targetOf(server.url),
    timeouts: { connectMs: 10_000, firstTokenMs: 60_000, tokenMs: 60_000, requestMs: 0 },
    work: workOf(plan),
    slots: streams,
    canGrow: false,
    workers: chooseWorkers({ ...load, requests, outputTokens: tokens }),
    onRecords(bytes) {
      for (const record of decodeRequests(bytes)) {
        aggregate.add(record);
        records.push(record);
      }
    },
  });
  const result = await run.run(() => cpu.begin());
  const used = cpu.used();
  return {
    records,
    sent: await server.truth(),
    startMs: result.startS * 1000,
    health: result.health,
    cpuMs: used.user + used.system,
    durationS: result.durationMs / 1000,
  };
}

function targetOf(url: string): Target {
  return {
    origin: url,
    path: '/v1/chat/completions',
    headers: ['Content-Type', 'application/json', 'Accept', '*/*', 'Accept-Encoding', 'identity'],
    unixSocket: null,
    proxy: null,
    isInsecure: false,
    form: 'chat',
    isWhole: false,
    needsFinishAndDone: true,
    choices: 1,
    maxEventBytes: 16_000_000,
    keepText: 'never',
    retries: 0,
    secrets: [],
  };
}

function workOf(plan: OverheadPlan): SharedWork {
  const { streams, rounds, tokens } = plan;
  const spacingMs = plan.isSteady ? answerMs(plan) / streams : 0;
  const body = bodyBytes(
    backendOf('openai-chat'),
    { prompt: 'Count the sheep that jump over the fence, one word for each.', outputLen: tokens },
    {
      model: 'self',
      stream: true,
      askUsage: true,
      ignoreEos: false,
      logprobs: null,
      extraBody: {},
      forceLength: true,
      exactLength: true,
      draftTokens: 0,
      omitNulls: true,
    },
  );
  return packWork(
    Array.from({ length: streams * rounds }, (_, i) => ({
      body,
      plannedMs: Math.min(i, streams) * spacingMs,
      promptLen: 12,
      outputLen: tokens,
      requestId: `o-${i}`,
      category: undefined,
    })),
  );
}

/** The time in which every stream runs: from the start of the last one to the earliest end of a stream's last answer. */
function steadyWindow(plan: OverheadPlan, startMs: number, sent: readonly SentRequest[]): Window {
  const answer = answerMs(plan);
  const lastStart = startMs + answer;
  const ends = sent.map(({ framesMs }) => framesMs.at(-1) ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  // The first stream is done when all but the last round of one stream have ended: so many answers before it.
  const firstDone = ends[Math.min(ends.length - 1, plan.streams * (plan.rounds - 1))] ?? lastStart;
  return { fromMs: lastStart, toMs: Math.max(lastStart, firstDone) };
}

function clientFigures(
  plan: OverheadPlan,
  delivery: Delivery,
  health: readonly WorkerHealth[],
  cpuMs: number,
  durationS: number,
): Omit<OverheadFigures, keyof Delivery | 'server'> {
  const worst = (figure: (one: WorkerHealth) => number): number => Math.max(0, ...health.map(figure));
  const reads = health.reduce((sum, one) => sum + one.reads, 0);
  return {
    streams: plan.streams,
    requests: plan.streams * plan.rounds,
    workers: health.length,
    eventsPerS: delivery.spanS > 0 ? delivery.deliveryMs.count / delivery.spanS : 0,
    cpuUsPerEvent: delivery.sent === 0 ? 0 : (cpuMs * 1000) / delivery.sent,
    cpuCores: durationS > 0 ? cpuMs / 1000 / durationS : 0,
    loopDelayMs: { p99: worst((one) => one.loopDelayMs.p99), max: worst((one) => one.loopDelayMs.max) },
    utilisation: worst((one) => one.utilisation),
    readsPerEvent: delivery.sent === 0 ? 0 : reads / delivery.sent,
  };
}
