/** Whatever is asked of the built-in server: it answers, and serves on. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exchange } from './client.ts';
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
    ['a hundred thousand brackets', '['.repeat(100_000), 422],
  ])('%s', async (_, sent, status) => {
    const server = await newServer();
    expect((await exchange(server.port, { path: sent.includes('"prompt"') ? '/v1/completions' : '/v1/chat/completions', body: sent })).status).toBe(status);
    expect((await exchange(server.port, { method: 'GET', path: '/health' })).status).toBe(200);
  }); // biome-ignore format: a table
});
