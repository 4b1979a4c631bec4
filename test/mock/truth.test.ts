import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTruth, TruthStore, TruthTrack } from '../../src/mock/truth.ts';
import { systemMonotonicNs } from '../../src/record/clock.ts';
import { chat, exchange, type RawResponse } from './client.ts';
import { serverMaker } from './servers.ts';

const start = serverMaker();
const bytesOf = (response: RawResponse): Buffer => Buffer.concat(response.chunks);
const get = (path: string) => ({ method: 'GET', path });

describe('ground truth', () => {
  it('comes back as it was kept, shifted to the system clock', () => {
    const entry = fc.tuple(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.float({ noNaN: true }),
      fc.array(fc.float({ noNaN: true }), { maxLength: 150 }),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 8 }), (entries) => {
        const store = new TruthStore(1000);
        for (const [id, arrived, times] of entries) {
          const track = new TruthTrack(id, arrived);
          for (const time of times) track.add(time);
          store.keep(track);
        }
        expect(
          decodeTruth(store.encode(undefined, true)).map(({ id, arrivedMs, framesMs }) => [
            id,
            arrivedMs,
            [...framesMs],
          ]),
        ).toEqual(entries.map(([id, arrived, times]) => [id, arrived + 1000, times.map((time) => time + 1000)]));
        expect(store.encode(undefined, false)).toHaveLength(0);
      }),
    );
  });

  it('drops the oldest when there is too much', () => {
    const store = new TruthStore(0, 16_000);
    for (let i = 0; i < 5; i++) {
      const track = new TruthTrack(`${i}`, 0);
      for (let k = 0; k < 4000; k++) track.add(k);
      store.keep(track);
    }
    expect(store.ids()).toEqual(['2', '3', '4']);
  });

  it('has one time per token frame, between the arrival and when the answer was here', async () => {
    const { port } = await start({ stamp: true, ttftMs: 5, itlMs: 1, tokens: 6 });
    const before = Number(systemMonotonicNs()) / 1e6;
    await exchange(port, { ...chat('a'), headers: { 'x-request-id': 'first' } });
    await exchange(port, chat('[[burst=2]]'));
    await exchange(port, chat('x', { n: 2, stream: false }));
    const after = Number(systemMonotonicNs()) / 1e6;
    const entries = decodeTruth(bytesOf(await exchange(port, get('/__truth'))));
    expect(entries.map(({ id, framesMs }) => [id, framesMs.length])).toEqual([
      ['first', 6],
      ['#1', 3],
      ['#2', 12],
    ]);
    for (const { arrivedMs, framesMs } of entries) {
      const times = [arrivedMs, ...framesMs];
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(arrivedMs).toBeGreaterThan(before - 1);
      expect(framesMs[0]).toBeGreaterThanOrEqual(arrivedMs + 5);
      expect(framesMs.at(-1)).toBeLessThan(after + 1);
    }
    const one = decodeTruth(bytesOf(await exchange(port, get('/__truth?id=%231&clear=1'))));
    expect(one.map(({ id }) => id)).toEqual(['#1']);
    expect(bytesOf(await exchange(port, get('/__truth')))).toHaveLength(0);
  });

  it('is not kept unless asked for', async () => {
    const { port } = await start();
    expect((await exchange(port, get('/__truth'))).status).toBe(404);
  });
});

describe('counts', () => {
  it('of requests, tokens, prompts and ids', async () => {
    const server = await start({ trackIds: true, tokens: 4 });
    const ask = (content: string, id: string) =>
      exchange(server.port, { ...chat(content), headers: { 'x-request-id': id } });
    await ask('one', 'a');
    await ask('two', 'b');
    await ask('one', 'b');
    await exchange(server.port, get('/nope'));
    const told = JSON.parse((await exchange(server.port, get('/__stats?ids=1'))).body);
    expect(told).toMatchObject({
      requests: 5,
      requestsByPath: { '/v1/chat/completions': 3, '/nope': 1, '/__stats': 1 },
      responsesByStatus: { 200: 3, 404: 1 },
      completions: 3,
      completed: 3,
      aborted: 0,
      // Four tokens and the end token each.
      tokensMade: 15,
      frames: 12,
      usageCompletionTokens: 15,
      maxInFlight: 1,
      repeatedPrompts: 1,
      requestIds: 2,
      repeatedRequestIds: 1,
      ids: ['a', 'b'],
    });
    expect(told.lateness.count).toBe(12);
    expect(JSON.parse((await exchange(server.port, get('/__stats'))).body)).not.toHaveProperty('ids');
  });

  it('do not grow with the paths that strangers try', async () => {
    const server = await start();
    for (let i = 0; i < 300; i++) await exchange(server.port, get(`/p${i}`));
    const paths = server.stats().requestsByPath;
    expect(Object.keys(paths)).toHaveLength(257);
    expect(paths['(other)']).toBe(44);
  });
});
