/**
 * The main thread's side of a run: starts the workers, waits until their connections are open, gives the word, takes what they ship,
 * and ends them. Knows nothing of options, files or figures.
 */
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { messageOf, unreachableError, usageError } from '../errors.ts';
import { monotonicOffsetMs, nowMs } from '../record/clock.ts';
import {
  CONTROL,
  type CoordinatorMessage,
  PROGRESS,
  type SharedWork,
  STOP,
  type Target,
  type Timeouts,
  type WorkerHealth,
  type WorkerMessage,
  type WorkOrder,
} from '../record/messages.ts';

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
  /** Encoded records as they arrive; valid during the call. */
  onRecords(bytes: Uint8Array): void;
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
  /** Workers that died, with the reason. */
  readonly lostWorkers: readonly string[];
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

/** One run. */
export class LoadRun {
  private readonly plan: LoadPlan;
  private readonly control = new SharedArrayBuffer(CONTROL.cells * 4);
  private readonly cells = new Int32Array(this.control);
  private readonly progressBlocks: Float64Array[] = [];
  private readonly ports: MessagePort[] = [];
  private readonly health: WorkerHealth[] = [];
  private readonly histograms: Uint8Array[] = [];
  private readonly lost: string[] = [];
  private startMs = Number.NaN;
  private lastEndMs = 0;
  private drainTimer: NodeJS.Timeout | null = null;

  constructor(plan: LoadPlan) {
    this.plan = plan;
  }

  /**
   * Runs the plan to its end, or to where {@link stop} ends it.
   * @param onStart called when the clock has started
   * @throws AppError when no connection could be opened
   */
  async run(onStart: () => void): Promise<LoadResult> {
    const { plan } = this;
    const pool = this.newPool();
    const clockOffsetMs = monotonicOffsetMs();
    try {
      const shares = shareSlots(plan.slots, plan.workers);
      const readies: Promise<WorkerMessage>[] = [];
      const ends = shares.map((slots, worker) => {
        const { task, ready } = this.startWorker(pool, worker, slots, clockOffsetMs);
        readies.push(ready);
        return task;
      });
      this.checkConnections(await Promise.all(readies));
      this.startMs = nowMs();
      this.lastEndMs = this.startMs;
      onStart();
      for (const port of this.ports)
        port.postMessage({ type: 'start', startMs: this.startMs } satisfies CoordinatorMessage);
      await Promise.all(ends);
    } finally {
      if (this.drainTimer !== null) clearTimeout(this.drainTimer);
      await pool.destroy();
    }
    return {
      startS: (this.startMs + clockOffsetMs) / 1000,
      durationMs: this.lastEndMs - this.startMs,
      maxInFlight: Atomics.load(this.cells, CONTROL.maxInFlight),
      health: this.health.toSorted((a, b) => a.worker - b.worker),
      histograms: this.histograms,
      lostWorkers: this.lost,
    };
  }

  /** Starts no more requests, and gives up those in flight after `drainMs` (0 = at once, Infinity = never). */
  stop(drainMs: number): void {
    if (drainMs <= 0) {
      Atomics.store(this.cells, CONTROL.stop, STOP.abort);
      return;
    }
    if (Atomics.compareExchange(this.cells, CONTROL.stop, STOP.run, STOP.drain) !== STOP.run) return;
    if (Number.isFinite(drainMs)) {
      this.drainTimer = setTimeout(() => Atomics.store(this.cells, CONTROL.stop, STOP.abort), drainMs);
    }
  }

  get progress(): LoadProgress {
    let tokenFrames = 0;
    for (const block of this.progressBlocks) tokenFrames += block[PROGRESS.tokenFrames] as number;
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
    return new Piscina({
      filename: workerFile(),
      minThreads: workers,
      maxThreads: workers,
      concurrentTasksPerWorker: 1,
      // Otherwise an idle thread blocks in Atomics.wait, and its sockets and timers with it.
      atomics: 'disabled',
      ...(isNewNode ? { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } } : {}),
    });
  }

  private startWorker(
    pool: Piscina,
    worker: number,
    slots: number,
    clockOffsetMs: number,
  ): { task: Promise<void>; ready: Promise<WorkerMessage> } {
    const { plan } = this;
    const { port1, port2 } = new MessageChannel();
    const progress = new SharedArrayBuffer(PROGRESS.cells * 8);
    this.ports.push(port1);
    this.progressBlocks.push(new Float64Array(progress));
    const order: WorkOrder = {
      worker,
      slots,
      canGrow: plan.canGrow,
      target: plan.target,
      timeouts: plan.timeouts,
      work: plan.work,
      control: this.control,
      progress,
      clockOffsetMs,
      port: port2,
    };
    const closed = new Promise<void>((resolve) => port1.once('close', resolve));
    const ready = new Promise<WorkerMessage>((resolve) => {
      port1.on('message', (message: WorkerMessage) => {
        if (message.type === 'ready') resolve(message);
        else this.take(message);
      });
      // A worker that dies while it starts must not leave the others waiting.
      port1.once('close', () => {
        resolve({ type: 'ready', worker, failedConnections: slots, connectError: 'the worker thread died' });
      });
    });
    const task = (pool.run(order, { transferList: [port2] }) as Promise<void>).catch((error: unknown) => {
      this.lost.push(`worker ${worker}: ${messageOf(error)}`);
      port1.close();
    });
    // The last messages may arrive behind the end of the task.
    return { task: task.then(() => closed), ready };
  }

  private take(message: Exclude<WorkerMessage, { type: 'ready' }>): void {
    if (message.type === 'records') {
      this.lastEndMs = Math.max(this.lastEndMs, message.lastEndMs);
      this.plan.onRecords(message.bytes);
    } else {
      this.health.push(message.health);
      this.histograms.push(message.histograms);
    }
  }

  private checkConnections(messages: readonly WorkerMessage[]): void {
    const readies = messages.filter((message) => message.type === 'ready');
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
      `${failed} of ${slots} connections to ${target.origin} could not be opened: ${reason}`,
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
