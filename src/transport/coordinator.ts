/**
 * The main thread's side of a run: starts the workers, waits until their connections are open, gives the word, takes what they ship,
 * and ends them. A worker that dies costs what it had in its hands; another takes over its slots. Knows nothing of options, files or figures.
 */
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { messageOf, unreachableError, usageError } from '../errors.ts';
import { monotonicOffsetMs, nowMs } from '../record/clock.ts';
import { decodeRequests, encodeRequest } from '../record/codec.ts';
import {
  CONTROL,
  type CoordinatorMessage,
  PROGRESS,
  type SharedClaims,
  type SharedWork,
  STOP,
  type Target,
  type Timeouts,
  type WorkerHealth,
  type WorkerMessage,
  type WorkOrder,
} from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import { ClaimLedger, lostRecord, makeClaims } from './claims.ts';
import { wayWords } from './connect-error.ts';
import { type Outage, type OutagePlan, OutageWatch } from './outage.ts';
import { leftBehind } from './record-batch.ts';
import { WorkView } from './shared-work.ts';

/** What is to be done. */
export interface LoadPlan {
  readonly target: Target;
  readonly timeouts: Timeouts;
  readonly work: SharedWork;
  /** Requests in flight at the same time, over all workers. */
  readonly slots: number;
  /** Add slots when all are busy (open loop without a bound). */
  readonly canGrow: boolean;
  readonly workers: number;
  /** Wait for a server that goes away in mid-run; null = its requests fail, and so do the next. */
  readonly outage?: OutagePlan | null;
  /** Records as they arrive, encoded and read. */
  onRecords(bytes: Uint8Array, records: readonly RequestRecord[]): void;
  /** A worker thread died. */
  onWorkerLost?(lost: LostWorker): void;
}

/** A worker that died, and what became of its part. */
export interface LostWorker {
  readonly worker: number;
  readonly reason: string;
  /** Requests that it had in flight, or whose records it had not handed over. */
  readonly requests: number;
  /** Another one takes over its slots. */
  readonly isReplaced: boolean;
}

/** How far a run is. */
export interface LoadProgress {
  readonly completed: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly tokenFrames: number;
  readonly elapsedMs: number;
}

/** What a run yields beside its records. */
export interface LoadResult {
  /** Start of the run on the system's monotonic clock, seconds. */
  readonly startS: number;
  /** Start to the end of the last request. */
  readonly durationMs: number;
  readonly maxInFlight: number;
  readonly health: readonly WorkerHealth[];
  /** Encoded histograms, one per worker that came to its end. */
  readonly histograms: readonly Uint8Array[];
  readonly lostWorkers: readonly LostWorker[];
  readonly outages: readonly Outage[];
}

/** Slots of each worker: as even as can be, none lost. */
export function shareSlots(slots: number, workers: number): readonly number[] {
  return Array.from(
    { length: workers },
    (_, worker) => Math.floor(slots / workers) + (worker < slots % workers ? 1 : 0),
  );
}

/** Young generation on Node 24 and newer: a small one removes most of the tail that garbage collection puts on arrivals. */
const YOUNG_GENERATION_MB = 2;
/** Workers that may be replaced in a run, beyond one for each: what kills more than that kills every one. */
const SPARE_REPLACEMENTS = 3;

/** What the coordinator knows of one worker. */
interface WorkerPost {
  readonly worker: number;
  readonly slots: number;
  readonly port: MessagePort;
  readonly progress: Float64Array;
  /** Records that it has not shipped yet. */
  outbox: SharedArrayBuffer | null;
}

interface StartedWorker {
  readonly post: WorkerPost;
  /** Its connections are open; null when it died before. */
  readonly ready: Promise<WorkerReady | null>;
  /** It, and whoever took over from it, has come to the end. */
  readonly ended: Promise<void>;
}

type WorkerReady = Extract<WorkerMessage, { type: 'ready' }>;

/** One run. */
export class LoadRun {
  private readonly plan: LoadPlan;
  private readonly control = new SharedArrayBuffer(CONTROL.cells * 4);
  private readonly cells = new Int32Array(this.control);
  private readonly claims: SharedClaims;
  private readonly ledger: ClaimLedger;
  private readonly posts: WorkerPost[] = [];
  private readonly health: WorkerHealth[] = [];
  private readonly histograms: Uint8Array[] = [];
  private readonly lost: LostWorker[] = [];
  private readonly clockOffsetMs = monotonicOffsetMs();
  private readonly pool: Piscina;
  private watch: OutageWatch | null = null;
  private replacementsLeft: number;
  private startMs = Number.NaN;
  private lastEndMs = 0;
  private drainTimer: NodeJS.Timeout | null = null;

  constructor(plan: LoadPlan) {
    this.plan = plan;
    this.claims = makeClaims(plan.work.count);
    this.ledger = new ClaimLedger(this.claims);
    this.replacementsLeft = plan.workers + SPARE_REPLACEMENTS;
    this.pool = this.newPool();
  }

  /**
   * Runs the plan to its end, or to where {@link stop} ends it.
   * @param onStart called when the clock has started
   * @throws AppError when no connection could be opened
   */
  async run(onStart: () => void): Promise<LoadResult> {
    const { plan } = this;
    try {
      const tasks = shareSlots(plan.slots, plan.workers).map((slots) => this.startWorker(slots, -1));
      const readies = await Promise.all(tasks.map(({ ready }) => ready));
      if (readies.includes(null)) await this.dieAtStart(tasks);
      this.checkConnections(readies.filter((ready) => ready !== null));
      this.startMs = nowMs();
      this.lastEndMs = this.startMs;
      onStart();
      if (plan.outage != null) {
        this.watch = new OutageWatch(plan.outage, this.cells, this.startMs, () => this.stop(Number.POSITIVE_INFINITY));
      }
      for (const post of this.posts) this.giveTheWord(post);
      await Promise.all(tasks.map(({ ended }) => ended));
    } finally {
      this.watch?.close();
      if (this.drainTimer !== null) clearTimeout(this.drainTimer);
      await this.pool.destroy();
    }
    return this.resultSoFar();
  }

  /** What there is at this moment: of a run that is over, or of one that cannot be waited for any longer. */
  resultSoFar(): LoadResult {
    return {
      startS: (this.startMs + this.clockOffsetMs) / 1000,
      durationMs: this.lastEndMs - this.startMs,
      maxInFlight: Atomics.load(this.cells, CONTROL.maxInFlight),
      health: this.health.toSorted((a, b) => a.worker - b.worker),
      histograms: this.histograms,
      lostWorkers: this.lost,
      outages: this.watch?.outages ?? [],
    };
  }

  /** Starts no more requests, and gives up those in flight after `drainMs` (0 = at once, Infinity = never). */
  stop(drainMs: number): void {
    if (drainMs <= 0) {
      Atomics.store(this.cells, CONTROL.stop, STOP.abort);
      return;
    }
    const before = Atomics.load(this.cells, CONTROL.stop);
    if (before === STOP.drain || before === STOP.abort) return;
    Atomics.store(this.cells, CONTROL.stop, STOP.drain);
    if (Number.isFinite(drainMs)) {
      this.drainTimer = setTimeout(() => Atomics.store(this.cells, CONTROL.stop, STOP.abort), drainMs);
    }
  }

  get progress(): LoadProgress {
    let tokenFrames = 0;
    for (const { progress } of this.posts) tokenFrames += progress[PROGRESS.tokenFrames] as number;
    return {
      completed: Atomics.load(this.cells, CONTROL.completed),
      failed: Atomics.load(this.cells, CONTROL.failed),
      inFlight: Atomics.load(this.cells, CONTROL.inFlight),
      tokenFrames,
      elapsedMs: Number.isNaN(this.startMs) ? 0 : nowMs() - this.startMs,
    };
  }

  private newPool(): Piscina {
    const { workers } = this.plan;
    const isNewNode = Number.parseInt(process.versions.node, 10) >= 24;
    const pool = new Piscina({
      filename: workerFile(),
      minThreads: workers,
      maxThreads: workers,
      concurrentTasksPerWorker: 1,
      // Otherwise an idle thread blocks in Atomics.wait, and its sockets and timers with it.
      atomics: 'disabled',
      ...(isNewNode ? { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } } : {}),
    });
    // A thread that dies without a task of ours: nothing is lost by it.
    pool.on('error', () => undefined);
    return pool;
  }

  /**
   * Starts a worker with so many slots.
   * @param firstIndex a request for it that is claimed already, −1 = none
   */
  private startWorker(slots: number, firstIndex: number): StartedWorker {
    const { plan } = this;
    const worker = this.posts.length;
    const { port1, port2 } = new MessageChannel();
    const progress = new SharedArrayBuffer(PROGRESS.cells * 8);
    const post: WorkerPost = { worker, slots, port: port1, progress: new Float64Array(progress), outbox: null };
    this.posts.push(post);
    const order: WorkOrder = {
      worker,
      slots,
      canGrow: plan.canGrow,
      target: plan.target,
      timeouts: plan.timeouts,
      work: plan.work,
      control: this.control,
      progress,
      claims: this.claims,
      firstIndex,
      pausesWhenGone: plan.outage != null,
      clockOffsetMs: this.clockOffsetMs,
      port: port2,
    };
    const closed = new Promise<void>((resolve) => port1.once('close', resolve));
    const ready = new Promise<WorkerReady | null>((resolve) => {
      port1.on('message', (message: WorkerMessage) => {
        if (message.type === 'ready') resolve(message);
        else if (message.type === 'outbox') post.outbox = message.memory;
        else this.take(message);
      });
      // A worker that dies while it starts must not leave the others waiting.
      closed.then(() => resolve(null));
    });
    // The last messages may arrive behind the end of the task, also of one that died.
    const ended = (this.pool.run(order, { transferList: [port2] }) as Promise<void>).then(
      () => closed,
      (error: unknown) => closed.then(() => this.replace(post, messageOf(error))),
    );
    return { post, ended, ready };
  }

  private giveTheWord(post: WorkerPost): void {
    post.port.postMessage({ type: 'start', startMs: this.startMs } satisfies CoordinatorMessage);
  }

  /** A worker died: its requests are recorded as lost, and another one goes on in its place, if there is something to do. */
  private async replace(post: WorkerPost, reason: string): Promise<void> {
    const requests = this.recordLost(post, reason);
    const inHand = (post.progress[PROGRESS.inHand] as number) - 1;
    const stop = Atomics.load(this.cells, CONTROL.stop);
    const isGoingOn = stop === STOP.run || stop === STOP.pause;
    const hasWork = inHand >= 0 || Atomics.load(this.cells, CONTROL.cursor) < this.plan.work.count;
    const isReplaced = !Number.isNaN(this.startMs) && isGoingOn && hasWork && this.replacementsLeft > 0;
    const lost = { worker: post.worker, reason, requests, isReplaced };
    this.lost.push(lost);
    this.plan.onWorkerLost?.(lost);
    if (!isReplaced) return;
    this.replacementsLeft--;
    const next = this.startWorker(post.slots, inHand);
    await next.ready;
    this.giveTheWord(next.post);
    await next.ended;
  }

  private recordLost({ worker, outbox }: WorkerPost, reason: string): number {
    if (Number.isNaN(this.startMs)) return 0;
    if (outbox !== null) this.takeLeftBehind(leftBehind(outbox));
    const { indices, inFlight, succeeded, failed } = this.ledger.lostBy(worker);
    Atomics.sub(this.cells, CONTROL.inFlight, inFlight);
    Atomics.sub(this.cells, CONTROL.completed, succeeded);
    Atomics.add(this.cells, CONTROL.failed, indices.length - failed);
    const work = new WorkView(this.plan.work);
    const lostMs = nowMs();
    this.lastEndMs = Math.max(this.lastEndMs, lostMs);
    const { startMs: runStartMs, clockOffsetMs } = this;
    for (const i of indices) {
      const startMs = this.ledger.startMs(i);
      const bytes = lostRecord({ i, worker, reason, startMs, lostMs, runStartMs, clockOffsetMs }, work);
      this.plan.onRecords(bytes, decodeRequests(bytes));
    }
    return indices.length;
  }

  private take(message: Exclude<WorkerMessage, { type: 'ready' | 'outbox' }>): void {
    if (message.type === 'records') {
      this.lastEndMs = Math.max(this.lastEndMs, message.lastEndMs);
      this.takeRecords(message.bytes);
    } else {
      this.health.push(message.health);
      this.histograms.push(message.histograms);
    }
  }

  private takeRecords(bytes: Uint8Array): void {
    const records = decodeRequests(bytes);
    this.ledger.arrive(records);
    this.plan.onRecords(bytes, records);
  }

  /** Records that a dead worker had not shipped, or had just shipped when it died. */
  private takeLeftBehind(bytes: Uint8Array): void {
    for (const record of decodeRequests(bytes)) {
      if (this.ledger.hasArrived(record.i)) continue;
      this.takeRecords(Uint8Array.from(encodeRequest(record)));
    }
  }

  /** Workers that die before the first request are no matter of the load. */
  private async dieAtStart(tasks: readonly StartedWorker[]): Promise<never> {
    await Promise.race(tasks.map(({ ended }) => ended));
    const [dead] = this.lost;
    throw new Error(`a worker thread died as it started: ${dead?.reason ?? 'for no reason that it told'}`);
  }

  private checkConnections(readies: readonly WorkerReady[]): void {
    const failed = readies.reduce((sum, message) => sum + message.failedConnections, 0);
    if (failed === 0) return;
    const reason = readies.find((message) => message.connectError !== null)?.connectError ?? 'unknown reason';
    const { slots, target } = this.plan;
    if (/EMFILE|ENFILE/.test(reason)) {
      throw usageError(
        `only ${slots - failed} of ${slots} connections could be opened: ${reason}`,
        'Raise the limit of open files (ulimit -n) or lower --concurrency.',
      );
    }
    throw unreachableError(
      `${failed} of ${slots} connections to ${wayWords(target)} could not be opened: ${reason}`,
      'Is the server up, and does it (or a proxy before it) accept as many connections? Lower --concurrency otherwise.',
    );
  }
}

/** The worker's file: beside this one when bundled, else (under a test runner, from the sources) in the build. */
function workerFile(): string {
  const here = fileURLToPath(import.meta.url);
  return here.endsWith('.ts')
    ? fileURLToPath(new URL('../../dist/worker.js', import.meta.url))
    : fileURLToPath(new URL('./worker.js', import.meta.url));
}
