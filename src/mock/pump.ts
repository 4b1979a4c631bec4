/**
 * The server's clockwork: one heap, one timer. Deadlines are absolute, so that lateness never adds up. Node's timers work in whole
 * milliseconds and wake up to one late, so the rest below a millisecond is spent in short blocking waits (`precise`), between
 * which sockets are served; without `precise` (the server shares a thread with others) it is left to the timer.
 */
import { nowMs } from '../record/clock.ts';
import { type Due, DueHeap } from './heap.ts';

/** Longest blocking wait: what a request may wait unseen, and the grain in which a dense schedule is worked off. */
const SLICE_MS = 0.25;
/** Node's timer is set this much early, as it may be late by as much. */
const TIMER_EARLY_MS = 1.2;

/** Runs things when they are due. */
export class Pump {
  private readonly heap = new DueHeap();
  private readonly precise: boolean;
  private readonly cell = new Int32Array(new SharedArrayBuffer(4));
  private timer: NodeJS.Timeout | undefined;
  private immediate: NodeJS.Immediate | undefined;
  private armedFor = Number.POSITIVE_INFINITY;
  private running = false;
  private stopped = false;

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

  /** Forgets everything and lets the process end. */
  stop(): void {
    this.stopped = true;
    this.disarm();
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
    const next = this.heap.peek();
    if (next === undefined || this.stopped) return;
    this.armedFor = next.due;
    const wait = next.due - nowMs();
    const early = this.precise ? TIMER_EARLY_MS : 0;
    if (wait > early + 1) this.timer = setTimeout(this.turn, Math.floor(wait - early));
    else if (this.precise || wait <= 0) this.immediate = setImmediate(this.turn);
    else this.timer = setTimeout(this.turn, 1);
  }

  /** One turn of the event loop: everything due when it begins is done in it. */
  private readonly turn = (): void => {
    this.timer = undefined;
    this.immediate = undefined;
    this.armedFor = Number.POSITIVE_INFINITY;
    if (this.precise) this.wait();
    const until = nowMs();
    this.running = true;
    for (let next = this.heap.peek(); next !== undefined && next.due <= until; next = this.heap.peek()) {
      this.heap.pop();
      next.fire(until);
      if (this.stopped) break;
    }
    this.running = false;
    this.arm();
  };

  private wait(): void {
    const next = this.heap.peek();
    if (next === undefined) return;
    const rest = next.due - nowMs();
    if (rest > 0.02) Atomics.wait(this.cell, 0, 0, Math.min(rest, SLICE_MS));
  }
}
