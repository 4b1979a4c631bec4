/**
 * One kept-alive connection: an undici Client over a socket that this file opens, so that
 *
 * - it can be opened before the clock starts (a thousand handshakes are not the server's time to first token),
 * - its reads go through one buffer per worker (`onread`) instead of a fresh 64 KB each, and
 * - the arrival of bytes is stamped in the read itself, before any parsing.
 *
 * One Client per slot: a Pool of a thousand connections looks through them one by one for each request.
 */
import { connect as connectTcp, type OnReadOpts, type Socket, type TcpNetConnectOpts } from 'node:net';
import { Client } from 'undici';
import { nowMs } from '../record/clock.ts';
import type { Target } from '../record/messages.ts';
import { BodyTap, type TakeBody } from './body-tap.ts';
import { BrokenChunk, ConnectTimeout } from './connect-error.ts';
import { dial } from './dial.ts';
import type { ClientConnector } from './http-json.ts';
import type { ReadClock } from './read-clock.ts';

const READ_BUFFER_BYTES = 256 * 1024;
/** undici closes idle sockets by itself after 4 s unless told otherwise; closing is the server's affair here. */
const KEEP_ALIVE_MS = 24 * 3600 * 1000;
/** A connection that was opened ahead and waited longer than this may have been closed as idle; no server is quicker than that. */
const IDLE_MS = 2000;

interface Prepared {
  readonly socket: Socket;
  readonly tap: BodyTap | null;
  readonly atMs: number;
}

/** What all connections of a worker share. */
export class ConnectionPlace {
  readonly target: Target;
  readonly clock: ReadClock;
  readonly connectTimeoutMs: number;
  readonly buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  /** Connections opened so far, and what it took, ms. */
  opened = 0;
  readonly connectMs = { count: 0, total: 0, max: 0 };

  constructor(target: Target, clock: ReadClock, connectTimeoutMs: number) {
    this.target = target;
    this.clock = clock;
    this.connectTimeoutMs = connectTimeoutMs;
  }

  /** A connection was opened, and it took so long. */
  tookMs(ms: number): void {
    this.opened++;
    this.connectMs.count++;
    this.connectMs.total += ms;
    this.connectMs.max = Math.max(this.connectMs.max, ms);
  }
}

/** The connection of one slot. */
export class Connection {
  client: Client;
  /** Time the last opening took, when the request under way had to open one; else NaN. */
  connectMs = Number.NaN;
  /** The socket under way has served an answer before, or waited idle: it may have been closed by the server meanwhile. */
  isReused = false;
  /** Why the last opening within a request failed. */
  connectError: Error | null = null;

  private readonly place: ConnectionPlace;
  private readonly takeBody: TakeBody;
  /** Tap of the socket in use; null over TLS. */
  private tap: BodyTap | null = null;
  private socket: Socket | null = null;
  private bytesBefore = 0;
  private prepared: Prepared | null = null;
  private readonly onPrepared = (error?: Error): void => {
    if (error !== undefined) this.prepared = null;
  };

  /** @param takeBody gets the bytes of a body that is tapped, see {@link tapBody} */
  constructor(place: ConnectionPlace, takeBody: TakeBody) {
    this.place = place;
    this.takeBody = takeBody;
    this.client = this.newClient();
  }

  /** Opens a socket ahead of the first request. Rejects with the system's error; a later request tries again by itself. */
  prepare(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.open((error, socket, tap) => {
        if (error !== null || socket === null) {
          reject(error ?? new Error('no socket'));
          return;
        }
        this.prepared = { socket, tap, atMs: nowMs() };
        socket.on('error', this.onPrepared);
        resolve();
      });
    });
  }

  /** To be called before each request. */
  beginRequest(): void {
    this.connectMs = Number.NaN;
    this.connectError = null;
    this.isReused = true;
    this.bytesBefore = this.socket?.bytesRead ?? 0;
  }

  /** Has a byte come back since {@link beginRequest}? */
  get hasAnswerBytes(): boolean {
    return (this.socket?.bytesRead ?? 0) > this.bytesBefore;
  }

  /** The headers of an answer are complete. */
  endHead(): void {
    if (this.tap !== null) this.tap.isHeadRead = true;
  }

  /** The headers of a chunked event stream were just read: its body goes to `takeBody` as soon as that can be. */
  tapBody(): void {
    this.tap?.arm();
  }

  /** The answer is over. */
  endRequest(): void {
    this.tap?.disarm();
  }

  /** Gives up whatever the connection is doing; the request under way fails, and the next one opens a fresh connection. */
  renew(): void {
    const old = this.client;
    this.client = this.newClient();
    old.destroy().catch(() => undefined);
  }

  destroy(): void {
    this.prepared?.socket.destroy();
    this.client.destroy().catch(() => undefined);
  }

  private newClient(): Client {
    const connect = (_options: unknown, callback: (error: Error | null, socket: Socket | null) => void): void =>
      this.connect(callback);
    return new Client(this.place.target.origin, {
      connect: connect as unknown as ClientConnector,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // A server's hint (Keep-Alive: timeout=5) shortens that by so much; below a second or two it would end each connection at once.
      keepAliveTimeoutThreshold: -KEEP_ALIVE_MS,
    });
  }

  private connect(callback: (error: Error | null, socket: Socket | null) => void): void {
    const prepared = this.prepared;
    if (prepared !== null) {
      const { socket, tap, atMs } = prepared;
      this.prepared = null;
      socket.off('error', this.onPrepared);
      if (!socket.destroyed && !socket.readableEnded) {
        this.isReused = nowMs() - atMs >= IDLE_MS;
        this.use(socket, tap);
        // Not at once: undici asks from within the loop that would have to notice the new socket.
        queueMicrotask(() => callback(null, socket));
        return;
      }
    }
    const startMs = nowMs();
    this.isReused = false;
    this.open((error, socket, tap) => {
      this.connectMs = nowMs() - startMs;
      this.connectError = error;
      this.use(socket, tap);
      callback(error, socket);
    });
  }

  private use(socket: Socket | null, tap: BodyTap | null): void {
    this.socket = socket;
    this.tap = tap;
    this.bytesBefore = socket?.bytesRead ?? 0;
  }

  private open(done: (error: Error | null, socket: Socket | null, tap: BodyTap | null) => void): void {
    const { place } = this;
    const startMs = nowMs();
    let tap: BodyTap | null = null;
    let timer: NodeJS.Timeout | undefined;
    const giveUp = dial(
      place.target,
      (error, socket) => {
        clearTimeout(timer);
        if (error !== null || socket === null) {
          done(error, null, null);
          return;
        }
        if (tap === null) stampReadable(socket, place.clock);
        place.tookMs(nowMs() - startMs);
        done(null, socket, tap);
      },
      (options) => {
        const plain = openPlain(options, place, this.takeBody);
        tap = plain.tap;
        return plain.socket;
      },
    );
    if (place.connectTimeoutMs > 0) {
      timer = setTimeout(() => giveUp(new ConnectTimeout(place.connectTimeoutMs)), place.connectTimeoutMs);
    }
  }
}

/** TLS has no `onread`: the socket is stamped when it becomes readable, ahead of undici's listener. */
function stampReadable(socket: Socket, clock: ReadClock): void {
  let phase = 0;
  socket.on('readable', () => {
    phase = clock.begin(phase);
  });
}

/**
 * A plain socket that reads into the worker's one buffer. undici asks a socket that is readable for its bytes by `read()`: it
 * gets a view of that buffer, and is done with it when the call returns, because nothing here ever pauses the parser. Only
 * headers it keeps until they are complete, so these get memory of their own.
 */
function openPlain(
  options: TcpNetConnectOpts,
  place: ConnectionPlace,
  takeBody: TakeBody,
): { socket: Socket; tap: BodyTap } {
  const { buffer, clock } = place;
  const tap = new BodyTap();
  let pending: Buffer | null = null;
  let phase = 0;
  const onread: OnReadOpts = {
    buffer,
    callback: (length) => {
      phase = clock.begin(phase);
      if (tap.isTaking) {
        const end = tap.take(buffer, length, takeBody);
        if (tap.isTaking || socket.destroyed) return true;
        if (tap.isBroken) {
          socket.destroy(new BrokenChunk('a chunk does not end where its size says'));
          return true;
        }
        pending = tap.handOver(buffer, end, length);
        socket.emit('readable');
      } else {
        const view = buffer.subarray(0, length);
        pending = tap.isHeadRead ? view : tap.start.take(Buffer.from(view));
        if (pending === null) return true;
        socket.emit('readable');
        tap.follow(buffer, length);
      }
      if (pending !== null) {
        // Nobody took the bytes (the parser was paused or is gone): leave them to the stream, as without onread.
        socket.push(Buffer.from(pending));
        pending = null;
      }
      return true;
    },
  };
  const socket = connectTcp({ ...options, onread });
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    if (pending === null || size === 0) return read(size) as unknown;
    const bytes = pending;
    pending = null;
    return bytes;
  };
  return { socket, tap };
}
