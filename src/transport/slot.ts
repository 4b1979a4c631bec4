/**
 * A slot: one connection that carries one request at a time. It takes the next request, sends it, feeds the answer to its stream,
 * judges the ending and goes on. The methods named `on…` are undici's handler, called on the hot path; nothing in
 * them allocates per token.
 */
import type { Dispatcher } from 'undici';
import { codeOf, messageOf } from '../errors.ts';
import type { AnswerReader } from '../record/answer.ts';
import { nowMs, wallClock } from '../record/clock.ts';
import type { Target } from '../record/messages.ts';
import { Connection, type ConnectionPlace } from './connection.ts';
import { ContentDecoder } from './content-decoder.ts';
import { Incoming } from './incoming.ts';
import { type Exchange, type GivenUp, Undecodable } from './outcome.ts';
import { mayBeRetried, retryWaitMs } from './retry.ts';
import type { WorkView } from './shared-work.ts';

/**
 * A server that closed a connection as idle shows it within the way there and back. What breaks later than this after sending was
 * broken by what the server did with the request, which is then not sent a second time.
 */
const STALE_WITHIN_MS = 5000;

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
  /** May a request be sent again? Not while the run is being ended. */
  maySendAgain(): boolean;
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
  /** Token frames of the request under way that the live counts have. */
  counted = 0;

  private readonly host: SlotHost;
  private readonly place: ConnectionPlace;
  /** Sample under way. */
  index = -1;
  private controller: Dispatcher.DispatchController | null = null;
  /** What has come back of the present try. */
  private readonly incoming = new Incoming();
  private decoder: ContentDecoder | null = null;
  /** The present try was handed to the socket, and when. */
  private isOnWire = false;
  private wireMs = Number.NaN;
  private isStale = false;
  private expectsReuse = false;
  private keptText = false;
  private connectMs = Number.NaN;
  private givenUp: GivenUp | null = null;
  private retries = 0;
  private retryWaitMs = 0;
  private retryTimer: NodeJS.Timeout | null = null;

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
    this.retries = 0;
    this.retryWaitMs = 0;
    this.keptText = this.host.keepsText();
    this.stream.begin(this.host.target.form, this.keptText, 0);
    this.dispatch();
  }

  /** Ends the request under way for a reason of ours. */
  giveUp(reason: GivenUp): void {
    if (!this.isBusy || this.givenUp !== null) return;
    this.givenUp = reason;
    if (this.retryTimer !== null || this.incoming.hasBodyEnded) this.finish(reason);
    else if (this.controller !== null) this.controller.abort(reason);
    else this.connection.renew();
  }

  /** No more tries: a request that waits for its next one ends with the answer that it has. */
  stopRetrying(): void {
    if (this.retryTimer !== null) this.finish(null);
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
    this.isOnWire = true;
    this.wireMs = ms;
    this.stream.begin(this.host.target.form, this.keptText, ms);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    statusText?: string,
  ): void {
    if (status < 200) return;
    this.connection.endHead();
    const { incoming } = this;
    incoming.takeHead(status, statusText ?? '', headers, this.place.clock.atMs, this.host.target.isWhole);
    if (incoming.isEncoded) this.startDecoder(controller);
    else if (incoming.isPlainChunked) this.connection.tapBody();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.decoder !== null) this.decoder.add(chunk, this.place.clock.atMs, this.place.clock.read);
    else if (this.incoming.isForReader) this.takeBody(controller, chunk, 0, chunk.length);
    else this.takeText(controller, chunk);
  }

  /** Bytes of an event stream, from the parser or past it. */
  private takeBody(controller: Dispatcher.DispatchController, bytes: Buffer, start: number, end: number): void {
    const { stream } = this;
    const { clock } = this.place;
    stream.feed(bytes, clock.atMs, clock.read, start, end);
    // After an error frame the server ends the body itself; what cannot be read any further is broken off.
    if (stream.fault !== null && stream.fault.kind !== 'stream_error') controller.abort(new Error(stream.fault.kind));
  }

  /** Bytes of a body that is no event stream: only its beginning is kept, and one without end is broken off. */
  private takeText(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    const soFar = this.incoming.addText(bytes);
    if (soFar > this.host.target.maxEventBytes) controller.abort(new Error('the body is too large'));
  }

  private startDecoder(controller: Dispatcher.DispatchController): void {
    const { incoming } = this;
    const take = (bytes: Buffer, atMs: number, read: number): void => {
      if (!incoming.isForReader) {
        this.takeText(controller, bytes);
        return;
      }
      this.stream.feed(bytes, atMs, read);
      const { fault } = this.stream;
      if (fault !== null && fault.kind !== 'stream_error') controller.abort(new Error(fault.kind));
    };
    const done = (error: Error | null): void => {
      const trouble = error === null ? null : new Undecodable(`${incoming.encoding}: ${error.message}`);
      if (trouble !== null) controller.abort(trouble);
      // Aborting has no effect behind the end of the body.
      if (this.isBusy && this.decoder !== null && (trouble === null || incoming.hasBodyEnded)) this.bodyEnd(trouble);
    };
    try {
      this.decoder = new ContentDecoder(incoming.encoding, take, done);
    } catch (error) {
      controller.abort(new Undecodable(messageOf(error)));
    }
  }

  onResponseEnd(): void {
    this.incoming.hasBodyEnded = true;
    if (this.decoder !== null) this.decoder.end();
    else this.bodyEnd(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.isBusy) return;
    if (this.isStaleFailure(error)) {
      this.isStale = true;
      this.dispatch();
      return;
    }
    this.bodyEnd(error);
  }

  /** The answer is over, in order or (with an error) not. */
  private bodyEnd(error: Error | null): void {
    const isAgain = error === null && mayBeRetried(this.incoming.status) && this.retries < this.host.target.retries;
    if (isAgain && this.givenUp === null && this.host.maySendAgain()) {
      this.waitForRetry();
      return;
    }
    if (this.incoming.status === 200) this.stream.end();
    this.finish(error);
  }

  /** Sends the request again after the time that the server asked for. Its clock goes on: whoever waits for the answer waits. */
  private waitForRetry(): void {
    const waitMs = retryWaitMs(this.incoming.retryAfter, this.retries, wallClock().getTime());
    this.retries++;
    this.retryWaitMs += waitMs;
    this.expectsReuse = !this.incoming.willClose;
    this.connection.endRequest();
    this.dropDecoder();
    this.controller = null;
    this.retryTimer = setTimeout(() => {
      this.retryTimer = null;
      this.dispatch();
    }, waitMs);
  }

  private dispatch(): void {
    const { host, connection, index } = this;
    const { target } = host;
    this.controller = null;
    this.incoming.reset();
    this.isOnWire = false;
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
    const { connection } = this;
    if (this.isStale || this.givenUp !== null || !this.isOnWire || !connection.isReused) return false;
    if (connection.hasAnswerBytes || nowMs() - this.wireMs > STALE_WITHIN_MS) return false;
    return /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(codeOf(error));
  }

  private finish(error: unknown): void {
    const { host, index, startMs, connection, incoming } = this;
    const endMs = error === null && this.retryTimer === null ? this.place.clock.atMs : nowMs();
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
      firstByteMs: incoming.firstByteMs,
      endMs,
      status: incoming.status,
      statusText: incoming.statusText,
      contentType: incoming.contentType,
      contentEncoding: incoming.encoding,
      bodyText: incoming.bodyText,
      isConnected: this.isOnWire && connection.connectError === null,
      error: this.givenUp ?? error,
      connectMs: this.connectMs,
      isStaleReconnect: this.isStale,
      retries: this.retries,
      retryWaitMs: this.retryWaitMs,
      keptText: this.keptText,
    };
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    this.retryTimer = null;
    this.dropDecoder();
    this.expectsReuse = error === null && !incoming.willClose;
    connection.endRequest();
    host.ended(this, exchange);
    this.isSent = false;
    this.isBusy = false;
    this.controller = null;
  }

  private dropDecoder(): void {
    this.decoder?.cancel();
    this.decoder = null;
  }
}
