/** Puts the parts together and listens. */
import { createServer, type Server } from 'node:net';
import { messageOf, unreachableError } from '../errors.ts';
import { monotonicOffsetMs, nowMs } from '../record/clock.ts';
import { internalErrorAnswer } from './bodies.ts';
import { Connection, type Exchange } from './connection.ts';
import { frameForms, IntervalQueue, type MockContext, WallSecond } from './context.ts';
import { Engine } from './engine.ts';
import { type MockOptions, resolveMockOptions } from './options.ts';
import { Pump } from './pump.ts';
import { answerBytes, respond } from './respond.ts';
import { Rng } from './rng.ts';
import { route } from './routes.ts';
import { MockStats, type MockStatsSnapshot } from './stats.ts';
import { TruthStore } from './truth.ts';

/** What a test may look at while the server runs. */
export interface MockHooks {
  /** Each request as received, before it is answered. */
  onRequest?(request: { method: string; path: string; headers: ReadonlyMap<string, string>; body: Buffer }): void;
  /** One line per request, with `verbose`. */
  log?(line: string): void;
}

/** A running server. */
export interface MockServer {
  readonly port: number;
  /** `http://HOST:PORT`, IPv6 addresses in brackets. */
  readonly url: string;
  stats(): MockStatsSnapshot;
  /** Ends at once: streams are cut off in mid-body, as when TabbyAPI is stopped. Safe to call twice. */
  close(): Promise<void>;
}

/** As uvicorn's. */
const BACKLOG = 2048;

function makeContext(options: MockOptions): MockContext {
  const pump = new Pump(options.precise);
  const stats = new MockStats();
  const forms = frameForms(options);
  const pingMs = options.pingIntervalMs;
  return {
    options,
    ...forms,
    stats,
    pump,
    engine: new Engine(options, pump, stats),
    wall: new WallSecond(),
    rng: new Rng(options.seed),
    truth: options.stamp ? new TruthStore(monotonicOffsetMs()) : null,
    pings:
      pingMs > 0 && options.style === 'tabbyapi'
        ? new IntervalQueue<{ ping(): boolean }>(pump, pingMs, (stream) => stream.ping())
        : null,
    state: { model: options.noModel ? null : options.model, issues: [] },
  };
}

const INVALID = 'Invalid HTTP request received.';

function badRequestText(context: MockContext, status: 400 | 413): string {
  context.stats.response(status);
  const body = status === 400 ? INVALID : 'Request body too large.';
  const headers = [
    ['content-type', 'text/plain; charset=utf-8'],
    ['content-length', String(body.length)],
    ['connection', 'close'],
  ] as const;
  return answerBytes(context, null, { status, body, headers }).toString('latin1');
}

/** What a handler throws (a body nested too deep for the stack, say) is a 500, as with any server; it must not end the process. */
function routeSafely(context: MockContext, exchange: Exchange, hooks: MockHooks): void {
  try {
    route(context, exchange);
  } catch (error) {
    if (context.options.verbose) hooks.log?.(`${exchange.request.path}: ${messageOf(error)}`);
    respond(context, exchange, internalErrorAnswer());
  }
}

function serve(context: MockContext, hooks: MockHooks, connections: Set<Connection>): Server {
  const { options, stats, pump } = context;
  const idle =
    options.keepAliveMs > 0
      ? new IntervalQueue<Connection>(pump, options.keepAliveMs, (connection) => {
          connection.closeIdle();
          return false;
        })
      : null;
  const onRequest = (exchange: Exchange): void => {
    const { request } = exchange;
    stats.request(request.path);
    hooks.onRequest?.(request);
    if (options.verbose) hooks.log?.(`${request.method} ${request.path} ${request.body.length} bytes`);
    pump.soon(() => {
      if (!exchange.done) routeSafely(context, exchange, hooks);
    });
  };
  return createServer({ noDelay: true }, (socket) => {
    stats.connectionOpened();
    const connection = new Connection(socket, {
      request: onRequest,
      over: () => stats.requestOver(),
      badRequest: (status) => badRequestText(context, status),
      idle: (which, isIdle) => {
        if (isIdle) idle?.add(which, nowMs());
        else idle?.remove(which);
      },
      closed: (which) => {
        connections.delete(which);
        stats.connectionClosed();
      },
    });
    connections.add(connection);
  });
}

function listen(server: Server, options: MockOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const where = `${options.host}:${options.port}`;
      reject(unreachableError(`The mock server cannot listen on ${where}: ${error.message}.`, 'Try --port 0.', error));
    });
    server.listen({ host: options.host, port: options.port, backlog: BACKLOG }, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : options.port);
    });
  });
}

/** Starts a server. Throws AppError for wrong options or an address that cannot be had. */
export async function startMock(given: Partial<MockOptions> = {}, hooks: MockHooks = {}): Promise<MockServer> {
  const options = resolveMockOptions(given);
  const context = makeContext(options);
  const connections = new Set<Connection>();
  const server = serve(context, hooks, connections);
  const port = await listen(server, options);
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      context.pump.stop();
      server.close(() => resolve());
      for (const connection of [...connections]) connection.destroy();
    });
    return closing;
  };
  return { port, url: `http://${host}:${port}`, stats: () => context.stats.snapshot(context.engine.load), close };
}
