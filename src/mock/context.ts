/** What all parts of one server share. */
import { nowMs, wallClock } from '../record/clock.ts';
import type { Engine } from './engine.ts';
import { type FrameStyle, FrameTemplate, OPENAI_STYLE, type StreamKind, TABBY_STYLE } from './frames.ts';
import { randomHex } from './ids.ts';
import type { MockOptions } from './options.ts';
import type { Pump } from './pump.ts';
import type { Rng } from './rng.ts';
import type { MockStats } from './stats.ts';
import type { TruthStore } from './truth.ts';

/** The wall clock's second, read anew only when it is over: every frame carries it. */
export class WallSecond {
  private second = 0;
  private date = '';
  private validUntilMs = Number.NEGATIVE_INFINITY;

  /** Unix time in whole seconds; `atMs` is a reading of nowMs(). */
  at(atMs: number): number {
    if (atMs >= this.validUntilMs) {
      const now = wallClock();
      const ms = now.getTime();
      this.second = Math.floor(ms / 1000);
      this.date = now.toUTCString();
      this.validUntilMs = atMs + 1000 - (ms % 1000);
    }
    return this.second;
  }

  /** The `date` header, renewed once a second as uvicorn does. */
  header(): string {
    this.at(nowMs());
    return this.date;
  }
}

/** Events that are all due after the same time: a queue instead of an entry each in the heap. */
export class IntervalQueue<T extends object> {
  private readonly pump: Pump;
  private readonly intervalMs: number;
  private readonly fire: (item: T) => boolean;
  private entries: { item: T; due: number; serial: number }[] = [];
  private head = 0;
  private readonly serials = new WeakMap<T, number>();
  private nextSerial = 1;
  private armed = false;

  /** `fire` is called for each item `intervalMs` after it was added; true puts it in again. */
  constructor(pump: Pump, intervalMs: number, fire: (item: T) => boolean) {
    this.pump = pump;
    this.intervalMs = intervalMs;
    this.fire = fire;
  }

  /** Adds an item, counted from `fromMs`, which must not be earlier than that of the one before. Replaces an earlier entry of it. */
  add(item: T, fromMs: number): void {
    const serial = this.nextSerial++;
    this.serials.set(item, serial);
    this.entries.push({ item, due: fromMs + this.intervalMs, serial });
    this.arm();
  }

  /** The item is no longer waited for. */
  remove(item: T): void {
    this.serials.delete(item);
  }

  private arm(): void {
    this.dropDead();
    const first = this.entries[this.head];
    if (this.armed || first === undefined) return;
    this.armed = true;
    this.pump.at(first.due, (now) => {
      this.armed = false;
      this.run(now);
    });
  }

  /** Removed entries at the head go at once, so that the queue is no longer than what is waited for asks. */
  private dropDead(): void {
    for (;;) {
      const first = this.entries[this.head];
      if (first === undefined || this.serials.get(first.item) === first.serial) break;
      this.head++;
    }
    if (this.head > 1024 && this.head * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
  }

  private run(now: number): void {
    for (;;) {
      this.dropDead();
      const first = this.entries[this.head];
      if (first === undefined || first.due > now) break;
      this.head++;
      this.serials.delete(first.item);
      if (this.fire(first.item)) this.add(first.item, first.due);
    }
    this.arm();
  }
}

/** One server's parts. */
export interface MockContext {
  readonly options: MockOptions;
  readonly style: FrameStyle;
  /** Line end of the event stream. */
  readonly lineEnd: string;
  readonly stats: MockStats;
  readonly pump: Pump;
  readonly engine: Engine;
  readonly wall: WallSecond;
  readonly rng: Rng;
  /** Quick token events by kind, for ids made by {@link streamId}. */
  readonly templates: Readonly<Record<StreamKind, FrameTemplate>>;
  readonly truth: TruthStore | null;
  /** Comments of open streams; null without pings. */
  readonly pings: IntervalQueue<{ ping(): boolean }> | null;
  /** What changes: the model in memory, and the failures that /health never forgets. */
  readonly state: { model: string | null; readonly issues: { time: string; description: string }[] };
}

/** The id of a stream: TabbyAPI says `chatcmpl-` for completions too. */
export function streamId(style: MockOptions['style'], kind: StreamKind): string {
  return `${kind === 'chat' || style === 'tabbyapi' ? 'chatcmpl-' : 'cmpl-'}${randomHex(16)}`;
}

/** Forms of frames that follow from the options. */
export function frameForms(options: MockOptions): Pick<MockContext, 'style' | 'lineEnd' | 'templates'> {
  const style = options.style === 'openai' ? OPENAI_STYLE : TABBY_STYLE;
  const lineEnd = options.lineEnd === 'lf' || (options.lineEnd === 'auto' && style === OPENAI_STYLE) ? '\n' : '\r\n';
  const template = (kind: StreamKind): FrameTemplate =>
    new FrameTemplate(style, kind, options.model, lineEnd, streamId(options.style, kind));
  return { style, lineEnd, templates: { chat: template('chat'), completion: template('completion') } };
}

/** Notes a failed generation: /health says 503 from now on. */
export function noteFailure(context: MockContext, description: string): void {
  const { issues } = context.state;
  if (issues.length < 1000) issues.push({ time: pythonTime(wallClock()), description });
}

/** `datetime.isoformat()` in UTC with microseconds and a Z, as pydantic writes it. */
function pythonTime(date: Date): string {
  return `${date.toISOString().slice(0, -1)}000Z`;
}
