/** Headers that come in pieces, while other connections read into the same memory. */
import { afterAll, describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../src/record/record.ts';
import { AnswerStream } from '../../src/sse/stream.ts';
import { SingleSender } from '../../src/transport/single.ts';
import {
  DONE,
  finish,
  LAST_CHUNK,
  type ScriptedServer,
  STREAM_HEAD,
  startScripted,
  token,
} from '../support/scripted-server.ts';

let server: ScriptedServer;
afterAll(() => server.close());

describe('an answer whose headers come in pieces', () => {
  it('is read like any other', async () => {
    server = await startScripted(async (reply) => {
      // No event stream, so what the headers say shows in the record.
      const head = STREAM_HEAD.replace('text/event-stream; charset=utf-8', 'text/html; charset=a-rather-long-name');
      for (let at = 0; at < head.length; at += 7) {
        await reply.send(head.slice(at, at + 7));
        await reply.wait(1);
      }
      await reply.chunk(token());
      await reply.chunk(finish(1));
      await reply.chunk(DONE);
      await reply.send(LAST_CHUNK);
    });
    const seen: string[] = [];
    const senders = Array.from({ length: 6 }, () => newSender(server.url));
    const request = {
      body: Buffer.from('{}'),
      plannedMs: 0,
      promptLen: 1,
      outputLen: 1,
      requestId: null,
      category: undefined,
    };
    const records: RequestRecord[] = await Promise.all(senders.map((sender) => sender.send(request, 5000)));
    for (const record of records) seen.push(`${record.error_kind} ${record.error.slice(0, 76)}`);
    for (const sender of senders) sender.close();
    expect(new Set(seen)).toEqual(
      new Set(['parse not an event stream (content-type text/html; charset=a-rather-long-name): da']),
    );
  });
});

function newSender(origin: string): SingleSender {
  return new SingleSender({
    target: {
      origin,
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
    },
    connectTimeoutMs: 1000,
    clockOffsetMs: 0,
    newReader: () => new AnswerStream({ maxEventBytes: 1 << 20 }),
  });
}
