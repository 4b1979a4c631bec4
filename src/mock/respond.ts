/** Heads of answers, and whole answers. */
import { nowMs } from '../record/clock.ts';
import { type Answer, statusLine } from './bodies.ts';
import type { Exchange } from './connection.ts';
import type { MockContext } from './context.ts';
import type { Pump } from './pump.ts';

type Headers = readonly (readonly [string, string])[];

/** Status line and headers, date and server first. A client that asked for close, or speaks HTTP/1.0, is told so. */
export function headText(context: MockContext, exchange: Exchange | null, status: number, headers: Headers): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const told = headers.some(([name]) => name === 'connection') || exchange?.closeAfter !== true;
  const close = told ? '' : 'connection: close\r\n';
  return `${statusLine(status)}date: ${context.wall.header()}\r\nserver: uvicorn\r\n${lines}${close}\r\n`;
}

/** A whole answer as text. */
export function answerBytes(context: MockContext, exchange: Exchange | null, answer: Answer): Buffer {
  const head = Buffer.from(headText(context, exchange, answer.status, answer.headers));
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  return Buffer.concat([head, body]);
}

/** Sends a whole answer and goes on to the next request. A HEAD request gets no body. */
export function respond(context: MockContext, exchange: Exchange, answer: Answer): void {
  if (exchange.done) return;
  context.stats.response(answer.status);
  const body = exchange.request.method === 'HEAD' ? '' : answer.body;
  exchange.write(answerBytes(context, exchange, { ...answer, body }));
  exchange.finish();
}

/** Long enough for a client to have read what was sent. */
const RESET_DELAY_MS = 20;

/**
 * Ends the connection by RST when the client has had time to read what was sent: a reset that comes with data is told as a plain end
 * by some clients' I/O libraries (libuv).
 */
export function resetLater(pump: Pump, exchange: Exchange): void {
  pump.at(nowMs() + RESET_DELAY_MS, () => exchange.reset());
}

/** The head of an event stream, in uvicorn's and sse-starlette's order. */
export function eventStreamHead(context: MockContext, exchange: Exchange, extra: Headers): string {
  const framing: Headers = exchange.chunked ? [['transfer-encoding', 'chunked']] : [];
  if (context.options.style === 'openai') {
    return headText(context, exchange, 200, [
      ['content-type', 'text/event-stream; charset=utf-8'],
      ...extra,
      ...framing,
    ]);
  }
  const keep = exchange.chunked ? 'keep-alive' : 'close';
  return headText(context, exchange, 200, [
    ['cache-control', 'no-store'],
    ['connection', keep],
    ['x-accel-buffering', 'no'],
    ['content-type', 'text/event-stream; charset=utf-8'],
    ...extra,
    ['vary', 'Origin'],
    ...framing,
  ]);
}
