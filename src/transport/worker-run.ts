/**
 * What one worker thread does from start to end: opens its connections, hands requests to free slots, watches over time limits,
 * and ships records a few times a second.
 */
import type { MessagePort } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import type { AnswerReader } from '../record/answer.ts';
import { nowMs } from '../record/clock.ts';
import { encodeRequest } from '../record/codec.ts';
import { LiveCounts } from '../record/live-counts.ts';
import {
  CONTROL,
  type CoordinatorMessage,
  PROGRESS,
  STOP,
  type Target,
  type WorkerMessage,
  type WorkOrder,
} from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import { ClaimBook } from './claims.ts';
import { ConnectionPlace } from './connection.ts';
import { HealthMonitor } from './health.ts';
import { signOfAbsence } from './outage.ts';
import { type Exchange, GivenUp, recordOf } from './outcome.ts';
import { ReadClock } from './read-clock.ts';
import { RecordBatch } from './record-batch.ts';
import { WorkView } from './shared-work.ts';
import { Slot, type SlotHost } from './slot.ts';
import { overdue } from './time-limits.ts';

/**
 * Requests handed to sockets per turn of the event loop. A burst of a thousand takes tens of milliseconds; between its parts the
 * loop must get to read, or the answers to the first requests wait for the last to be sent.
 */
const SENDS_PER_TURN = 8;
/** Connections being opened at the same time. */
const OPENING_AT_ONCE = 64;
/** How often flags, time limits and the outbox are looked at, ms. */
const TICK_MS = 100;
/** Records of this many bytes go at once: what waits for the next tick should not grow with the number of requests that end together. */
const SHIP_BYTES = 256 * 1024;
/** Within this of its planned time a request is awaited turn by turn, because timers are only good to a millisecond. */
const SPIN_MS = 1.5;

/** Parts of later stages that `worker.ts` puts in. */
export interface WorkerParts {
  newReader(): AnswerReader;
  /** Histograms of this worker: takes each success, and yields their bytes at the end. */
  readonly measures: { add(record: RequestRecord): void; encode(): Uint8Array };
}

/** Runs a work order to its end. The promise resolves after the last record was shipped. */
export async function runWorker(order: WorkOrder, parts: WorkerParts): Promise<void> {
  await new WorkerRun(order, parts).run();
}

class WorkerRun implements SlotHost {
  readonly target: Target;
  readonly work: WorkView;
  readonly worker: number;
  startMs = 0;

  private readonly order: WorkOrder;
  private readonly port: MessagePort;
  private readonly control: Int32Array;
  private readonly progress: Float64Array;
  private readonly live: LiveCounts | null;
  private readonly place: ConnectionPlace;
  private readonly slots: Slot[] = [];
  private readonly free: Slot[] = [];
  private readonly batch: RecordBatch;
  private readonly claims: ClaimBook;
  private readonly parts: WorkerParts;
  private readonly health = new HealthMonitor();
  private readonly onTurn = (): void => {
    this.isTurnAsked = false;
    this.sendSome();
  };
  private gaps = new Float64Array(1024);
  private claimed = -1;
  private hasMore = true;
  private isPaused = false;
  private isTurnAsked = false;
  private dueTimer: NodeJS.Timeout | null = null;
  private sawUsage = false;
  private framesOfEnded = 0;
  private lastEndMs = 0;
  private busy = 0;
  private finished: (() => void) | null = null;

  constructor(order: WorkOrder, parts: WorkerParts) {
    this.parts = parts;
    this.order = order;
    this.target = order.target;
    this.worker = order.worker;
    this.work = new WorkView(order.work);
    this.port = order.port;
    this.batch = new RecordBatch((memory) => this.say({ type: 'outbox', memory }));
    this.control = new Int32Array(order.control);
    this.progress = new Float64Array(order.progress);
    this.live = order.live === null ? null : new LiveCounts(order.live);
    this.claims = new ClaimBook(order.claims, order.worker);
    this.claimed = order.firstIndex;
    this.place = new ConnectionPlace(order.target, new ReadClock(), order.timeouts.connectMs);
    for (let i = 0; i < order.slots; i++) this.slots.push(new Slot(this, this.place));
  }

  async run(): Promise<void> {
    await this.openConnections();
    this.startMs = await this.untilStart();
    this.health.begin();
    this.free.push(...this.slots.toReversed());
    const ticker = setInterval(() => this.tick(), TICK_MS);
    await new Promise<void>((resolve) => {
      this.finished = resolve;
      this.sendSome();
      this.finishIfDone();
    });
    clearInterval(ticker);
    this.ship();
    for (const slot of this.slots) slot.connection.destroy();
    const health = this.health.end(this.worker, this.slots.length, this.place);
    this.say({ type: 'end', worker: this.worker, health, histograms: this.parts.measures.encode() });
    this.port.close();
  }

  newReader(): AnswerReader {
    return this.parts.newReader();
  }

  keepsText(): boolean {
    const { keepText } = this.target;
    return keepText === 'always' || (keepText === 'until-usage' && !this.sawUsage);
  }

  maySendAgain(): boolean {
    const stop = Atomics.load(this.control, CONTROL.stop);
    return stop === STOP.run || stop === STOP.pause;
  }

  started(slot: Slot): void {
    const { control } = this;
    this.claims.sent(slot.index, slot.startMs);
    const inFlight = Atomics.add(control, CONTROL.inFlight, 1) + 1;
    let max = Atomics.load(control, CONTROL.maxInFlight);
    while (inFlight > max) {
      const seen = Atomics.compareExchange(control, CONTROL.maxInFlight, max, inFlight);
      if (seen === max) break;
      max = seen;
    }
    // Waiting for a slot is the plan of a closed loop, not lateness of ours.
    this.health.sent(slot.startMs - Math.max(this.startMs + this.work.plannedMs(slot.index), slot.freeSinceMs));
  }

  ended(slot: Slot, exchange: Exchange): void {
    const { stream } = slot;
    if (stream.tokenFrames > this.gaps.length) this.gaps = new Float64Array(stream.tokenFrames * 2);
    const record = recordOf(exchange, stream, this.target, this.order.clockOffsetMs, this.gaps);
    this.batch.add(encodeRequest(record));
    if (this.batch.size >= SHIP_BYTES) this.ship();
    this.claims.ended(exchange.index, record.success);
    if (slot.isSent) Atomics.sub(this.control, CONTROL.inFlight, 1);
    Atomics.add(this.control, record.success ? CONTROL.completed : CONTROL.failed, 1);
    if (record.success) this.parts.measures.add(record);
    else this.noteFailure(record);
    if (stream.usage !== null) this.sawUsage = true;
    this.health.ended(record);
    this.framesOfEnded += stream.tokenFrames;
    this.live?.take(stream, slot.startMs, slot.counted);
    slot.counted = 0;
    this.lastEndMs = Math.max(this.lastEndMs, exchange.endMs);
    this.busy--;
    slot.freeSinceMs = exchange.endMs;
    this.free.push(slot);
    this.askTurn();
  }

  private async openConnections(): Promise<void> {
    let next = 0;
    let failed = 0;
    let firstError: unknown = null;
    const openOn = async (): Promise<void> => {
      while (next < this.slots.length) {
        const slot = this.slots[next++] as Slot;
        try {
          await slot.connection.prepare();
        } catch (error) {
          failed++;
          firstError ??= error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(OPENING_AT_ONCE, this.slots.length) }, openOn));
    const connectError = firstError === null ? null : messageOf(firstError);
    this.say({ type: 'ready', worker: this.worker, failedConnections: failed, connectError });
  }

  private untilStart(): Promise<number> {
    return new Promise((resolve) => {
      this.port.once('message', (message: CoordinatorMessage) => resolve(message.startMs));
    });
  }

  private askTurn(): void {
    if (this.isTurnAsked) return;
    this.isTurnAsked = true;
    setImmediate(this.onTurn);
  }

  /** Gives due requests to free slots, a few per turn of the loop. */
  private sendSome(): void {
    for (let sent = 0; sent < SENDS_PER_TURN; sent++) {
      if (!this.claimNext()) break;
      const waitMs = this.startMs + this.work.plannedMs(this.claimed) - nowMs();
      if (waitMs > 0) {
        this.waitForDue(waitMs);
        return;
      }
      const slot = this.freeSlot();
      if (slot === null) return;
      const index = this.claimed;
      this.claims.take(index);
      this.hold(-1);
      this.busy++;
      slot.send(index);
    }
    if (this.hasMore && this.free.length > 0 && !this.isPaused) this.askTurn();
    this.finishIfDone();
  }

  /** The request in hand, where a coordinator can see it. */
  private hold(index: number): void {
    this.claimed = index;
    this.progress[PROGRESS.inHand] = index + 1;
  }

  /** Makes sure that a request is claimed for this worker, if there is one and a slot to send it on. */
  private claimNext(): boolean {
    const stop = Atomics.load(this.control, CONTROL.stop);
    this.isPaused = stop === STOP.pause;
    if (stop !== STOP.run) {
      if (!this.isPaused) this.stopSending();
      return false;
    }
    if (this.isSpoilt) return false;
    if (this.claimed >= 0) return true;
    if (!this.hasMore || (this.free.length === 0 && !this.order.canGrow)) return false;
    const index = Atomics.add(this.control, CONTROL.cursor, 1);
    if (index >= this.work.count) {
      this.hasMore = false;
      return false;
    }
    this.hold(index);
    return true;
  }

  /** So much has failed that the run is over: the coordinator ends it as soon as it hears of it. */
  private get isSpoilt(): boolean {
    const most = Atomics.load(this.control, CONTROL.mostFailed);
    return most > 0 && Atomics.load(this.control, CONTROL.spoilt) >= most;
  }

  private freeSlot(): Slot | null {
    const slot = this.free.pop();
    if (slot !== undefined) return slot;
    if (!this.order.canGrow) return null;
    const added = new Slot(this, this.place);
    this.slots.push(added);
    return added;
  }

  private waitForDue(waitMs: number): void {
    if (waitMs <= SPIN_MS) {
      this.askTurn();
      return;
    }
    if (this.dueTimer !== null) return;
    this.dueTimer = setTimeout(() => {
      this.dueTimer = null;
      this.sendSome();
    }, waitMs - SPIN_MS);
  }

  private finishIfDone(): void {
    if (this.hasMore || this.claimed >= 0 || this.busy > 0) return;
    this.finished?.();
    this.finished = null;
  }

  private tick(): void {
    const stop = Atomics.load(this.control, CONTROL.stop);
    if (stop === STOP.drain || stop === STOP.abort) this.stopSending();
    else if (this.isPaused) this.sendSome();
    let frames = this.framesOfEnded;
    let first = 0;
    let ttftMs = 0;
    let gaps = 0;
    let gapsMs = 0;
    const now = nowMs();
    const absentMs = Atomics.load(this.control, CONTROL.absentMs);
    const absentSinceMs = absentMs === 0 ? Number.NaN : this.startMs + absentMs;
    for (const slot of this.slots) {
      if (!slot.isBusy) continue;
      const { tokenFrames, times } = slot.stream;
      frames += tokenFrames;
      if (this.live !== null) slot.counted = this.live.take(slot.stream, slot.startMs, slot.counted);
      if (tokenFrames > 0) {
        const firstMs = times[0] as number;
        first++;
        ttftMs += firstMs - slot.startMs;
        gaps += tokenFrames - 1;
        gapsMs += (times[tokenFrames - 1] as number) - firstMs;
      }
      const reason =
        stop === STOP.abort
          ? new GivenUp('aborted', 'given up: the run was ended')
          : slot.isSent
            ? overdue(slot, now, this.order.timeouts, absentSinceMs)
            : null;
      if (reason !== null) slot.giveUp(reason);
    }
    const { progress } = this;
    progress[PROGRESS.tokenFrames] = frames;
    progress[PROGRESS.firstTokens] = first;
    progress[PROGRESS.ttftMs] = ttftMs;
    progress[PROGRESS.gaps] = gaps;
    progress[PROGRESS.gapsMs] = gapsMs;
    progress[PROGRESS.framesOfEnded] = this.framesOfEnded;
    progress[PROGRESS.writtenMs] = now;
    if (this.live !== null) this.noteHealth();
    this.ship();
    this.finishIfDone();
  }

  private noteHealth(): void {
    const { loopMaxMs, loopP99Ms, utilisation } = this.health.soFar;
    this.progress[PROGRESS.loopMaxMs] = loopMaxMs;
    this.progress[PROGRESS.loopP99Ms] = loopP99Ms;
    this.progress[PROGRESS.utilisation] = utilisation;
  }

  /** Claimed but not yet due: given back as never sent. */
  private stopSending(): void {
    this.hasMore = false;
    this.hold(-1);
    for (const slot of this.slots) slot.stopRetrying();
    if (this.dueTimer !== null) clearTimeout(this.dueTimer);
    this.dueTimer = null;
  }

  /** Signs that the server is gone stop the sending at once: a refused connection fails in a millisecond, and with it the next. */
  private noteFailure(record: RequestRecord): void {
    if (record.error_kind !== 'aborted') Atomics.add(this.control, CONTROL.spoilt, 1);
    if (!this.order.pausesWhenGone) return;
    const sign = signOfAbsence(record);
    if (sign === 'none') return;
    if (sign === 'weak' && Atomics.load(this.control, CONTROL.mayPause) === 0) return;
    Atomics.compareExchange(this.control, CONTROL.stop, STOP.run, STOP.pause);
  }

  private ship(): void {
    const bytes = this.batch.take();
    if (bytes === null) return;
    this.say({ type: 'records', worker: this.worker, bytes, lastEndMs: this.lastEndMs }, [bytes.buffer as ArrayBuffer]);
    this.batch.clear();
  }

  private say(message: WorkerMessage, transfer: ArrayBuffer[] = []): void {
    this.port.postMessage(message, transfer);
  }
}
