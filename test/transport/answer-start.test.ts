/** What may stand before an answer, and how its first bytes may be cut. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Target } from '../../src/record/messages.ts';
import type { RequestRecord } from '../../src/record/record.ts';
import { AnswerStream } from '../../src/sse/stream.ts';
import { AnswerStart } from '../../src/transport/answer-start.ts';
import { ConnectionPlace } from '../../src/transport/connection.ts';
import { recordOf } from '../../src/transport/outcome.ts';
import { ReadClock } from '../../src/transport/read-clock.ts';
import { packWork, WorkView } from '../../src/transport/shared-work.ts';
import { Slot, type SlotHost } from '../../src/transport/slot.ts';
import {
  DONE,
  finish,
  LAST_CHUNK,
  type ScriptedServer,
  STREAM_HEAD,
  startScripted,
  token,
} from '../support/scripted-server.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n';

describe('the start of an answer', () => {
  const given = (pieces: readonly string[]): string => {
    const start = new AnswerStart();
    return pieces.map((piece) => start.take(Buffer.from(piece))?.toString('latin1') ?? '').join('');
  };
  const cutAt = (text: string, cuts: readonly number[]): string[] => {
    const edges = [0, ...cuts.map((at) => at % (text.length + 1)).sort((a, b) => a - b), text.length];
    return edges.slice(1).map((end, i) => text.slice(edges[i], end));
  };

  it('is what follows the interim answers, however it is cut', () => {
    const interim = fc.array(fc.constantFrom(CONTINUE, HINTS, 'HTTP/1.1 102 \r\n\r\n'), { maxLength: 4 });
    const answer = fc.constantFrom(
      STREAM_HEAD,
      'HTTP/1.1 503 Service Unavailable\r\n\r\n',
      'HTTP/1.1 200\r\n\r\nx',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      'HTTP/1.1 1000 OK\r\n\r\n',
      'HTTP/1.1 200 OK\nserver: x\n\n',
      `HTTP/1.1 200 OK\r\n\r\n${CONTINUE}`,
    );
    fc.assert(
      fc.property(interim, answer, fc.array(fc.nat(600), { maxLength: 12 }), (before, after, cuts) => {
        expect(given(cutAt(before.join('') + after, cuts))).toBe(after);
      }),
    );
  });

  it('is held only while it can be one', () => {
    expect(given(['HT', 'TP/1.1 20', '0 O'])).toBe('');
    for (const other of ['<html>', 'HTML', 'HTTP/2 200', 'SSH-2.0', '\u0016\u0003', 'HTTP/1x']) {
      expect(given([other])).toBe(other);
    }
    const endless = `HTTP/1.1 200 ${'x'.repeat(20_000)}`;
    expect(given([endless.slice(0, 100), endless.slice(100)])).toBe(endless);
  });

  it('is looked for again in the next answer', () => {
    const start = new AnswerStart();
    expect(start.take(Buffer.from(STREAM_HEAD))?.toString()).toBe(STREAM_HEAD);
    expect(start.take(Buffer.from(CONTINUE))?.toString()).toBe(CONTINUE);
    start.begin();
    expect(start.take(Buffer.from(CONTINUE))).toBeNull();
  });
});

let server: ScriptedServer | undefined;
afterEach(() => server?.close());

/** Two requests on one connection whose answers begin with these pieces, each in a read of its own. */
async function askTwice(pieces: readonly string[]): Promise<RequestRecord[]> {
  server = await startScripted(async (reply) => {
    for (const piece of pieces) {
      await reply.send(piece);
      await reply.wait(2);
    }
    if (pieces.join('').endsWith('busy')) return;
    await reply.chunk(token());
    await reply.chunk(token() + finish(3) + DONE);
    await reply.send(LAST_CHUNK);
  });
  const target: Target = {
    origin: server.url,
    path: '/v1/chat/completions',
    headers: [],
    unixSocket: null,
    proxy: null,
    isInsecure: false,
    form: 'chat',
    isWhole: false,
    needsFinishAndDone: true,
    choices: 1,
    maxEventBytes: 1 << 20,
    keepText: 'never',
    retries: 0,
    secrets: [],
  };
  const body = Buffer.from('{}');
  const request = { body, plannedMs: 0, promptLen: 1, outputLen: 1, requestId: null, category: undefined };
  const records: RequestRecord[] = [];
  await new Promise<void>((resolve) => {
    const host: SlotHost = {
      target,
      work: new WorkView(packWork([request, request])),
      worker: 0,
      startMs: 0,
      newReader: () => new AnswerStream({ maxEventBytes: 1 << 20 }),
      keepsText: () => false,
      maySendAgain: () => true,
      started: () => undefined,
      ended: (slot, exchange) => {
        records.push(recordOf(exchange, slot.stream, target, 0, new Float64Array(9)));
        if (records.length < 2) setImmediate(() => slot.send(records.length));
        else {
          slot.connection.destroy();
          resolve();
        }
      },
    };
    new Slot(host, new ConnectionPlace(target, new ReadClock(), 1000)).send(0);
  });
  return records;
}

describe('a request whose answer begins with', () => {
  it.each<[string, string[]]>([
    ['100 Continue in the same read', [CONTINUE + STREAM_HEAD]],
    ['100 Continue in a read of its own', [CONTINUE, STREAM_HEAD]],
    ['two of them in pieces', ['HTTP/1.1 10', `0 Continue\r\n\r\n${CONTINUE.slice(0, 30)}`, STREAM_HEAD]],
    ['103 Early Hints', [HINTS, HINTS + STREAM_HEAD]],
    ['half a status line', ['HTTP/1.1 200 O', STREAM_HEAD.slice(14)]],
  ])('%s succeeds, and so does the next on the same connection', async (_, pieces) => {
    const records = await askTwice(pieces);
    expect(records.map(({ success, frames, error }) => [success, frames, error])).toEqual([
      [true, 2, ''],
      [true, 2, ''],
    ]);
    expect(server?.connections).toBe(1);
  });

  it('a reason in pieces has all of it in the words of the error', async () => {
    const pieces = ['HTTP/1.1 503 Serv', 'ice Unavail', 'able\r\ncontent-length: 4\r\n\r\nbusy'];
    expect((await askTwice(pieces))[0]).toMatchObject({
      error_kind: 'http',
      error: 'HTTP 503 Service Unavailable busy',
    });
  });
});
