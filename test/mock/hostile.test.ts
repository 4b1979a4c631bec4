/** Whatever is asked of the built-in server: it answers, and serves on. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exchange, openConnection, requestBytes } from './client.ts';
import { serverMaker } from './servers.ts';

const newServer = serverMaker();

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1, 2, 1.5, 1e9, 1e308, '', 'x', '3', 'auto', [], {}, [1], ['a', 'b'], [null], { a: 1 }),
  fc.jsonValue({ maxDepth: 3 }),
); // biome-ignore format: a list of values
const message = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ role: 'user', content: 'hi' }) },
  { weight: 1, arbitrary: fc.record({ role: odd, content: odd }, { requiredKeys: [] }) },
);
const optional = Object.fromEntries(
  ['n', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'min_tokens', 'temperature', 'top_p', 'top_k', 'stop',
    'logprobs', 'top_logprobs', 'tools', 'tool_choice', 'response_format', 'model', 'logit_bias', 'enable_thinking', 'ignore_eos',
    'template_vars', 'penalty_range', 'add_bos_token'].map((name) => [name, odd]),
); // biome-ignore format: a list of names
const body = fc.oneof(
  fc.record(
    { messages: fc.oneof(fc.array(message, { maxLength: 3 }), odd), ...optional },
    { requiredKeys: ['messages'] },
  ),
  fc.record({ prompt: odd, ...optional }, { requiredKeys: ['prompt'] }),
  odd,
);
const path = fc.constantFrom(
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/token/encode',
  '/v1/token/decode',
  '/tokenize',
  '/v1/model/load',
);

describe('the built-in server, asked anything', () => {
  it('answers every body, and the next request as well', { timeout: 60_000 }, async () => {
    // One of these nulls ends all generations, as it does in TabbyAPI; a silent end would be waited for.
    const server = await newServer({ maxSeqLen: 256, tokens: 3 });
    await fc.assert(
      fc.asyncProperty(path, body, async (to, sent) => {
        const { status, ended } = await exchange(server.port, { path: to, body: JSON.stringify(sent) });
        expect([200, 400, 401, 404, 405, 422, 500, 503]).toContain(status);
        expect(ended).toBe('complete');
      }),
      { numRuns: 400 },
    );
    const last = await exchange(server.port, { body: { messages: [{ role: 'user', content: 'hi' }], max_tokens: 3 } });
    expect([200, 503]).toContain(last.status);
  });

  it.each<[string, string, number]>([
    ['as many choices as there is no memory for', '{"messages":[{"role":"user","content":"a"}],"n":1000000000}', 422],
    ['the same by prompts', `{"prompt":${JSON.stringify(Array.from({ length: 1000 }, () => 'a'))},"n":1000,"max_tokens":1}`, 500],
    ['no prompt at all', '{"prompt":[],"max_tokens":4}', 500],
    ['token ids', '{"prompt":[1,2],"max_tokens":4}', 422],
    ['texts and token ids', '{"prompt":["a",2],"max_tokens":4}', 422],
    ['no number', '{"prompt":"a","max_tokens":NaN}', 422],
    ['an infinite one', '{"prompt":"a","max_tokens":4,"temperature":-Infinity}', 422],
    ['words like that in a text', '{"prompt":"NaN \\"Infinity","max_tokens":4}', 200],
    ['half a body', '{"prompt":"a","max_tok', 422],
    ['a hundred thousand brackets', '['.repeat(100_000), 400],
    ['the same, closed', `{"messages":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400],
    ['the same with braces', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, 400],
    ['a thousand levels less one', `{"messages":${'['.repeat(900)}${']'.repeat(900)}}`, 422],
    ['a byte order mark', '\ufeff{"prompt":"a","max_tokens":4}', 200],
    ['white space alone', ' \n ', 422],
    ['more tokens than any number', '{"prompt":"a","max_tokens":1e300}', 200],
    ['a number of a million digits', `{"prompt":"a","max_tokens":${'9'.repeat(1_000_000)}}`, 422],
    ['a thousand stop strings that never come', `{"prompt":"a","max_tokens":100000,"min_tokens":90000,"stop":${JSON.stringify(Array.from({ length: 1000 }, (_, i) => `#${i}`))}}`, 200],
  ])('%s', async (_, sent, status) => {
    const server = await newServer();
    expect((await exchange(server.port, { path: sent.includes('"prompt"') ? '/v1/completions' : '/v1/chat/completions', body: sent })).status).toBe(status);
    expect((await exchange(server.port, { method: 'GET', path: '/health' })).status).toBe(200);
  }); // biome-ignore format: a table

  it('an endless answer ends where the cache does, streamed or not', async () => {
    const server = await newServer({ cacheSize: 16_384 });
    const body = { messages: [{ role: 'user', content: 'a' }], max_tokens: 1e15, min_tokens: 1e15 };
    const whole = await exchange(server.port, { body });
    expect([whole.status, whole.body]).toEqual([400, expect.stringContaining('context_length_exceeded')]);
    const streamed = await exchange(server.port, { body: { ...body, stream: true } });
    expect([streamed.status, streamed.ended]).toEqual([200, 'complete']);
    expect(streamed.body).toContain('context_length_exceeded');
    expect((await exchange(server.port, { body: { ...body, max_tokens: 3, min_tokens: 1 } })).status).toBe(200);
  });

  it('answers others while one asks for tokens without pause', async () => {
    const server = await newServer({ itlMs: 0, ttftMs: 0 });
    const greedy = await openConnection(server.port);
    greedy.send(requestBytes({ body: { messages: [], min_tokens: 1e7, max_tokens: 1e7 } }));
    for (let i = 0; i < 3; i++)
      expect((await exchange(server.port, { method: 'GET', path: '/health' })).status).toBe(200);
    expect(server.stats().runningJobs).toBe(1);
    greedy.close();
    await expect.poll(() => server.stats().runningJobs).toBe(0);
  });

  it.each<[string, string | undefined, string | Buffer, number, string]>([
    ['no type', undefined, '{}', 422, 'model_attributes_type'],
    ['an empty type', '', '{}', 422, 'model_attributes_type'],
    ['plain text', 'text/plain', '{}', 422, 'model_attributes_type'],
    ['a form, as curl sends by itself', 'application/x-www-form-urlencoded', 'a=1', 422, 'model_attributes_type'],
    ['something like JSON', 'application/jsonl', '{}', 422, 'model_attributes_type'],
    ['JSON of some kind', 'application/vnd.api+json', '{}', 422, 'missing'],
    ['JSON with parameters', 'Application/JSON ; charset=utf-8', '{}', 422, 'missing'],
    ['no UTF-8', 'application/json', Buffer.from([0x7b, 0xff, 0x7d]), 400, 'There was an error parsing the body'],
    ['no UTF-8 and no type', undefined, Buffer.from([0xff]), 500, 'Internal Server Error'],
    ['white space that is no JSON', 'application/json', '  ', 422, '"loc":["body",2]'],
    ['nothing', 'application/json', '', 422, '"loc":["body"]'],
  ])('a body of %s', async (_, type, sent, status, words) => {
    const server = await newServer();
    const connection = await openConnection(server.port);
    const head = type === undefined ? '' : `content-type: ${type}\r\n`;
    const length = Buffer.byteLength(sent);
    connection.send(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${head}content-length: ${length}\r\n\r\n`);
    connection.send(sent);
    const answer = await connection.next();
    expect([answer.status, answer.ended]).toEqual([status, 'complete']);
    expect(answer.body).toContain(words);
    connection.close();
  });

  it.each<[string, string, number, string | undefined]>([
    ['GET', '/v1/chat/completions', 405, 'POST'],
    ['DELETE', '/v1/completions', 405, 'POST'],
    ['POST', '/v1/model', 405, 'GET'],
    ['HEAD', '/v1/model', 405, 'GET'],
    ['M-SEARCH', '/health', 405, 'GET'],
    ['OPTIONS', '/health', 405, 'GET'],
    ['GET', '/', 404, undefined],
    ['POST', '/v1/nothing?x=1', 404, undefined],
    ['GET', '/constructor', 404, undefined],
    ['GET', '/__proto__', 404, undefined],
    ['GET', '*', 404, undefined],
    ['GET', `/${'/'.repeat(60_000)}x/`, 404, undefined],
    ['GET', '/v1/model/', 307, undefined],
    ['HEAD', '/nothing', 404, undefined],
  ])('%s %s', async (method, path, status, allow) => {
    const server = await newServer();
    const connection = await openConnection(server.port);
    connection.send(`${method} ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    if (method === 'HEAD') {
      // The length that a body would have, and no body: what comes next is the next answer.
      connection.send('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
      await expect.poll(() => connection.rest().toString()).toContain('healthy');
      const [first = '', second = ''] = connection.rest().toString().split('\r\n\r\n');
      expect(first).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(first).toContain('content-length: ');
      expect(second).toMatch(/^HTTP\/1.1 200 OK/);
    } else {
      const answer = await connection.next();
      expect(answer.status).toBe(status);
      expect(answer.headers.find(([name]) => name === 'allow')?.[1]).toBe(allow);
      if (status === 405) expect(answer.body).toBe('{"detail":"Method Not Allowed"}');
      if (status === 404) expect(answer.body).toBe('{"detail":"Not Found"}');
    }
    connection.close();
  });

  it('answers or closes, whatever bytes come on a connection, and serves the next one', { timeout: 60_000 }, async () => {
    const server = await newServer({ maxSeqLen: 256, tokens: 2 });
    const whole = (text: string) => `POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
    const piece = fc.oneof(
      fc.constantFrom(
        whole('{"prompt":"a","max_tokens":2}'),
        whole('{"prompt":'),
        'GET /health HTTP/1.1\r\n\r\n',
        'GET /health HTTP/1.0\r\nconnection: keep-alive\r\n\r\n',
        'POST /v1/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n',
        '2\r\n{}\r\n',
        '0\r\n\r\n',
        'ffffffff\r\n',
        'content-length: -1\r\n',
        'expect: 100-continue\r\n',
        '\r\n',
        '\r\n\r\n',
        ' ',
        ':',
      ),
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 6 }), async (pieces) => {
        const connection = await openConnection(server.port);
        for (const part of pieces) connection.send(Buffer.from(part, 'latin1'));
        connection.close();
        const next = await exchange(server.port, { path: '/v1/completions', body: { prompt: 'a', max_tokens: 2 } });
        expect([next.status, next.ended]).toEqual([200, 'complete']);
      }),
      { numRuns: 200 },
    );
    // Nothing is left behind: every request was answered or its client is known to have gone.
    await expect.poll(() => server.stats().runningJobs + server.stats().queuedJobs).toBe(0);
  }); // biome-ignore format: long lines of HTTP
});
