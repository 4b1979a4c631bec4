/** Faults that act before an answer begins. */
import { nowMs } from '../record/clock.ts';
import {
  type Answer,
  abortedAnswer,
  abortedEvent,
  contextAnswer,
  detailAnswer,
  internalErrorAnswer,
  validationAnswer,
} from './bodies.ts';
import type { Exchange } from './connection.ts';
import type { MockContext } from './context.ts';
import type { FaultKind } from './faults.ts';
import { chunkOf } from './frames.ts';
import type { Generation } from './request.ts';
import { eventStreamHead, headText, respond } from './respond.ts';

const PAGE =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad Gateway</h1></body></html>\n';

function httpFault(kind: FaultKind): Answer | null {
  switch (kind) {
    case 'http-500':
      return internalErrorAnswer();
    case 'http-503':
      return detailAnswer(503, 'No models are currently loaded.');
    case 'http-429':
      return detailAnswer(429, 'Too many requests', [['retry-after', '1']]);
    case 'http-401':
      return detailAnswer(401, 'Invalid API key');
    case 'http-400':
      return contextAnswer('Prompt length 8301 exceeds the available context size of 8192 tokens');
    case 'http-422':
      return validationAnswer([
        {
          type: 'greater_than_equal',
          loc: ['body', 'n'],
          msg: 'Input should be greater than or equal to 1',
          input: 0,
          ctx: { ge: 1 },
        },
      ]);
    case 'html':
      return {
        status: 200,
        body: PAGE,
        headers: [
          ['content-length', String(PAGE.length)],
          ['content-type', 'text/html; charset=utf-8'],
        ],
      };
    default:
      return null;
  }
}

function openStream(context: MockContext, exchange: Exchange): void {
  context.stats.response(200);
  exchange.write(eventStreamHead(context, exchange, []));
}

function closeStream(exchange: Exchange): void {
  if (exchange.chunked) exchange.write(chunkOf(''));
  exchange.finish();
}

/** A comment every ping interval (at least every second, so that a stall is seen to be one), until the client leaves. */
function pingForEver(context: MockContext, exchange: Exchange): void {
  const { lineEnd, options } = context;
  const interval = options.pingIntervalMs > 0 ? Math.min(1000, options.pingIntervalMs) : 1000;
  const ping = (): void => {
    if (exchange.done) return;
    const text = `: ping - 2026-12-01 02:29:04.374342+00:00${lineEnd}${lineEnd}`;
    exchange.write(exchange.chunked ? chunkOf(text) : text);
    context.pump.at(nowMs() + interval, ping);
  };
  context.pump.at(nowMs() + interval, ping);
}

/** Carries out a fault of the phase `before`; `go` answers as usual (a null fault) where the fault leaves an answer. */
export function playBefore(
  context: MockContext,
  exchange: Exchange,
  generation: Generation,
  fault: FaultKind,
  streaming: boolean,
  go: (fault: FaultKind | null) => void,
): void {
  const answer = httpFault(fault);
  if (answer !== null) {
    respond(context, exchange, answer);
    return;
  }
  switch (fault) {
    case 'reset':
      exchange.reset();
      return;
    case 'accept-close':
      exchange.hangUp();
      return;
    case 'half-headers':
      exchange.write(headText(context, exchange, 200, [['content-type', 'text/event-stream']]).slice(0, -24));
      exchange.hangUp();
      return;
    case 'not-http':
      exchange.write('SSH-2.0-OpenSSH_9.6\r\n');
      exchange.hangUp();
      return;
    case 'empty':
      openStream(context, exchange);
      closeStream(exchange);
      return;
    case 'error-first':
      if (!streaming) {
        respond(context, exchange, abortedAnswer(generation.kind, 'request'));
        return;
      }
      openStream(context, exchange);
      exchange.write(framed(context, exchange, abortedEvent(generation.kind)));
      closeStream(exchange);
      return;
    case 'stall':
      if (streaming) {
        openStream(context, exchange);
        pingForEver(context, exchange);
      }
      return;
    case 'slow-headers':
      context.pump.at(nowMs() + (generation.marks.header_ms ?? 1000), () => go(null));
      return;
    case 'json-instead':
      go('json-instead');
      return;
    default:
      // never: the connection stays open and silent.
      return;
  }
}

function framed(context: MockContext, exchange: Exchange, json: string): Buffer {
  const text = `data: ${json}${context.lineEnd}${context.lineEnd}`;
  return exchange.chunked ? chunkOf(text) : Buffer.from(text);
}
