/**
 * A slot: one connection that carries one request at a time. It takes the next request, sends it, feeds the answer to its stream,
 * judges the ending and goes on. The methods named `on…` are undici's handler, called on the hot path; nothing in
 * them allocates per token.
 */
import type { Dispatcher } from 'undici';
import { codeOf } from '../errors.ts';
import type { AnswerReader } from '../record/answer.ts';
import { nowMs } from '../record/clock.ts';
import type { Target } from '../record/messages.ts';
import { Connection, type ConnectionPlace } from './connection.ts';
import { type Exchange, type GivenUp, WORDS_LIMIT } from './outcome.ts';
import type { WorkView } from './shared-work.ts';

/** Enough for the words that are kept, in any encoding. */
const BODY_TEXT_BYTES = 4 * WORDS_LIMIT;

/** What a slot needs of its worker. */
export interface SlotHost {
  readonly target: Target;
  readonly work: WorkView;
  readonly worker: number;
  /** Start of the run, ms. */
  readonly startMs: number;
  /** A reader for a slot's answers. */
  newReader(): AnswerReader;
  /** Should the text of a request that starts now be kept? */
  keepsText(): boolean;
  /** A request was handed to its socket. */
  started(slot: Slot): void;
  /** A request has ended; the slot is free when this returns. */
  ended(slot: Slot, exchange: Exchange): void;
}

/** See above. Made once per slot of a run. */
export class Slot implements Dispatcher.DispatchHandler {
  readonly stream: AnswerReader;
  readonly connection: Connection;
  /** A request is under way: handed out, not ended. */
  isBusy = false;
  /** The request was handed to the socket. */
  isSent = false;
  /** Since when the slot could take a request; −Infinity before the first. */
  freeSinceMs = Number.NEGATIVE_INFINITY;
  /** When it was handed to the socket the first time, ms; NaN before. */
  startMs = Number.NaN;

  private readonly host: SlotHost;
  private readonly place: ConnectionPlace;
  /** Sample under way. */
  index = -1;
  private controller: Dispatcher.DispatchController | null = null;
  private status = 0;
  private statusText = '';
  private contentType = '';
  private isEventStream = false;
  private firstByteMs = Number.NaN;
  private bodyText = '';
  private isStale = false;
  private expectsReuse = false;
  private keptText = false;
  private connectMs = Number.NaN;
  private givenUp: GivenUp | null = null;

  constructor(host: SlotHost, place: ConnectionPlace) {
    this.host = host;
    this.place = place;
    this.stream = host.newReader();
    this.connection = new Connection(place, (bytes, start, end) => {
      // After a fault the bytes until the end are of no use; breaking off follows.
      if (this.controller !== null) this.takeBody(this.controller, bytes, start, end);
    });
  }

  /** Sends request `index`. The slot must not be busy. */
  send(index: number): void {
    this.index = index;
    this.isBusy = true;
    this.isStale = false;
    this.givenUp = null;
    this.startMs = Number.NaN;
    this.connectMs = Number.NaN;
    this.keptText = this.host.keepsText();
    this.stream.begin(this.host.target.form, this.keptText, 0);
    this.dispatch();
  }

  /** Ends the request under way for a reason of ours. */
  giveUp(reason: GivenUp): void {
    if (!this.isBusy || this.givenUp !== null) return;
    this.givenUp = reason;
    if (this.controller !== null) this.controller.abort(reason);
    else this.connection.destroy();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    const ms = nowMs();
    const { connection } = this;
    if (!connection.isReused) {
      this.connectMs = connection.connectMs;
      // The former connection was to be kept, and yet a new one was needed: the server had closed it.
      if (this.expectsReuse) this.isStale = true;
    }
    if (Number.isNaN(this.startMs)) {
      this.startMs = ms;
      this.isSent = true;
      this.host.started(this);
    }
    this.stream.begin(this.host.target.form, this.keptText, ms);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    statusText?: string,
  ): void {
    if (status < 200) return;
    this.firstByteMs = this.place.clock.atMs;
    this.status = status;
    this.statusText = statusText ?? '';
    this.contentType = String(headers['content-type'] ?? '');
    // Servers that name no type, or text/plain, may still send events; what says JSON or HTML does not.
    this.isEventStream = status === 200 && !/json|html/i.test(this.contentType);
    const isPlainChunked = headers['transfer-encoding'] === 'chunked' && headers['content-encoding'] === undefined;
    if (this.isEventStream && isPlainChunked) this.connection.tapBody();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.isEventStream) {
      if (this.bodyText.length < BODY_TEXT_BYTES) this.bodyText += chunk.toString('latin1', 0, BODY_TEXT_BYTES);
      return;
    }
    this.takeBody(controller, chunk, 0, chunk.length);
  }

  /** Bytes of an event stream, from the parser or past it. */
  private takeBody(controller: Dispatcher.DispatchController, bytes: Buffer, start: number, end: number): void {
    const { stream } = this;
    const { clock } = this.place;
    stream.feed(bytes, clock.atMs, clock.read, start, end);
    // After an error frame the server ends the body itself; what cannot be read any further is broken off.
    if (stream.fault !== null && stream.fault.kind !== 'stream_error') controller.abort(new Error(stream.fault.kind));
  }

  onResponseEnd(): void {
    this.stream.end();
    this.finish(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.isBusy) return;
    if (this.isStaleFailure(error)) {
      this.isStale = true;
      this.dispatch();
      return;
    }
    if (this.status === 200) this.stream.end();
    this.finish(error);
  }

  private dispatch(): void {
    const { host, connection, index } = this;
    const { target } = host;
    this.controller = null;
    this.status = 0;
    this.statusText = '';
    this.contentType = '';
    this.isEventStream = false;
    this.firstByteMs = Number.NaN;
    this.bodyText = '';
    connection.beginRequest();
    const id = host.work.requestId(index);
    const headers = id === '' ? target.headers : [...target.headers, 'x-request-id', id];
    const request = {
      path: target.path,
      method: 'POST',
      headers: headers as string[],
      body: host.work.body(index),
    } as const;
    try {
      connection.client.dispatch(request, this);
    } catch (error) {
      // E.g. the client was destroyed by an abort while it was connecting.
      this.onResponseError(null as unknown as Dispatcher.DispatchController, error as Error);
    }
  }

  /** A kept connection turned out to be closed before any byte came back: worth one more try, once. */
  private isStaleFailure(error: Error): boolean {
    if (this.isStale || this.givenUp !== null || !this.connection.isReused || !Number.isNaN(this.firstByteMs))
      return false;
    return this.isSent && /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(codeOf(error));
  }

  private finish(error: unknown): void {
    const { host, index, startMs } = this;
    const endMs = error === null ? this.place.clock.atMs : nowMs();
    const arrivalMs = host.startMs + host.work.plannedMs(index);
    const exchange: Exchange = {
      index,
      worker: host.worker,
      requestId: host.work.requestId(index),
      category: host.work.category(index),
      promptLen: host.work.promptLen(index),
      outputLen: host.work.outputLen(index),
      arrivalMs,
      startMs: Number.isNaN(startMs) ? Math.max(arrivalMs, host.startMs) : startMs,
      firstByteMs: this.firstByteMs,
      endMs,
      status: this.status,
      statusText: this.statusText,
      contentType: this.contentType,
      bodyText: Buffer.from(this.bodyText, 'latin1').toString(),
      wasSent: this.isSent,
      origin: host.target.origin,
      error: this.givenUp ?? error,
      connectMs: this.connectMs,
      isStaleReconnect: this.isStale,
      keptText: this.keptText,
    };
    this.expectsReuse = error === null;
    this.connection.endRequest();
    host.ended(this, exchange);
    this.isSent = false;
    this.isBusy = false;
    this.controller = null;
  }
}
