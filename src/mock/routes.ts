/** Which path does what. */
import { checkAdminKey, checkApiKey, type Permission } from './auth.ts';
import { type Answer, detailAnswer, internalErrorAnswer, jsonAnswer } from './bodies.ts';
import { complete } from './complete.ts';
import type { Exchange } from './connection.ts';
import type { MockContext } from './context.ts';
import * as helpers from './helpers.ts';
import type { PyJson } from './pyjson.ts';
import { respond } from './respond.ts';

interface Route {
  readonly method: 'GET' | 'POST';
  readonly needs: 'api' | 'admin' | 'nothing';
  readonly styles: readonly ('tabbyapi' | 'openai')[];
  /** Answers, or returns the answer to send. */
  run(context: MockContext, exchange: Exchange, permission: Permission): Answer | undefined;
}

const BOTH = ['tabbyapi', 'openai'] as const;
const TABBY = ['tabbyapi'] as const;
const OPENAI = ['openai'] as const;

const MODELS: Route = { method: 'GET', needs: 'api', styles: BOTH, run: (c, _x, p) => helpers.listModels(c, p) };
const CURRENT: Route = { method: 'GET', needs: 'api', styles: TABBY, run: (c) => helpers.currentModel(c) };

const ROUTES: Readonly<Record<string, Route>> = {
  '/v1/chat/completions': {
    method: 'POST',
    needs: 'api',
    styles: BOTH,
    run: (c, x) => complete(c, x, 'chat'),
  },
  '/v1/completions': {
    method: 'POST',
    needs: 'api',
    styles: BOTH,
    run: (c, x) => complete(c, x, 'completion'),
  },
  '/v1/model': CURRENT,
  '/v1/internal/model/info': CURRENT,
  '/v1/models': MODELS,
  '/v1/model/list': { ...MODELS, styles: TABBY },
  '/health': { method: 'GET', needs: 'nothing', styles: BOTH, run: (c) => helpers.health(c) },
  '/props': { method: 'GET', needs: 'api', styles: TABBY, run: (c) => helpers.props(c) },
  '/v1/token/encode': { method: 'POST', needs: 'api', styles: TABBY, run: (c, x) => helpers.encode(c, x) },
  '/v1/token/decode': { method: 'POST', needs: 'api', styles: TABBY, run: (c, x) => helpers.decode(c, x) },
  '/v1/auth/permission': { method: 'GET', needs: 'nothing', styles: TABBY, run: (c, x) => helpers.permission(c, x) },
  '/v1/model/load': { method: 'POST', needs: 'admin', styles: TABBY, run: (c, x) => helpers.load(c, x) },
  '/v1/model/unload': { method: 'POST', needs: 'admin', styles: TABBY, run: (c) => helpers.unload(c) },
  '/tokenize': { method: 'POST', needs: 'nothing', styles: OPENAI, run: (c, x) => helpers.vllmTokenize(c, x) },
  '/__stats': { method: 'GET', needs: 'nothing', styles: BOTH, run: (c, x) => statsAnswer(c, x) },
  '/__truth': { method: 'GET', needs: 'nothing', styles: BOTH, run: (c, x) => truthAnswer(c, x) },
};

/** GET /__stats (not of any real server): counts; `?ids=1` adds the request ids seen. */
function statsAnswer(context: MockContext, exchange: Exchange): Answer {
  const snapshot = context.stats.snapshot(context.engine.load) as unknown as Record<string, PyJson>;
  const ids = new URLSearchParams(exchange.request.query).get('ids') === '1';
  return jsonAnswer(200, ids ? { ...snapshot, ids: [...context.stats.ids] } : snapshot);
}

/** GET /__truth (not of any real server): see truth.ts; `?id=ID` one request, `?clear=1` forgets all. */
function truthAnswer(context: MockContext, exchange: Exchange): Answer {
  if (context.truth === null) return detailAnswer(404, 'Start the server with --stamp to keep the truth.');
  const query = new URLSearchParams(exchange.request.query);
  const body = context.truth.encode(query.get('id') ?? undefined, query.get('clear') === '1');
  return {
    status: 200,
    body,
    headers: [
      ['content-length', String(body.length)],
      ['content-type', 'application/octet-stream'],
    ],
  };
}

function findRoute(context: MockContext, path: string): Route | undefined {
  const route = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
  return route?.styles.includes(context.options.style) ? route : undefined;
}

/** CORS is open: a preflight is answered for any path. */
function preflight(exchange: Exchange): Answer | null {
  const { headers, method } = exchange.request;
  const wanted = headers.get('access-control-request-method');
  const origin = headers.get('origin');
  if (method !== 'OPTIONS' || wanted === undefined || origin === undefined) return null;
  return {
    status: 200,
    body: 'OK',
    headers: [
      ['vary', 'Origin'],
      ['access-control-allow-methods', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'],
      ['access-control-max-age', '600'],
      ['access-control-allow-credentials', 'true'],
      ['access-control-allow-origin', origin],
      ['content-length', '2'],
      ['content-type', 'text/plain; charset=utf-8'],
    ],
  };
}

function notFound(context: MockContext, exchange: Exchange): Answer {
  const { path, query, headers } = exchange.request;
  // A slash too many, or one too few, is redirected if that leads somewhere.
  let end = path.length;
  while (path[end - 1] === '/') end--;
  const other = path.slice(0, end === path.length ? 0 : end);
  if (other === '' || findRoute(context, other) === undefined) return detailAnswer(404, 'Not Found');
  const host = headers.get('host') ?? `${context.options.host}:${context.options.port}`;
  return {
    status: 307,
    body: '',
    headers: [
      ['content-length', '0'],
      ['location', `http://${host}${other}${query === '' ? '' : `?${query}`}`],
      ['vary', 'Origin'],
    ],
  };
}

/** Finds and runs the route of a request. */
export function route(context: MockContext, exchange: Exchange): void {
  const found = findRoute(context, exchange.request.path);
  const answer =
    preflight(exchange) ?? (found === undefined ? notFound(context, exchange) : run(context, exchange, found));
  if (answer !== undefined) respond(context, exchange, answer);
}

function run(context: MockContext, exchange: Exchange, found: Route): Answer | undefined {
  if (exchange.request.method !== found.method) {
    return detailAnswer(405, 'Method Not Allowed', [['allow', found.method]]);
  }
  let permission: Permission = 'admin';
  if (found.needs !== 'nothing') {
    const check = found.needs === 'admin' ? checkAdminKey : checkApiKey;
    const checked = check(context.options, exchange.request);
    if (typeof checked !== 'string') return checked;
    permission = checked;
  }
  try {
    return found.run(context, exchange, permission);
  } catch {
    // As the web framework of the real server does: a handler that trips costs its own request alone.
    return internalErrorAnswer();
  }
}
