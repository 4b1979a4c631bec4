/**
 * The server's clockwork: one heap, one timer. Deadlines are absolute, so that lateness never adds up. Node's timers work in whole
 * milliseconds and wake up to one late, so the rest below a millisecond is spent in short blocking waits (`precise`), between
 * which sockets are served; without `precise` (the server shares a thread with others) it is left to the timer.
 *
 * Work without a deadline (reading requests) is done one piece at a time whenever nothing is due: a thousand requests that arrive at
 * once must not delay the frames of the streams that run.
 */
import { nowMs } from '../record/clock.ts';
import { type Due, DueHeap } from './heap.ts';

/** Longest blocking wait: what a request may wait unseen. */
const SLICE_MS = 0.25;
/** Shortest time between two turns: a dense schedule is worked off in this grain, as each turn costs a look at all sockets. */
const GRAIN_MS = 0.2;
/** Waits shorter than this are not worth the call. */
const SHORTEST_WAIT_MS = 0.02;
/** Node's timer is set this much early, as it may be late by as much. */
const TIMER_EARLY_MS = 1.2;
/** After this long in work without a deadline, sockets are looked at. */
const BACKLOG_SLICE_MS = 1;

/** What has no time between its steps (tokens without pause) is due again at once: sockets are looked at after this long all the same. */
const LONGEST_TURN_MS = 10;
/** Items between two looks at the clock. */
const FIRES_PER_LOOK = 256;

/** Runs things when they are due. */
export class Pump {
  private readonly heap = new DueHeap();
  private readonly precise: boolean;
  private readonly cell = new Int32Array(new SharedArrayBuffer(4));
  private backlog: (() => void)[] = [];
  private backlogHead = 0;
  private timer: NodeJS.Timeout | undefined;
  private immediate: NodeJS.Immediate | undefined;
  /** When the timer or immediate that is set will run the next turn; Infinity when none is. */
  private armedFor = Number.POSITIVE_INFINITY;
  private running = false;
  private stopped = false;
  private lastTurnMs = 0;

  constructor(precise: boolean) {
    this.precise = precise;
  }

  /** Queues an item; it must not be queued already. */
  add(item: Due): void {
    this.heap.push(item);
    if (!this.running && item.due < this.armedFor) this.arm();
  }

  /** Calls back once at `due`. */
  at(due: number, call: (now: number) => void): void {
    this.add({ due, fire: call });
  }

  /** Does a piece of work as soon as nothing is due, in order. */
  soon(work: () => void): void {
    this.backlog.push(work);
    if (!this.running && this.armedFor > Number.NEGATIVE_INFINITY) this.arm();
  }

  /** Forgets everything and lets the process end. */
  stop(): void {
    this.stopped = true;
    this.disarm();
  }

  private get hasBacklog(): boolean {
    return this.backlogHead < this.backlog.length;
  }

  private disarm(): void {
    if (this.timer !== undefined) clearTimeout(this.timer);
    if (this.immediate !== undefined) clearImmediate(this.immediate);
    this.timer = undefined;
    this.immediate = undefined;
    this.armedFor = Number.POSITIVE_INFINITY;
  }

  private arm(): void {
    this.disarm();
    const next = this.hasBacklog ? Number.NEGATIVE_INFINITY : this.heap.nextDue;
    if (next === Number.POSITIVE_INFINITY || this.stopped) return;
    this.armedFor = next;
    const wait = next - nowMs();
    const early = this.precise ? TIMER_EARLY_MS : 0;
    if (wait > early + 1) this.timer = setTimeout(this.turn, Math.floor(wait - early));
    else if (this.precise || wait <= 0) this.immediate = setImmediate(this.turn);
    else this.timer = setTimeout(this.turn, 1);
  }

  /** One turn of the event loop: everything due when it begins is done in it, as far as it does not take too long. */
  private readonly turn = (): void => {
    this.timer = undefined;
    this.immediate = undefined;
    this.armedFor = Number.POSITIVE_INFINITY;
    if (this.precise && !this.hasBacklog) this.wait();
    const begun = nowMs();
    this.lastTurnMs = begun;
    this.running = true;
    try {
      this.fireDue(begun);
      while (this.hasBacklog && !this.stopped) {
        this.workOne();
        const now = nowMs();
        this.fireDue(now);
        if (now - begun > BACKLOG_SLICE_MS) break;
      }
    } finally {
      this.running = false;
      this.arm();
    }
  };

  private fireDue(until: number): void {
    let left = FIRES_PER_LOOK;
    while (this.heap.nextDue <= until && !this.stopped) {
      this.heap.pop()?.fire(until);
      if (--left > 0) continue;
      left = FIRES_PER_LOOK;
      if (nowMs() - until > LONGEST_TURN_MS) return;
    }
  }

  private workOne(): void {
    const work = this.backlog[this.backlogHead++];
    if (this.backlogHead > 256 && this.backlogHead * 2 > this.backlog.length) {
      this.backlog = this.backlog.slice(this.backlogHead);
      this.backlogHead = 0;
    }
    work?.();
  }

  private wait(): void {
    const rest = Math.max(this.heap.nextDue, this.lastTurnMs + GRAIN_MS) - nowMs();
    if (rest > SHORTEST_WAIT_MS) Atomics.wait(this.cell, 0, 0, Math.min(rest, SLICE_MS));
  }
}
