import { describe, expect, it } from 'vitest';
import { chat, eventsOf, exchange } from './client.ts';
import { serverMaker } from './servers.ts';

const start = serverMaker();
const mask = (text: string) =>
  text.replace(/chatcmpl-[0-9a-f]{32}|cmpl-[0-9a-f]{32}/g, 'ID').replace(/"created":\d+/g, '"created":0');

describe('the style of other servers', () => {
  const options = { style: 'openai', model: 'M', tokens: 1 } as const;

  it('opens a chat with a role, ends it with a finish event, and tells usage in an event without choices, lines ending in LF', async () => {
    const { port } = await start({ ...options, seed: 1 });
    const answer = await exchange(port, chat('hi', { max_tokens: 2, ignore_eos: true }));
    expect(answer.headers.map(([name]) => name)).toEqual(['date', 'server', 'content-type', 'transfer-encoding']);
    expect(answer.body).not.toContain('\r');
    const head = '"id":"ID","object":"chat.completion.chunk","created":0,"model":"M"';
    const choice = (delta: string, finish: string) =>
      `{${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish},"stop_reason":null}]}`;
    const events = eventsOf(answer).map(mask);
    expect(events[0]).toBe(
      `{${head},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`,
    );
    expect(events[1]?.replace(/" [a-z]+"/, '"WORD"')).toBe(choice('{"content":"WORD"}', 'null'));
    expect(events[2]?.replace(/" [a-z]+"/, '"WORD"')).toBe(choice('{"content":"WORD"}', 'null'));
    expect(events.slice(3)).toEqual([
      choice('{"content":""}', '"length"'),
      `{${head},"choices":[],"usage":{"prompt_tokens":9,"total_tokens":11,"completion_tokens":2}}`,
      '[DONE]',
    ]);
  });

  it("writes completions with text, and none of TabbyAPI's quirks", async () => {
    const { port } = await start(options);
    const body = { prompt: 'hi', n: 2, stream: true, max_tokens: 3, ignore_eos: true, logprobs: null, stop: null };
    const answer = await exchange(port, { path: '/v1/completions', body });
    const events = eventsOf(answer).filter((event) => event !== '[DONE]');
    expect(events).toHaveLength(2 * (3 + 1));
    expect(mask(events[0] as string).replace(/" [a-z]+"/, '"WORD"')).toBe(
      '{"id":"ID","object":"text_completion","created":0,"model":"M","choices":[{"index":0,"text":"WORD","logprobs":null,"finish_reason":null,"stop_reason":null}]}',
    );
  });

  it('has no TabbyAPI endpoints, but those of vLLM', async () => {
    const { port } = await start(options);
    const status = async (method: string, path: string, body?: unknown) =>
      (await exchange(port, { method, path, body })).status;
    expect(await status('GET', '/v1/model')).toBe(404);
    expect(await status('GET', '/props')).toBe(404);
    expect(await status('GET', '/health')).toBe(200);
    expect(await status('POST', '/tokenize', { prompt: 'a b' })).toBe(200);
    const models = JSON.parse((await exchange(port, { method: 'GET', path: '/v1/models' })).body);
    expect(models.data[0]).toMatchObject({ id: 'M', owned_by: 'vllm', max_model_len: 131_072 });
  });

  it('refuses a prompt that leaves no room, as an OpenAI error', async () => {
    const { port } = await start({ ...options, maxSeqLen: 300 });
    const answer = await exchange(port, chat(' they'.repeat(290), { max_tokens: 20 }));
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      400,
      { error: { type: 'BadRequestError', code: 400 } },
    ]);
  });

  it('may end lines in CRLF, and TabbyAPI in LF, if told so', async () => {
    const crlf = await exchange((await start({ ...options, lineEnd: 'crlf' })).port, chat('x'));
    expect(crlf.body.endsWith('data: [DONE]\r\n\r\n')).toBe(true);
    const lf = await exchange((await start({ lineEnd: 'lf' })).port, chat('x'));
    expect(lf.body.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(lf.body).not.toContain('\r');
  });
});
