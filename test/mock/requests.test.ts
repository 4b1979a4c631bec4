import { describe, expect, it } from 'vitest';
import { chat, exchange, type RawRequest } from './client.ts';
import { serverMaker } from './servers.ts';

const start = serverMaker();
const keys = { apiKey: 'k', adminKey: 'a' };

describe('who may', () => {
  const get = (path: string, headers: Record<string, string>): RawRequest => ({ method: 'GET', path, headers });

  it.each([
    ['no key', {}, 401, '{"detail":"Please provide an API key"}'],
    ['x-api-key', { 'x-api-key': 'k' }, 200, undefined],
    ['a bearer', { authorization: 'Bearer k' }, 200, undefined],
    ['a bearer in other case', { authorization: 'bEARER k' }, 200, undefined],
    ['the key without the word', { authorization: 'k' }, 401, '{"detail":"Invalid API key"}'],
    ['a wrong key', { 'x-api-key': 'no' }, 401, '{"detail":"Invalid API key"}'],
    ['the admin key as API key', { 'x-api-key': 'a' }, 200, undefined],
    ['the admin key as bearer', { authorization: 'Bearer a' }, 200, undefined],
    ['x-admin-key alone', { 'x-admin-key': 'a' }, 401, '{"detail":"Please provide an API key"}'],
  ])('an API endpoint with %s', async (_, headers, status, body) => {
    const { port } = await start(keys);
    const answer = await exchange(port, get('/v1/model', headers as Record<string, string>));
    expect(answer.status).toBe(status);
    if (body !== undefined) expect(answer.body).toBe(body);
  });

  it.each([
    ['no key', {}, 401, '{"detail":"Please provide an admin key"}'],
    ['the API key', { authorization: 'Bearer k' }, 401, '{"detail":"Invalid admin key"}'],
    ['x-admin-key', { 'x-admin-key': 'a' }, 200, 'null'],
    ['a bearer', { authorization: 'Bearer a' }, 200, 'null'],
  ])('an admin endpoint with %s', async (_, headers, status, body) => {
    const { port } = await start(keys);
    const answer = await exchange(port, { path: '/v1/model/unload', headers: headers as Record<string, string> });
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  it('health needs none, and permission tells which key it is', async () => {
    const { port } = await start(keys);
    expect((await exchange(port, get('/health', {}))).body).toBe('{"status":"healthy","issues":[]}');
    const permission = async (headers: Record<string, string>) =>
      (await exchange(port, get('/v1/auth/permission', headers))).body;
    expect(await permission({ 'x-api-key': 'k' })).toBe('{"permission":"api"}');
    expect(await permission({ 'x-admin-key': 'a' })).toBe('{"permission":"admin"}');
  });

  it('lists every model for an admin, the loaded one for an API key', async () => {
    const { port } = await start({ ...keys, model: 'M' });
    const ids = async (key: string) => {
      const answer = await exchange(port, get('/v1/models', { 'x-api-key': key }));
      return (JSON.parse(answer.body) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(await ids('a')).toEqual(['M', 'M-other']);
    expect(await ids('k')).toEqual(['M']);
  });
});

describe('what is refused', () => {
  const detail = (type: string, field: string, msg: string, input: unknown, ctx?: unknown) => [
    { type, loc: ['body', field], msg, input, ...(ctx === undefined ? {} : { ctx }) },
  ];
  it.each([
    [{ n: 0 }, detail('greater_than_equal', 'n', 'Input should be greater than or equal to 1', 0, { ge: 1 })],
    [
      { temperature: 11 },
      detail('less_than_equal', 'temperature', 'Input should be less than or equal to 10', 11, { le: 10 }),
    ],
    [
      { top_k: -2 },
      detail('greater_than_equal', 'top_k', 'Input should be greater than or equal to -1', -2, { ge: -1 }),
    ],
    [
      { frequency_penalty: -1 },
      detail('greater_than_equal', 'frequency_penalty', 'Input should be greater than or equal to 0', -1, { ge: 0 }),
    ],
    [
      { max_tokens: 1.5 },
      detail(
        'int_from_float',
        'max_tokens',
        'Input should be a valid integer, got a number with a fractional part',
        1.5,
      ),
    ],
    [
      { stream: 'maybe' },
      detail('bool_parsing', 'stream', 'Input should be a valid boolean, unable to interpret input', 'maybe'),
    ],
    [{ messages: 'hi' }, detail('list_type', 'messages', 'Input should be a valid list', 'hi')],
  ])('%j by the field', async (more, expected) => {
    const { port } = await start();
    const answer = await exchange(port, chat('x', more));
    expect([answer.status, JSON.parse(answer.body)]).toEqual([422, { detail: expected }]);
  });

  it('a chat without messages, a completion without prompt, a body that is no object, none at all', async () => {
    const { port } = await start();
    const types = async (request: RawRequest) =>
      (JSON.parse((await exchange(port, request)).body) as { detail: { type: string; loc: unknown }[] }).detail.map(
        ({ type, loc }) => [type, loc],
      );
    expect(await types({ body: { max_tokens: 3 } })).toEqual([['missing', ['body', 'messages']]]);
    expect(await types({ path: '/v1/completions', body: {} })).toEqual([['missing', ['body', 'prompt']]]);
    expect(await types({ body: [1] })).toEqual([['model_attributes_type', ['body']]]);
    expect(await types({})).toEqual([['missing', ['body']]]);
    expect(await types({ body: '{}', headers: { 'content-type': 'text/plain' } })).toEqual([
      ['model_attributes_type', ['body']],
    ]);
  });

  it.each([[{ min_tokens: 9, max_tokens: 8 }], [{ response_format: null }], [{ template_vars: null }]])(
    '%j by a plain 500',
    async (more) => {
      const { port } = await start();
      const answer = await exchange(port, chat('x', more));
      expect([answer.status, answer.body]).toEqual([500, 'Internal Server Error']);
    },
  );

  it('takes numbers as text, null for not given, and every name of the length, the first winning', async () => {
    const { port } = await start();
    const made = async (more: Record<string, unknown>) => {
      const body = {
        messages: [{ role: 'user', content: '[[tokens=99]]' }],
        stream_options: { include_usage: true },
        ...more,
      };
      return (JSON.parse((await exchange(port, { body })).body) as { usage: { completion_tokens: number } }).usage
        .completion_tokens;
    };
    expect(await made({ max_tokens: '6' })).toBe(5);
    expect(await made({ max_completion_tokens: 7 })).toBe(6);
    expect(await made({ max_length: 8 })).toBe(7);
    expect(await made({ max_length: 8, max_tokens: 5, max_completion_tokens: 7 })).toBe(4);
    expect(await made({ max_tokens: 20, min_length: 3 })).toBe(19);
    // null and 0: up to the context; then the 99 tokens and their end.
    expect(await made({ max_tokens: null })).toBe(100);
    expect(await made({ max_tokens: 0, temperature: null })).toBe(100);
  });

  it('a prompt longer than the context, with its length', async () => {
    const { port } = await start({ maxSeqLen: 512 });
    const answer = await exchange(port, {
      path: '/v1/completions',
      body: { prompt: ' they'.repeat(600), stream: true },
    });
    expect([answer.status, answer.body]).toEqual([
      400,
      '{"error":{"message":"Prompt length 600 exceeds the available context size of 512 tokens","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}',
    ]);
  });

  it('a prompt that leaves no room for a chunk, as recorded from TabbyAPI', async () => {
    const { port } = await start({ maxSeqLen: 4096, cacheSize: 4096 });
    const answer = await exchange(port, {
      path: '/v1/completions',
      body: { prompt: ' they'.repeat(2600), max_tokens: 5, stream: true },
    });
    // 2600 − 1 + 2048 tokens are 19 pages of 256.
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      400,
      {
        error: {
          message:
            'Initial job allocation requires 4864 cache tokens, which exceeds the available context size of 4096 tokens',
        },
      },
    ]);
  });
});

describe('paths', () => {
  it.each([
    ['GET', '/nope', 404, '{"detail":"Not Found"}'],
    ['GET', '/__proto__', 404, '{"detail":"Not Found"}'],
    ['GET', '/v1/chat/completions', 405, '{"detail":"Method Not Allowed"}'],
    ['DELETE', '/v1/models', 405, '{"detail":"Method Not Allowed"}'],
  ])('%s %s is %i', async (method, path, status, body) => {
    const { port } = await start();
    const answer = await exchange(port, { method, path });
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  it('redirects a slash too many', async () => {
    const { port } = await start();
    const answer = await exchange(port, { method: 'GET', path: '/v1/models/?a=1', headers: { host: 'h:1' } });
    expect(answer.status).toBe(307);
    expect(answer.headers).toContainEqual(['location', 'http://h:1/v1/models?a=1']);
  });

  it('tells limits under /v1/model and /props', async () => {
    const { port } = await start({ slots: 7, maxSeqLen: 4096, cacheSize: 8192, chunkSize: 512 });
    const model = JSON.parse((await exchange(port, { method: 'GET', path: '/v1/model' })).body);
    expect(model).toMatchObject({
      owned_by: 'tabbyAPI',
      parameters: {
        max_seq_len: 4096,
        cache_size: 8192,
        max_batch_size: 7,
        chunk_size: 512,
        rope_scale: 1,
        draft: null,
      },
    });
    const props = JSON.parse((await exchange(port, { method: 'GET', path: '/props' })).body);
    expect(props).toMatchObject({ total_slots: 7, default_generation_settings: { n_ctx: 4096 } });
  });

  it('turns text into tokens and back; a beginning-of-text token is added unless refused', async () => {
    const { port } = await start();
    const post = async (path: string, body: unknown) => JSON.parse((await exchange(port, { path, body })).body);
    const text = 'Grüße 👩‍👩‍👧 they said\n';
    const plain = await post('/v1/token/encode', { text, add_bos_token: false });
    const withBos = await post('/v1/token/encode', { text });
    expect(plain.length).toBe(plain.tokens.length);
    expect(withBos).toEqual({ tokens: [1, ...plain.tokens], length: plain.length + 1 });
    expect(await post('/v1/token/decode', { tokens: plain.tokens })).toEqual({ text });
    const messages = await post('/v1/token/encode', { text: [{ role: 'user', content: text }], add_bos_token: false });
    expect(messages.length).toBe(plain.length + 5);
  });

  it('does not fall over a body nested deeper than the stack', async () => {
    const { port } = await start();
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect((await exchange(port, { body: deep })).status).toBe(400);
    expect((await exchange(port, { method: 'GET', path: '/health' })).status).toBe(200);
  });
});
