import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MOCK_DEFAULTS } from '../../src/mock/options.ts';
import { planLength } from '../../src/mock/plan.ts';
import { countTokens } from '../../src/mock/tokenizer.ts';
import { chat, eventsOf, exchange, openConnection, type RawResponse, requestBytes } from './client.ts';
import { serverMaker, until } from './servers.ts';

const start = serverMaker();

interface Frame {
  readonly choices: readonly {
    readonly index: number;
    readonly delta?: { content?: string; reasoning_content?: string; tool_calls?: unknown[] };
    readonly text?: string;
    readonly finish_reason: string | null;
    readonly eos_reason?: string;
    readonly logprobs?: { content: { token: string }[] };
  }[];
  readonly usage?: Record<string, number | string>;
  readonly error?: { message: string; code?: string };
}

const framesOf = (response: RawResponse): Frame[] =>
  eventsOf(response)
    .filter((event) => event.startsWith('{'))
    .map((event) => JSON.parse(event) as Frame);

const textOf = (frames: readonly Frame[]): string =>
  frames.map(({ choices }) => choices[0]?.delta?.content ?? choices[0]?.text ?? '').join('');

const usageOf = (frames: readonly Frame[]) => frames.find(({ usage }) => usage !== undefined)?.usage;

describe('how long an answer is', () => {
  it('follows exllamav3: max_tokens−1, the end token counted and masked until min_tokens, draft tokens taken off', () => {
    const at = (asked: number | null, min: number, natural: number, draftTokens = 0) =>
      planLength({ ...MOCK_DEFAULTS, draftTokens }, asked, min, natural, 10);
    expect(at(1, 0, 99)).toEqual({ visible: 1, eos: 0 });
    expect(at(2, 0, 99)).toEqual({ visible: 1, eos: 0 });
    expect(at(16, 0, 500)).toEqual({ visible: 15, eos: 0 });
    expect(at(64, 0, 12)).toEqual({ visible: 12, eos: 1 });
    expect(at(21, 20, 5)).toEqual({ visible: 20, eos: 0 });
    expect(at(64, 20, 5)).toEqual({ visible: 20, eos: 1 });
    expect(at(32, 0, 400, 4)).toEqual({ visible: 27, eos: 0 });
    expect(at(3, 0, 400, 4)).toEqual({ visible: 1, eos: 0 });
    expect(at(null, 0, 12)).toEqual({ visible: 12, eos: 1 });
    // The end token needs room of its own.
    expect(at(13, 0, 12)).toEqual({ visible: 12, eos: 0 });
    expect(at(14, 0, 12)).toEqual({ visible: 12, eos: 1 });
  });

  it('makes N tokens of max_tokens=N where the server is another one', () => {
    expect(planLength({ ...MOCK_DEFAULTS, style: 'openai' }, 16, 0, 500, 10)).toEqual({ visible: 16, eos: 0 });
  });

  it('usage counts what was sent, for any length, merging and draft', async () => {
    const server = await start({ seed: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          tokens: fc.integer({ min: 1, max: 40 }),
          max: fc.integer({ min: 1, max: 50 }),
          min: fc.integer({ min: 0, max: 30 }),
          merge: fc.integer({ min: 1, max: 7 }),
          burst: fc.integer({ min: 1, max: 3 }),
        }),
        async ({ tokens, max, min, merge, burst }) => {
          const asked = { max_tokens: Math.max(max, min), min_tokens: min };
          const answer = await exchange(server.port, chat(`[[tokens=${tokens},merge=${merge},burst=${burst}]]`, asked));
          const frames = framesOf(answer);
          const finish = frames.at(-1)?.choices[0]?.finish_reason;
          const made = Number(usageOf(frames)?.['completion_tokens']);
          expect(countTokens(textOf(frames))).toBe(finish === 'stop' ? made - 1 : made);
          expect(finish).toBe(
            made === Math.max(1, asked.max_tokens - 1) && countTokens(textOf(frames)) === made ? 'length' : 'stop',
          );
        },
      ),
      { numRuns: 60 },
    );
    expect(server.stats().usageCompletionTokens).toBe(server.stats().tokensMade);
  });

  it('usage counts the prompt as /v1/token/encode does, and the prompt to answer', async () => {
    const { port } = await start();
    const content = 'They said [[tokens=2]] Übung macht.';
    const encoded = JSON.parse(
      (
        await exchange(port, {
          path: '/v1/token/encode',
          body: { text: [{ role: 'user', content }], add_bos_token: false },
        })
      ).body,
    );
    // <|im_start|> assistant \n
    expect(usageOf(framesOf(await exchange(port, chat(content))))?.['prompt_tokens']).toBe(encoded.length + 3);
    const plain = JSON.parse(
      (await exchange(port, { path: '/v1/token/encode', body: { text: content, add_bos_token: false } })).body,
    );
    const completion = { prompt: content, max_tokens: 5, stream_options: { include_usage: true } };
    const whole = JSON.parse((await exchange(port, { path: '/v1/completions', body: completion })).body);
    expect(whole.usage.prompt_tokens).toBe(plain.length);
  });

  it('tells usage of outputs longer than a chunk as exllamav3 does after requeues, or rightly when told to', async () => {
    // Recorded from exllamav3: prompt 100, 4997 tokens made, chunk size 2048.
    const body = {
      prompt: ' they'.repeat(100),
      max_tokens: 4998,
      min_tokens: 4997,
      stream: true,
      stream_options: { include_usage: true },
    };
    const usage = async (requeueUsage: boolean) => {
      const { port } = await start({ requeueUsage, mergeTokens: 1 });
      return usageOf(framesOf(await exchange(port, { path: '/v1/completions', body })));
    };
    expect(await usage(true)).toMatchObject({ prompt_tokens: 4353, completion_tokens: 2791 });
    expect(await usage(false)).toMatchObject({ prompt_tokens: 100, completion_tokens: 4997 });
  });

  it('ends a stream, and all others, when the cache is full in mid-run', async () => {
    const { port } = await start({ cacheSize: 18 * 256, maxSeqLen: 8192, itlMs: 1 });
    // Both run, with 9 pages each. The quick one is queued anew with 17 pages at 2304 tokens, and with 25 at 4352.
    const other = exchange(port, chat('[[tokens=90000,burst=2]]', { max_tokens: 90000 }));
    const frames = framesOf(await exchange(port, chat('[[tokens=90000,burst=100]]', { max_tokens: 90000 })));
    const message =
      'Job requires 25 pages (only 18 available) and cannot be enqueued. Total cache allocated is 18 * 256 = 4608 tokens. The request exceeds the available context size.';
    expect(frames.at(-1)?.error).toEqual({
      message,
      type: 'invalid_request_error',
      param: null,
      code: 'context_length_exceeded',
    });
    expect(framesOf(await other).at(-1)?.error?.message).toBe(message);
  });
});

describe('what an answer says', () => {
  it('one log probability per token of a frame, none for reasoning', async () => {
    const { port } = await start({ reasoningShare: 0.5 });
    const frames = framesOf(await exchange(port, chat('[[tokens=21,burst=4]]', { logprobs: true, top_logprobs: 2 })));
    const entries = frames.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? []);
    const content = frames.map(({ choices }) => choices[0]).filter((choice) => choice?.logprobs !== undefined);
    for (const choice of content) {
      const tokens = choice?.logprobs?.content.map(({ token }) => token).join('');
      expect(choice?.delta?.content?.endsWith(tokens as string)).toBe(true);
    }
    // 10 of reasoning, a tag and what is in its frame, two line breaks; the rest has entries.
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.length).toBeLessThanOrEqual(10);
  });

  it('stops at the first stop string, shows what stands before it and counts what was held back', async () => {
    const { port } = await start({ seed: 11 });
    const all = textOf(framesOf(await exchange(port, chat('[[tokens=60]]', { max_tokens: 100 }))));
    const fresh = await start({ seed: 11 });
    const stop = all.slice(40, 45);
    const frames = framesOf(
      await exchange(fresh.port, chat('[[tokens=60]]', { max_tokens: 100, stop: ['never', stop], min_tokens: 50 })),
    );
    const shown = all.slice(0, all.indexOf(stop));
    expect(textOf(frames)).toBe(shown);
    expect(frames.at(-1)?.choices[0]?.finish_reason).toBe('stop');
    const heldTo = all.indexOf(stop) + stop.length;
    // Tokens up to the one in which the stop string is complete.
    const words = all.match(/ [a-z]+/g) as string[];
    let length = 0;
    const made = words.findIndex((word) => {
      length += word.length;
      return length >= heldTo;
    });
    expect(usageOf(frames)?.['completion_tokens']).toBe(made + 1);
  });

  it('is silent while tool calls are written, and says nothing of tools when they are not allowed', async () => {
    const { port } = await start();
    const frames = framesOf(await exchange(port, chat('[[tool=2]]', { max_tokens: 300 })));
    expect(frames.map(({ choices }) => Object.keys(choices[0]?.delta ?? {})[0])).toEqual([
      'content',
      'content',
      'content',
      'tool_calls',
      undefined,
    ]);
    expect(frames.at(-2)?.choices[0]?.delta?.tool_calls).toHaveLength(2);
    // 3 of content, 49 for each call, the end token.
    expect(usageOf(frames)?.['completion_tokens']).toBe(3 + 98 + 1);
    const none = framesOf(await exchange(port, chat('[[tool=2]]', { max_tokens: 300, tool_choice: 'none' })));
    expect(none.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('gives the same texts to the same requests in the same order, and others to another seed', async () => {
    const texts = async (seed: number) => {
      const { port } = await start({ seed });
      return [textOf(framesOf(await exchange(port, chat('a')))), textOf(framesOf(await exchange(port, chat('a'))))];
    };
    const first = await texts(5);
    expect(await texts(5)).toEqual(first);
    expect(first[0]).not.toBe(first[1]);
    expect(await texts(6)).not.toEqual(first);
  });

  it('tells cached and drafted tokens when it is a newer TabbyAPI', async () => {
    const { port } = await start({ usageDetails: true, draftTokens: 3 });
    const long = `${' they'.repeat(600)}[[tokens=30]]`;
    const first = usageOf(framesOf(await exchange(port, chat(long)))) as Record<string, unknown>;
    const second = usageOf(framesOf(await exchange(port, chat(long)))) as Record<string, unknown>;
    expect(first['prompt_tokens_details']).toEqual({ cached_tokens: 0 });
    expect(second['prompt_tokens_details']).toEqual({ cached_tokens: 512 });
    const details = second['completion_tokens_details'] as Record<string, number>;
    expect(details['accepted_prediction_tokens']).toBeGreaterThan(0);
    expect(details['rejected_prediction_tokens']).toBeGreaterThanOrEqual(0);
  });
});

describe('who runs when', () => {
  it('runs as many as there are slots, the others in order; usage tells the wait', async () => {
    const server = await start({ slots: 1, ttftMs: 40, itlMs: 2, tokens: 10 });
    const connections = await Promise.all([1, 2, 3].map(() => openConnection(server.port)));
    for (const [i, connection] of connections.entries()) {
      connection.send(requestBytes(chat(`${i}`)));
      await until(() => server.stats().completions === i + 1);
    }
    const usages = await Promise.all(connections.map(async (connection) => usageOf(framesOf(await connection.next()))));
    const queued = usages.map(
      (usage) => Number(usage?.['total_time']) - Number(usage?.['prompt_time']) - Number(usage?.['completion_time']),
    );
    // Each job takes 40 + 10·2 ms; the third waits for two, less what passed between the requests.
    expect(queued[0]).toBeLessThanOrEqual(0.011);
    expect(queued[1]).toBeGreaterThan(0.02);
    expect(queued[2]).toBeGreaterThan((queued[1] as number) + 0.04);
    expect(server.stats().maxRunningJobs).toBe(1);
  });

  it('is limited by cache pages too', async () => {
    // 9 pages a job (1..257 tokens of prompt and a chunk of 2048): 20 pages hold two.
    const server = await start({ cacheSize: 20 * 256, itlMs: 3, tokens: 20 });
    await Promise.all([1, 2, 3, 4].map(() => exchange(server.port, chat('x'))));
    expect(server.stats().maxRunningJobs).toBe(2);
  });

  it('gives the slot of a client that has gone to the next at once', async () => {
    const server = await start({ slots: 1, itlMs: 5, tokens: 100_000 });
    const gone = await openConnection(server.port);
    const queuedAndGone = await openConnection(server.port);
    gone.send(requestBytes(chat('x', { max_tokens: 100_000 })));
    await until(() => server.stats().runningJobs === 1);
    queuedAndGone.send(requestBytes(chat('x', { max_tokens: 100_000 })));
    await until(() => server.stats().queuedJobs === 1);
    const waiting = exchange(server.port, chat('[[tokens=3]]'));
    await until(() => server.stats().queuedJobs === 2);
    queuedAndGone.close();
    await until(() => server.stats().queuedJobs === 1);
    gone.close();
    expect(textOf(framesOf(await waiting))).not.toBe('');
    expect(server.stats()).toMatchObject({ aborted: 2, completed: 1, inFlight: 0, runningJobs: 0 });
  });

  it('holds every answer until as many requests have come as it was told', async () => {
    const server = await start({ hold: 3 });
    const first = [exchange(server.port, chat('1')), exchange(server.port, chat('2'))];
    await until(() => server.stats().completions === 2);
    expect(server.stats().frames).toBe(0);
    await Promise.all([...first, exchange(server.port, chat('3')), exchange(server.port, chat('4'))]);
    expect(server.stats()).toMatchObject({ completed: 4, maxInFlight: expect.any(Number) });
    expect(server.stats().maxInFlight).toBeGreaterThanOrEqual(3);
  });

  it('in lockstep emits the frames of all streams in the same instants', async () => {
    const server = await start({ lockstep: true, itlMs: 20, tokens: 5, stamp: true });
    await Promise.all(
      [1, 2, 3, 4].map((i) => exchange(server.port, { ...chat('x'), headers: { 'x-request-id': `r${i}` } })),
    );
    const { decodeTruth } = await import('../../src/mock/truth.ts');
    const answer = await exchange(server.port, { method: 'GET', path: '/__truth' });
    const entries = decodeTruth(answer.raw.subarray(answer.raw.length - Buffer.concat(answer.chunks).length));
    expect(entries.map(({ id }) => id).sort()).toEqual(['r1', 'r2', 'r3', 'r4']);
    // Whole steps of 20 ms apart, but for the time of a few writes: never half a step.
    const all = entries.flatMap(({ framesMs }) => [...framesMs]).sort((a, b) => a - b);
    const bursts = all.filter((time, i) => i === 0 || time - (all[i - 1] as number) > 10).length;
    expect(all).toHaveLength(20);
    expect(bursts).toBeLessThanOrEqual(6);
  });

  it('leaves the victims of an engine made anew without an end, and tells non-streaming ones less than they think', async () => {
    const server = await start({ itlMs: 2, tokens: 400, pingIntervalMs: 30 });
    const stream = await openConnection(server.port);
    stream.send(requestBytes(chat('x', { max_tokens: 500 })));
    const whole = exchange(server.port, chat('x', { stream: false, max_tokens: 500 }));
    await until(() => server.stats().runningJobs === 2 && server.stats().frames > 4);
    const poison = await exchange(server.port, chat('x', { logprobs: null }));
    expect(framesOf(poison).at(-1)?.error?.message).toBe('Chat completion aborted. Please check the server console.');
    const victim = JSON.parse((await whole).body);
    expect(victim).toMatchObject({
      usage: null,
      choices: [{ finish_reason: 'stop', eos_reason: null, stop_str: null }],
    });
    const seen = stream.rest().length;
    // Pings go on.
    await until(
      () => stream.rest().length > seen + 2 * 40 && stream.rest().subarray(seen).toString().includes(': ping - '),
    );
    expect(stream.rest().subarray(seen).toString()).not.toContain('data:');
    expect(server.stats().runningJobs).toBe(0);
    stream.close();
    const health = await exchange(server.port, { method: 'GET', path: '/health' });
    expect([health.status, JSON.parse(health.body).status]).toEqual([503, 'unhealthy']);
    // It serves on all the same.
    expect(usageOf(framesOf(await exchange(server.port, chat('[[tokens=2]]'))))?.['completion_tokens']).toBe(3);
  });

  it('unloads under running streams, refuses, and serves again after loading', async () => {
    const server = await start({ itlMs: 2, tokens: 400, model: 'M' });
    const stream = await openConnection(server.port);
    stream.send(requestBytes(chat('x', { max_tokens: 500 })));
    await until(() => server.stats().frames > 2);
    expect((await exchange(server.port, { path: '/v1/model/unload' })).body).toBe('null');
    const seen = stream.rest().length;
    expect((await exchange(server.port, chat('x'))).body).toBe('{"detail":"No models are currently loaded."}');
    expect((await exchange(server.port, chat('x', { model: 'M' }))).status).toBe(500);
    expect((await exchange(server.port, { method: 'GET', path: '/v1/model' })).status).toBe(503);
    expect(eventsOf(await exchange(server.port, { path: '/v1/model/load', body: { model_name: 'M' } }))).toHaveLength(
      7,
    );
    expect((await exchange(server.port, chat('[[tokens=1]]'))).status).toBe(200);
    expect(stream.rest().length).toBe(seen);
    stream.close();
  });

  it.each([['stop'], ['n'], ['penalty_range'], ['xtc_probability'], ['adaptive_target']])(
    'fails a generation with %s: null, and only that',
    async (field) => {
      const server = await start();
      const frames = framesOf(await exchange(server.port, chat('x', { [field]: null })));
      expect(frames).toEqual([
        { error: { message: 'Chat completion aborted. Please check the server console.', trace: null } },
      ]);
      const whole = await exchange(server.port, chat('x', { [field]: null, stream: false }));
      expect([whole.status, whole.body]).toEqual([
        503,
        expect.stringMatching(/^\{"detail":"Chat completion \w+ aborted\./),
      ]);
      expect((await exchange(server.port, { method: 'GET', path: '/health' })).status).toBe(200);
    },
  );

  it('fails a streamed completion that does not say how long, but not one that is not streamed', async () => {
    const { port } = await start();
    const ask = (body: unknown) => exchange(port, { path: '/v1/completions', body });
    expect(framesOf(await ask({ prompt: 'x', stream: true }))[0]?.error?.message).toBe(
      'Completion aborted. Please check the server console.',
    );
    expect((await ask({ prompt: 'x' })).status).toBe(200);
  });

  it('answers in one body when streaming is disabled', async () => {
    const { port } = await start({ noStreaming: true });
    expect(JSON.parse((await exchange(port, chat('x'))).body)).toMatchObject({
      object: 'chat.completion',
      usage: { completion_tokens: 9 },
    });
  });
});
