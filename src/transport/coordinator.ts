/**
 * The main thread's side of a run: has the workers open their connections, gives the word, and ends them. Knows nothing of options,
 * files or figures.
 */
import { unreachableError, usageError } from '../errors.ts';
import { nowMs } from '../record/clock.ts';
import { CONTROL, STOP, type WorkerHealth } from '../record/messages.ts';
import { wayWords } from './connect-error.ts';
import { Crew, type CrewLive, type CrewPlan, type LostWorker, type StartedWorker, type WorkerReady } from './crew.ts';
import { type Outage, type OutagePlan, OutageWatch } from './outage.ts';

/** What is to be done. */
export interface LoadPlan extends Omit<CrewPlan, 'pausesWhenGone'> {
  /** Requests in flight at the same time, over all workers. */
  readonly slots: number;
  /** Wait for a server that goes away in mid-run; null = its requests fail, and so do the next. */
  readonly outage?: OutagePlan | null;
}

/** How far a run is. */
export interface LoadProgress {
  readonly completed: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly tokenFrames: number;
  /** Those of requests that have ended. */
  readonly framesOfEnded: number;
  readonly elapsedMs: number;
  /** The moment at which the frames were counted, ms since the start: up to a tenth of a second ago. */
  readonly countedMs: number;
  /** Means over the streams under way; null before there are any. */
  readonly ttftMs: number | null;
  readonly itlMs: number | null;
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

/** One run. */
export class LoadRun {
  private readonly plan: LoadPlan;
  private readonly control = new SharedArrayBuffer(CONTROL.cells * 4);
  private readonly cells = new Int32Array(this.control);
  private readonly crew: Crew;
  private watch: OutageWatch | null = null;
  private startMs = Number.NaN;
  private drainTimer: NodeJS.Timeout | null = null;

  constructor(plan: LoadPlan) {
    this.plan = plan;
    Atomics.store(this.cells, CONTROL.mostFailed, plan.maxErrors ?? 0);
    this.crew = new Crew({ ...plan, pausesWhenGone: plan.outage != null }, this.control);
  }

  /**
   * Runs the plan to its end, or to where {@link stop} ends it.
   * @param onStart called when the clock has started
   * @throws AppError when no connection could be opened
   */
  async run(onStart: () => void): Promise<LoadResult> {
    const { plan, crew } = this;
    try {
      const workers = shareSlots(plan.slots, plan.workers).map((slots) => crew.start(slots));
      const readies = await Promise.all(workers.map(({ ready }) => ready));
      if (readies.includes(null)) await this.dieAtStart(workers);
      this.checkConnections(readies.filter((ready) => ready !== null));
      this.startMs = nowMs();
      onStart();
      if (plan.outage != null) {
        this.watch = new OutageWatch(plan.outage, this.cells, this.startMs, () => this.stop(Number.POSITIVE_INFINITY));
      }
      crew.go(this.startMs);
      await Promise.all(workers.map(({ ended }) => ended));
    } finally {
      this.watch?.close();
      if (this.drainTimer !== null) clearTimeout(this.drainTimer);
      await crew.destroy();
    }
    return this.resultSoFar();
  }

  /** What there is at this moment: of a run that is over, or of one that cannot be waited for any longer. */
  resultSoFar(): LoadResult {
    const { crew } = this;
    return {
      startS: (this.startMs + crew.clockOffsetMs) / 1000,
      // Given up before the clock started.
      durationMs: Number.isNaN(this.startMs) ? 0 : crew.lastEndMs - this.startMs,
      maxInFlight: Atomics.load(this.cells, CONTROL.maxInFlight),
      health: crew.health.toSorted((a, b) => a.worker - b.worker),
      histograms: crew.histograms,
      lostWorkers: crew.lost,
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
    return {
      completed: Atomics.load(this.cells, CONTROL.completed),
      failed: Atomics.load(this.cells, CONTROL.failed),
      inFlight: Atomics.load(this.cells, CONTROL.inFlight),
      maxInFlight: Atomics.load(this.cells, CONTROL.maxInFlight),
      tokenFrames: this.crew.tokenFrames,
      framesOfEnded: this.crew.framesOfEnded,
      ...this.crew.underWay,
      elapsedMs: Number.isNaN(this.startMs) ? 0 : nowMs() - this.startMs,
      countedMs: Number.isNaN(this.startMs) ? 0 : Math.max(0, this.crew.countedMs - this.startMs),
    };
  }

  /** Latencies and health so far, where the plan has them watched. */
  get live(): CrewLive {
    return this.crew.live;
  }

  /** Workers that die before the first request are no matter of the load. */
  private async dieAtStart(workers: readonly StartedWorker[]): Promise<never> {
    await Promise.race(workers.map(({ ended }) => ended));
    const [dead] = this.crew.lost;
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
