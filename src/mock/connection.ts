/**
 * One client connection: requests in order, one answer at a time, and the quick way out for frames.
 *
 * Frames go straight to the file descriptor with a non-blocking write(2), which costs 0.6 µs less than a stream's write and makes
 * no garbage (measured at 100,000 writes/s: 0.5 µs of user time against 1.1). When the kernel takes less than all, the socket's
 * own queue takes over until it is empty again.
 */
import { writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { codeOf } from '../errors.ts';
import { nowMs } from '../record/clock.ts';
import { type HttpRequest, RequestParser } from './http.ts';

/** Bytes that the kernel has not taken, at which a client is given up. */
const MAX_BACKLOG_BYTES = 256 * 1024 * 1024;
/** Bytes of further requests read while one is answered, at which reading stops. */
const MAX_PIPELINED_BYTES = 4 * 1024 * 1024;

/** What a connection tells its server. */
export interface ConnectionEvents {
  /** A whole request; the answer begins through the exchange. */
  request(exchange: Exchange): void;
  /** The request's answer is complete, given up, or its client has gone. Once per request. */
  over(exchange: Exchange): void;
  /** What to answer to bytes that are not HTTP: a whole response. */
  badRequest(status: 400 | 413): string;
  /** The connection is waiting for its next request, or no longer is. */
  idle(connection: Connection, isIdle: boolean): void;
  closed(connection: Connection): void;
}

/** The descriptor behind a socket, or -1 where there is none to write to (Windows pipes). */
function descriptorOf(socket: Socket): number {
  const handle = (socket as Socket & { _handle?: { fd?: number } | null })._handle;
  return typeof handle?.fd === 'number' ? handle.fd : -1;
}

/** One request and its answer. */
export class Exchange {
  readonly connection: Connection;
  readonly request: HttpRequest;
  /** When the whole request had been read, on the run's clock. */
  readonly arrivedMs: number;
  /** Is the answer in chunks? Not for HTTP/1.0, where its end is the end of the connection. */
  readonly chunked: boolean;
  /** Called when the client leaves before the answer is complete. */
  onAbort: (() => void) | undefined;
  /** No more is written and the next request may be read. */
  done = false;
  closeAfter: boolean;

  constructor(connection: Connection, request: HttpRequest, arrivedMs: number) {
    this.connection = connection;
    this.request = request;
    this.arrivedMs = arrivedMs;
    this.chunked = request.version === '1.1';
    this.closeAfter = !request.keepAlive || !this.chunked;
  }

  /** Writes text of the answer. */
  write(text: string | Buffer): void {
    if (this.done) return;
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    this.connection.write(bytes, 0, bytes.length);
  }

  /** The answer is complete: closes the connection if it must not be kept, else goes on to the next request. */
  finish(): void {
    this.leave(this.closeAfter ? 'fin' : 'keep');
  }

  /** Ends the connection with FIN after what has been written. */
  hangUp(): void {
    this.leave('fin');
  }

  /** Ends the connection with RST. */
  reset(): void {
    this.leave('rst');
  }

  private leave(how: Ending): void {
    if (this.done) return;
    this.done = true;
    this.onAbort = undefined;
    this.connection.answered(this, how);
  }
}

/** What becomes of a connection after an answer. */
type Ending = 'keep' | 'fin' | 'rst';

/** A client's socket with its parser. */
export class Connection {
  readonly socket: Socket;
  private readonly events: ConnectionEvents;
  private readonly parser: RequestParser;
  private readonly fd: number;
  private exchange: Exchange | undefined;
  private open = true;
  /** Bytes wait in the socket's own queue. */
  private congested = false;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.socket = socket;
    this.events = events;
    this.fd = descriptorOf(socket);
    this.parser = new RequestParser({
      request: (request) => this.begin(request),
      expectContinue: () => this.socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
      error: (status) => socket.end(events.badRequest(status)),
    });
    socket.on('data', (data) => this.read(data));
    socket.on('error', () => this.destroy());
    socket.on('close', () => {
      this.lost();
      this.events.closed(this);
    });
    // A client that has closed its side gets no more: as uvicorn, which takes EOF for a disconnect.
    socket.on('end', () => this.lost());
  }

  /** Writes `buffer[start, end)`; the bytes are copied if they cannot be written at once. */
  write(buffer: Buffer, start: number, end: number): void {
    if (!this.open) return;
    let from = start;
    if (!this.congested && this.fd >= 0) {
      try {
        from += writeSync(this.fd, buffer, start, end - start);
      } catch (error) {
        if (codeOf(error) !== 'EAGAIN') {
          this.destroy();
          return;
        }
      }
      if (from === end) return;
    }
    this.writeQueued(Buffer.from(buffer.subarray(from, end)));
  }

  /** The socket's own queue has the bytes until the kernel has taken them all; nothing may overtake them. */
  private writeQueued(bytes: Buffer): void {
    const { socket } = this;
    this.congested = true;
    socket.write(bytes, () => {
      if (socket.writableLength === 0) this.congested = false;
    });
    // A client that reads nothing for this long is given up, so that memory stays bounded.
    if (socket.writableLength > MAX_BACKLOG_BYTES) this.destroy();
  }

  /**
   * Gives the connection up. From here on nothing may write to the descriptor: it is closed at once, and may be another
   * connection's before 'close' is told. (Node itself destroys a socket only after 'error' or 'end', which end up in lost().)
   */
  destroy(): void {
    this.socket.destroy();
    this.lost();
  }

  /** Closes a connection that nobody uses. */
  closeIdle(): void {
    if (this.exchange !== undefined) return;
    this.socket.destroySoon();
    this.lost();
  }

  /** Called by the exchange when its answer is complete. */
  answered(exchange: Exchange, how: Ending): void {
    if (this.exchange !== exchange) return;
    this.exchange = undefined;
    this.events.over(exchange);
    if (how === 'fin') {
      // Both directions, as asyncio closes a transport: a client that keeps its side open is not waited for.
      this.socket.destroySoon();
      this.lost();
    } else if (how === 'rst') {
      this.socket.resetAndDestroy();
      this.lost();
    } else {
      if (this.socket.isPaused()) this.socket.resume();
      this.events.idle(this, true);
      this.parser.resume();
    }
  }

  private read(data: Buffer): void {
    this.parser.feed(data);
    if (this.exchange !== undefined && this.parser.pending > MAX_PIPELINED_BYTES) this.socket.pause();
  }

  private begin(request: HttpRequest): void {
    this.parser.pause();
    this.events.idle(this, false);
    this.exchange = new Exchange(this, request, nowMs());
    this.events.request(this.exchange);
  }

  private lost(): void {
    if (!this.open) return;
    this.open = false;
    const { exchange } = this;
    this.exchange = undefined;
    this.events.idle(this, false);
    if (exchange !== undefined) {
      exchange.done = true;
      exchange.onAbort?.();
      this.events.over(exchange);
    }
  }
}
