import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Target } from '../../src/record/messages.ts';
import { AnswerStream } from '../../src/sse/stream.ts';
import { requestHeaders } from '../../src/transport/headers.ts';
import { SingleSender } from '../../src/transport/single.ts';
import { fixture } from '../dataset/support.ts';
import { cutAt, cuts, fuzz, mutated } from './support.ts';

const recordings = readdirSync(fixture('wire'))
  .filter((name) => name.endsWith('.raw'))
  .map((name) => readFileSync(fixture(`wire/${name}`)))
  .filter(({ length }) => length < 20_000);
const good = readFileSync(fixture('wire/chat_basic.raw'));

const LIMIT_MS = 150;
const KINDS = [
  'http',
  'connect',
  'reset',
  'truncated',
  'stream_error',
  'parse',
  'event_too_large',
  'no_tokens',
  'timeout_request',
];

let server: Server;
let port = 0;
/** What the next connection's first request is answered with, and what happens then. */
let answer: { pieces: readonly Buffer[]; ending: 'close' | 'reset' | 'hang' } = { pieces: [good], ending: 'hang' };
let heads: string[] = [];
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      heads.push(bytes.toString('latin1').split('\r\n\r\n', 1)[0] as string);
      const { pieces, ending } = answer;
      // Each piece in a turn of its own, so that it is a read of its own more often than not.
      const next = (k: number): void => {
        if (socket.destroyed) return;
        if (k < pieces.length) {
          socket.write(pieces[k] as Buffer);
          setImmediate(next, k + 1);
        } else if (ending === 'close') socket.end();
        else if (ending === 'reset') socket.resetAndDestroy();
      };
      next(0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as { port: number }).port;
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

function senderTo(headers: readonly string[]): SingleSender {
  const target: Target = {
    origin: `http://127.0.0.1:${port}`,
    path: '/v1/chat/completions',
    headers,
    unixSocket: null,
    proxy: null,
    isInsecure: false,
    isWhole: false,
    form: 'chat',
    needsFinishAndDone: true,
    choices: 1,
    maxEventBytes: 3000,
    keepText: 'never',
    retries: 0,
    secrets: [],
  };
  const newReader = () => new AnswerStream({ maxEventBytes: target.maxEventBytes });
  return new SingleSender({ target, connectTimeoutMs: 1000, clockOffsetMs: 0, newReader });
}

const request = {
  body: Buffer.from('{}'),
  plannedMs: 0,
  promptLen: 1,
  outputLen: 1,
  requestId: null,
  category: undefined,
};

describe('answers of any bytes, over a socket', () => {
  fuzz(
    'end every request in one way that has a name, and leave nothing behind',
    fc.asyncProperty(
      mutated(recordings, 3),
      cuts,
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom('close' as const, 'reset' as const) },
        { weight: 1, arbitrary: fc.constant('hang' as const) },
      ),
      async (bytes, shares, ending) => {
        answer = { pieces: cutAt(bytes, shares), ending };
        const sender = senderTo([]);
        try {
          const record = await sender.send(request, LIMIT_MS);
          expect(record.success ? 'success' : record.error_kind).toSatisfy(
            (kind) => kind === 'success' || KINDS.includes(kind),
          );
          if (!record.success) expect(record.error).not.toBe('');
          else expect(record.frames).toBeGreaterThan(0);
          // The next one is not disturbed by what came before.
          answer = { pieces: [good], ending: 'hang' };
          expect(await sender.send(request, 2000)).toMatchObject({ success: true, error: '' });
        } finally {
          sender.close();
        }
      },
    ),
  );
});

describe('headers of any text', () => {
  const odd = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(
      'a\r\nX-Evil: 1',
      'a\nX-Evil: 1',
      'a\rX-Evil: 1',
      '\0',
      ' a ',
      '',
      '\u0085',
      'é',
      '\u2028',
      'a\u0001b',
    ),
  );

  fuzz(
    'are refused, or sent as one line each',
    fc.asyncProperty(fc.constantFrom('X-One', 'x-request-id', 'Cookie'), odd, async (name, value) => {
      const headers = requestHeaders({ own: [], apiKey: null, extra: { [name]: value } }).flat();
      heads = [];
      answer = { pieces: [good], ending: 'hang' };
      const sender = senderTo(headers);
      try {
        const record = await sender.send(request, 2000);
        // What the options let through here is stopped by the HTTP client, and the request fails for its own reason.
        if (!record.success) {
          expect(record.error).toMatch(/invalid/i);
          return;
        }
        // Requests of the tests before may still come in.
        const head = heads.at(-1) ?? '';
        const lines = head
          .split('\r\n')
          .slice(1)
          .map((line) => line.split(':', 1)[0]?.toLowerCase());
        expect(lines).not.toContain('x-evil');
        expect(lines.filter((line) => line === name.toLowerCase()).length).toBe(1);
      } finally {
        sender.close();
      }
    }),
  );
});
