import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { PROBE_TEXT } from '../../src/dataset/count-cache.ts';
import {
  type JsonPoster,
  openServerTokenizer,
  type ServerTokenizerSpec,
  undiciPoster,
} from '../../src/dataset/tokenizer-server.ts';

const spec: ServerTokenizerSpec = { origin: 'http://127.0.0.1:1', basePath: '', headers: {}, model: 'Stub-8B' };

/** Answers each POST by `answer`; notes what was asked and how many were in flight at most. */
function scripted(answer: (body: { text: string }, n: number) => { status: number; text: string } | Error) {
  const seen = { paths: [] as string[], bodies: [] as unknown[], inFlight: 0, most: 0, closed: 0 };
  const poster: JsonPoster = {
    async post(path, body) {
      seen.paths.push(path);
      const parsed = JSON.parse(body) as { text: string };
      seen.bodies.push(parsed);
      seen.most = Math.max(seen.most, ++seen.inFlight);
      const n = seen.bodies.length;
      await new Promise((resolve) => setImmediate(resolve));
      seen.inFlight--;
      const reply = answer(parsed, n);
      if (reply instanceof Error) throw reply;
      return reply;
    },
    async close() {
      seen.closed++;
    },
  };
  return { poster, seen };
}

const ok = (length: number) => ({ status: 200, text: JSON.stringify({ tokens: [], length }) });
const socketError = (code: string) => Object.assign(new Error('socket'), { code });

describe('the tokenizer of the server', () => {
  it('asks for each text once, without BOS, several at a time, and keeps the order', async () => {
    const { poster, seen } = scripted(({ text }) => ok(text.length));
    const tokenizer = openServerTokenizer({ ...spec, basePath: '/tabby' }, poster);
    const texts = Array.from({ length: 50 }, (_, i) => 'x'.repeat((i * 7) % 13));
    expect(await tokenizer.countAll(texts)).toEqual(texts.map((text) => text.length));
    expect(new Set(seen.paths)).toEqual(new Set(['/tabby/v1/token/encode']));
    const asked = seen.bodies.map((body) => (body as { text: string }).text);
    expect(asked.toSorted()).toEqual([...texts, PROBE_TEXT].toSorted());
    expect(
      seen.bodies.every((body) => JSON.stringify(Object.keys(body as object)) === '["text","add_bos_token"]'),
    ).toBe(true);
    expect(seen.bodies.every((body) => (body as { add_bos_token: unknown }).add_bos_token === false)).toBe(true);
    expect(seen.most).toBe(8);
    expect(tokenizer.id).toBe('Stub-8B');
    expect(await tokenizer.countAll([])).toEqual([]);
    await tokenizer.close();
    expect(seen.closed).toBe(1);
  });

  it('asks once more when a kept connection turned out to be closed, not for ever', async () => {
    const once = scripted((_, n) => (n === 1 ? socketError('ECONNRESET') : ok(3)));
    expect(await openServerTokenizer(spec, once.poster).countAll(['a'])).toEqual([3]);
    const always = scripted(() => socketError('UND_ERR_SOCKET'));
    await expect(openServerTokenizer(spec, always.poster).countAll(['a'])).rejects.toMatchObject({ exitCode: 4 });
    expect(always.seen.bodies).toHaveLength(2);
  });

  it('asks a silent server once more, then says what to do', async () => {
    const silence = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    const once = scripted((_, n) => (n === 1 ? silence() : ok(3)));
    expect(await openServerTokenizer(spec, once.poster).countAll(['a'])).toEqual([3]);
    const always = scripted(silence);
    await expect(openServerTokenizer(spec, always.poster).countAll(['a'])).rejects.toMatchObject({
      exitCode: 4,
      message: 'the server at http://127.0.0.1:1 does not answer /v1/token/encode: nothing within 10 s, twice',
      hint: expect.stringContaining('--tokenizer FOLDER'),
    });
    expect(always.seen.bodies).toHaveLength(2);
  });

  it.each([
    [
      socketError('ECONNREFUSED'),
      4,
      /^the server at http:\/\/127\.0\.0\.1:1 cannot be reached to count tokens \(ECONNREFUSED\)$/,
    ],
    [
      { status: 401, text: '{"detail": "Invalid API key"}' },
      2,
      /^the server refused the key: .*401: .*Invalid API key/,
    ],
    [{ status: 404, text: '{"detail": "Not Found"}' }, 2, /^the server cannot count tokens: .*404/],
    [
      { status: 503, text: '{"detail": "No models are currently loaded."}' },
      4,
      /^the server cannot count tokens now: .*No models/,
    ],
    [{ status: 500, text: 'Internal Server Error' }, 4, /^the server cannot count tokens now: .*Internal Server Error/],
    [{ status: 422, text: '' }, 2, /^the server would not count tokens: .*422: \(empty\)$/],
    [{ status: 200, text: '<html>' }, 2, /did not answer with a token count: <html>$/],
    [{ status: 200, text: 'null' }, 2, /did not answer with a token count: null$/],
    [{ status: 200, text: '{"tokens": [1], "length": "1"}' }, 2, /did not answer with a token count/],
  ])('says what is wrong: %j', async (answer, exitCode, message) => {
    const { poster } = scripted(() => answer);
    await expect(openServerTokenizer(spec, poster).countAll(['a'])).rejects.toMatchObject({
      exitCode,
      message: expect.stringMatching(message),
      hint: expect.stringContaining(
        exitCode === 2 && /key/.test(String(message)) ? 'TABBY_API_KEY' : '--tokenizer FOLDER',
      ),
    });
  });

  describe('keeps counts between runs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabby-load-counts-'));
    const env = { XDG_CACHE_HOME: folder };
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    /** A tokenizer of one token per `width` characters, which shows in the ids of any text. */
    const tokenizerOf = (width: number) =>
      scripted(({ text }) => {
        const tokens = (text.match(new RegExp(`.{1,${width}}`, 'gsu')) ?? []).map((part) => part.length);
        return { status: 200, text: JSON.stringify({ tokens, length: tokens.length }) };
      });
    const texts = Array.from({ length: 40 }, (_, i) => 'é'.repeat(i));
    const expected = (width: number) => texts.map((text) => Math.ceil(text.length / width));
    const countWith = async (width: number, all = texts, more: Partial<ServerTokenizerSpec> = {}) => {
      const { poster, seen } = tokenizerOf(width);
      const counts = await openServerTokenizer({ ...spec, ...more }, poster, env).countAll(all);
      return { counts, asked: seen.bodies.length };
    };

    it('and asks only for what is new, of this tokenizer', async () => {
      expect(await countWith(2)).toEqual({ counts: expected(2), asked: 41 });
      expect(await countWith(2)).toEqual({ counts: expected(2), asked: 1 });
      expect(await countWith(2, [...texts, 'new'])).toEqual({ counts: [...expected(2), 2], asked: 2 });
      expect(await countWith(3)).toEqual({ counts: expected(3), asked: 41 });
    });

    it('and not those of a model of another name: it may have more tokens', async () => {
      expect(await countWith(2, texts, { model: 'Stub-9B' })).toEqual({ counts: expected(2), asked: 41 });
      expect(await countWith(2, texts, { model: 'Stub-9B' })).toEqual({ counts: expected(2), asked: 1 });
    });

    it('unless that is switched off', async () => {
      expect(await countWith(5, texts, { noCache: true })).toEqual({ counts: expected(5), asked: 40 });
      expect(await countWith(5)).toEqual({ counts: expected(5), asked: 41 });
      expect(await countWith(5, texts, { noCache: true })).toEqual({ counts: expected(5), asked: 40 });
    });

    it('of the last eight tokenizers', async () => {
      const kept = join(folder, 'tabby-load', 'token-counts');
      rmSync(kept, { recursive: true });
      for (let k = 0; k < 9; k++) {
        await countWith(2, texts, { model: `M${k}` });
        // The first two are the oldest, whatever the clock of the file system.
        for (const name of k < 2 ? readdirSync(kept) : []) utimesSync(join(kept, name), 1, 1 + k);
      }
      expect(readdirSync(kept)).toHaveLength(8);
      expect((await countWith(2, texts, { model: 'M8' })).asked).toBe(1);
    });

    it.each<[string, (bytes: Buffer) => Buffer]>([
      ['no file of ours', () => Buffer.alloc(48, 'x')],
      ['empty', () => Buffer.alloc(0)],
      ['cut off', (bytes) => bytes.subarray(0, bytes.length - 1)],
      ['cut off between two entries', (bytes) => bytes.subarray(0, bytes.length - 16)],
      ['spoilt in one bit', (bytes) => bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte)) as Buffer],
    ])('and does without a file that is %s', async (_, spoil) => {
      const kept = join(folder, 'tabby-load', 'token-counts');
      rmSync(kept, { recursive: true, force: true });
      await countWith(2);
      for (const name of readdirSync(kept)) writeFileSync(join(kept, name), spoil(readFileSync(join(kept, name))));
      expect(await countWith(2)).toEqual({ counts: expected(2), asked: 41 });
      expect((await countWith(2)).asked).toBe(1);
    });

    it('and does without a folder that cannot be made', async () => {
      const kept = join(folder, 'tabby-load', 'token-counts');
      rmSync(kept, { recursive: true });
      writeFileSync(kept, '');
      expect(await countWith(2)).toEqual({ counts: expected(2), asked: 41 });
    });

    it('and asks nobody which tokenizer it is for a few texts', async () => {
      expect((await countWith(2, ['a', 'b'])).asked).toBe(2);
    });
  });

  it('stops asking after the first failure', async () => {
    const { poster, seen } = scripted((_, n) => (n === 3 ? { status: 503, text: 'no' } : ok(1)));
    const texts = Array.from({ length: 200 }, () => 'a');
    await expect(openServerTokenizer(spec, poster).countAll(texts)).rejects.toMatchObject({ exitCode: 4 });
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(seen.bodies.length).toBeLessThan(30);
  });

  describe('over HTTP', () => {
    const server = createServer();
    afterEach(() => {
      server.removeAllListeners('request');
      server.closeAllConnections();
      server.close();
    });

    it('sends the key, keeps connections open, and gives every character of a text', async () => {
      let connections = 0;
      const asked: { request: IncomingMessage; text: string }[] = [];
      server.on('connection', () => connections++);
      server.on('request', (request: IncomingMessage, response) => {
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('end', () => {
          const { text } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { text: string };
          asked.push({ request, text });
          response.end(JSON.stringify({ tokens: [], length: [...text].length }));
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const tokenizer = openServerTokenizer({ ...spec, origin, headers: { authorization: 'Bearer K' } });
      const texts = ['', 'a', 'é\u0000🚀\u2028"', ...Array.from({ length: 57 }, (_, i) => 'x'.repeat(i))];
      expect(await tokenizer.countAll(texts)).toEqual(texts.map((text) => [...text].length));
      expect(asked.map(({ text }) => text).sort()).toEqual([...texts, PROBE_TEXT].toSorted());
      expect(asked.every(({ request }) => request.headers.authorization === 'Bearer K')).toBe(true);
      expect(asked.every(({ request }) => request.method === 'POST' && request.url === '/v1/token/encode')).toBe(true);
      expect(asked[0]?.request.headers['content-type']).toBe('application/json');
      expect(connections).toBeLessThanOrEqual(8);
      await tokenizer.close();
      await tokenizer.close();
    });

    it('waits for the whole of an answer only so long, even if it drips', async () => {
      const drips = new Set<NodeJS.Timeout>();
      server.on('request', (_, response) => {
        response.write('{"tokens":[');
        drips.add(setInterval(() => response.write(' '), 5));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const poster = undiciPoster({ origin, headers: {} }, 100);
      const tokenizer = openServerTokenizer({ ...spec, origin }, poster);
      await expect(tokenizer.countAll(['a', 'b', 'c'])).rejects.toThrow(/does not answer \/v1\/token\/encode/);
      await tokenizer.close();
      for (const drip of drips) clearInterval(drip);
    });

    it('says so when nothing listens', async () => {
      const tokenizer = openServerTokenizer(spec);
      await expect(tokenizer.countAll(['a'])).rejects.toMatchObject({ exitCode: 4 });
      await tokenizer.close();
    });
  });
});
