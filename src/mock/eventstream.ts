/** The wire side of a streamed answer: its head, its events in their chunks, its pings, its end. */
import { nowMs, wallClock } from '../record/clock.ts';
import type { Exchange } from './connection.ts';
import { type MockContext, streamId } from './context.ts';
import { type FaultKind, phaseOf } from './faults.ts';
import { chunkOf, type EventParts, type StreamKind } from './frames.ts';
import { type Outlet, outlet } from './outlet.ts';
import { eventStreamHead } from './respond.ts';

/** One event stream to one client. */
export class EventStream {
  readonly id: string;
  readonly exchange: Exchange;
  private readonly context: MockContext;
  private readonly kind: StreamKind;
  private readonly fault: FaultKind | null;
  private readonly out: Outlet;

  constructor(context: MockContext, exchange: Exchange, kind: StreamKind, fault: FaultKind | null) {
    this.context = context;
    this.exchange = exchange;
    this.kind = kind;
    this.fault = fault;
    this.id = streamId(context.options.style, kind);
    this.out = outlet(exchange, phaseOf(fault) === 'shape' ? fault : null, context.pump);
  }

  /** Sends the headers, and the opening event of each choice where the style has one. */
  open(choices: number): void {
    const { context, exchange, fault } = this;
    const head = eventStreamHead(context, exchange, fault === 'gzip' ? [['content-encoding', 'gzip']] : []);
    if (fault === 'drip') this.raw(Buffer.from(head));
    else exchange.write(head);
    context.stats.response(200);
    if (fault === 'bom') this.piece('\ufeff');
    if (this.kind !== 'chat') return;
    for (let index = 0; index < choices; index++) {
      const role = context.style.role(this.id, this.second(), context.options.model, index);
      if (role !== null) this.event(role);
    }
  }

  /** Sends a comment that keeps proxies awake, as sse-starlette does. */
  ping(): void {
    const time = wallClock().toISOString();
    const { lineEnd } = this.context;
    // Python tells microseconds; those below a millisecond are made up, so that the length is right.
    const micro = String(Math.floor((nowMs() * 1000) % 1000)).padStart(3, '0');
    this.piece(`: ping - ${time.slice(0, 10)} ${time.slice(11, 23)}${micro}+00:00${lineEnd}${lineEnd}`);
  }

  /** Unix second that an event sent now carries. */
  second(): number {
    return this.context.wall.at(nowMs());
  }

  /** An event of the generation as JSON. */
  text(parts: EventParts): string {
    const { style, options } = this.context;
    return style.event(this.kind, this.id, this.second(), options.model, parts);
  }

  /** Sends a JSON text as an event. */
  event(json: string): void {
    this.raw(this.framed(json));
  }

  /** A JSON text as an event in its chunk. */
  framed(json: string): Buffer {
    const { lineEnd } = this.context;
    return this.chunk(`data: ${json}${lineEnd}${lineEnd}`);
  }

  /** Sends text as a chunk of its own. */
  piece(text: string): void {
    this.raw(this.chunk(text));
  }

  /** Text in its chunk; '' is the last chunk. */
  chunk(text: string): Buffer {
    return this.exchange.chunked ? chunkOf(text) : Buffer.from(text);
  }

  /** Sends bytes as they are. */
  raw(bytes: Buffer): void {
    this.out.send(bytes);
  }

  /** Nothing more comes: goes on to the next request, or ends the connection, when all has been sent. */
  finish(hangUp: boolean): void {
    this.out.flush(() => {
      if (hangUp) this.exchange.hangUp();
      else this.exchange.finish();
    });
  }
}
