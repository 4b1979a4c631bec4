/**
 * The worker threads of a run: starts them, takes what they ship, and replaces those that die. What a dead one had in its hands is read
 * from shared memory and recorded as lost; what it had finished and not shipped is recorded as it was.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { messageOf } from '../errors.ts';
import { monotonicOffsetMs, nowMs } from '../record/clock.ts';
import { decodeRequests, encodeRequest } from '../record/codec.ts';
import { LIVE_BYTES, type LiveLatency, liveLatencies } from '../record/live-counts.ts';
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
import { compileLater } from './compile-later.ts';
import { leftBehind } from './record-batch.ts';
import { WorkView } from './shared-work.ts';

/** What the workers are to do, and who is told of it. */
export interface CrewPlan {
  readonly target: Target;
  readonly timeouts: Timeouts;
  readonly work: SharedWork;
  /** Add slots when all are busy (open loop without a bound). */
  readonly canGrow: boolean;
  readonly workers: number;
  /** See {@link WorkOrder}. */
  readonly pausesWhenGone: boolean;
  /** `--max-errors`; null or left out: no limit. */
  readonly maxErrors?: number | null;
  /** Somebody looks at latencies and health while the run goes on ({@link Crew.live}); without it they are not counted. */
  readonly isWatched?: boolean;
  /** Records as they arrive, encoded and read. */
  onRecords(bytes: Uint8Array, records: readonly RequestRecord[]): void;
  /** A worker thread died. */
  onWorkerLost?(lost: LostWorker): void;
}

/** A worker that died, and what became of its part. */
export interface LostWorker {
  readonly worker: number;
  readonly reason: string;
  /** Requests that it had in flight. */
  readonly requests: number;
  /** Another one takes over its slots. */
  readonly isReplaced: boolean;
}

/** What the workers say of themselves while a run goes on. */
export interface CrewLive {
  /** Of every stream so far, those under way and those that failed too; null before there is one. */
  readonly ttft: LiveLatency | null;
  readonly itl: LiveLatency | null;
  /** Times in ms, busy share 0..1. */
  readonly workers: readonly {
    readonly worker: number;
    readonly loopMaxMs: number;
    readonly loopP99Ms: number;
    readonly utilisation: number;
  }[];
}

/** A worker that says that its connections are open, or why not. */
export type WorkerReady = Extract<WorkerMessage, { type: 'ready' }>;

/** A worker, as its coordinator waits for it. */
export interface StartedWorker {
  readonly post: WorkerPost;
  /** Its connections are open; null when it died before. */
  readonly ready: Promise<WorkerReady | null>;
  /** It, and whoever took over from it, has come to the end. */
  readonly ended: Promise<void>;
}

/** What is known of one worker. */
interface WorkerPost {
  readonly worker: number;
  readonly slots: number;
  readonly port: MessagePort;
  readonly progress: Float64Array;
  readonly live: SharedArrayBuffer | null;
  /** Records that it has not shipped yet. */
  outbox: SharedArrayBuffer | null;
}

/**
 * Young generation of a worker. Hardly anything is allocated per token, so a small one is enough: it saves 30 MB, and on Node 24 and newer
 * it removes most of the tail that garbage collection puts on arrivals.
 */
const YOUNG_GENERATION_MB = 2;
/** Workers that may be replaced in a run, beyond one for each: what kills more than that kills every one. */
const SPARE_REPLACEMENTS = 3;
/** The last messages of a dead thread are waited for so long, ms, should its port never close. */
const LAST_WORDS_MS = 2000;

/** A worker that has written no counts for so long, ms, writes none any more. */
const STILL_MS = 1000;

/** See above. */
export class Crew {
  readonly health: WorkerHealth[] = [];
  /** Encoded histograms, one per worker that came to its end. */
  readonly histograms: Uint8Array[] = [];
  readonly lost: LostWorker[] = [];
  /** End of the last request, ms. */
  lastEndMs = 0;
  /** Shift from the run's clock to the system's monotonic clock, ms. */
  readonly clockOffsetMs = monotonicOffsetMs();

  private readonly plan: CrewPlan;
  private readonly control: SharedArrayBuffer;
  private readonly cells: Int32Array;
  private readonly claims: SharedClaims;
  private readonly ledger: ClaimLedger;
  private readonly posts: WorkerPost[] = [];
  private readonly pool: Piscina;
  private replacementsLeft: number;
  private startMs = Number.NaN;

  /** @param control the shared control block, see {@link CONTROL} */
  constructor(plan: CrewPlan, control: SharedArrayBuffer) {
    this.plan = plan;
    this.control = control;
    this.cells = new Int32Array(control);
    this.claims = makeClaims(plan.work.count);
    this.ledger = new ClaimLedger(this.claims);
    this.replacementsLeft = plan.workers + SPARE_REPLACEMENTS;
    this.pool = newPool(plan.workers);
  }

  /**
   * Starts a worker with so many slots.
   * @param firstIndex a request for it that is claimed already, −1 = none
   */
  start(slots: number, firstIndex = -1): StartedWorker {
    const { plan } = this;
    const worker = this.posts.length;
    const { port1, port2 } = new MessageChannel();
    const progress = new SharedArrayBuffer(PROGRESS.cells * 8);
    const live = plan.isWatched === true ? new SharedArrayBuffer(LIVE_BYTES) : null;
    const post: WorkerPost = { worker, slots, port: port1, progress: new Float64Array(progress), live, outbox: null };
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
      live,
      claims: this.claims,
      firstIndex,
      pausesWhenGone: plan.pausesWhenGone,
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
      (error: unknown) => Promise.race([closed, sleep(LAST_WORDS_MS)]).then(() => this.replace(post, messageOf(error))),
    );
    return { post, ended, ready };
  }

  /** The clock has started: requests may be sent. */
  go(startMs: number): void {
    this.startMs = startMs;
    this.lastEndMs = startMs;
    for (const post of this.posts) this.giveTheWord(post);
  }

  /** Token frames seen so far by all workers. */
  get tokenFrames(): number {
    return this.sum(PROGRESS.tokenFrames);
  }

  /** Mean time to first token and mean gap of the streams under way, ms; null before there are any. */
  get underWay(): { readonly ttftMs: number | null; readonly itlMs: number | null } {
    const first = this.sum(PROGRESS.firstTokens);
    const gaps = this.sum(PROGRESS.gaps);
    return {
      ttftMs: first > 0 ? this.sum(PROGRESS.ttftMs) / first : null,
      itlMs: gaps > 0 ? this.sum(PROGRESS.gapsMs) / gaps : null,
    };
  }

  /** Token frames of requests that have ended. */
  get framesOfEnded(): number {
    return this.sum(PROGRESS.framesOfEnded);
  }

  /**
   * The moment that the counts of frames stand for, ms: workers write them a few times a second, each when it comes to it. Those that have
   * come to their end do not count.
   */
  get countedMs(): number {
    const written = this.posts.map(({ progress }) => progress[PROGRESS.writtenMs] as number);
    const latest = Math.max(...written);
    const going = written.filter((ms) => ms > latest - STILL_MS);
    return going.reduce((sum, ms) => sum + ms, 0) / Math.max(1, going.length);
  }

  /** See {@link CrewLive}; without figures unless the plan says that they are watched. */
  get live(): CrewLive {
    const memories = this.posts.map(({ live }) => live).filter((live) => live !== null);
    const workers = this.posts.map(({ worker, progress }) => ({
      worker,
      loopMaxMs: progress[PROGRESS.loopMaxMs] as number,
      loopP99Ms: progress[PROGRESS.loopP99Ms] as number,
      utilisation: progress[PROGRESS.utilisation] as number,
    }));
    return { ...liveLatencies(memories), workers };
  }

  private sum(cell: number): number {
    return this.posts.reduce((sum, { progress }) => sum + (progress[cell] as number), 0);
  }

  async destroy(): Promise<void> {
    await this.pool.destroy();
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
    const next = this.start(post.slots, inHand);
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
}

function newPool(workers: number): Piscina {
  compileLater();
  const pool = new Piscina({
    filename: workerFile(),
    minThreads: workers,
    maxThreads: workers,
    concurrentTasksPerWorker: 1,
    // Otherwise an idle thread blocks in Atomics.wait, and its sockets and timers with it.
    atomics: 'disabled',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  // A thread that dies without a task of ours: nothing is lost by it.
  pool.on('error', () => undefined);
  return pool;
}

/** The worker's file: beside this one when bundled, else (under a test runner, from the sources) in the build. */
function workerFile(): string {
  const here = fileURLToPath(import.meta.url);
  return here.endsWith('.ts')
    ? fileURLToPath(new URL('../../dist/worker.js', import.meta.url))
    : fileURLToPath(new URL('./worker.js', import.meta.url));
}
