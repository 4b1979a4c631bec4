import { afterAll, describe, expect, it } from 'vitest';
import type { MockOptions } from '../../src/mock/options.ts';
import { type MockServer, startMock } from '../../src/mock/server.ts';
import { fixtureBytes } from '../support/fixtures.ts';
import { eventsOf, exchange, parseResponse, type RawRequest, type RawResponse } from './client.ts';
import { until } from './servers.ts';

/** One recording of TabbyAPI and the request that led to it. */
interface Scenario {
  readonly name: string;
  readonly server_options: readonly string[];
  readonly request: RawRequest & { readonly body: unknown };
}

const scenarios = JSON.parse(fixtureBytes('wire/index.json').toString()) as Scenario[];

/** What the recorded server was, with shorter times. */
const BASE: Partial<MockOptions> = {
  port: 0,
  model: 'Stub-8B-exl3',
  ttftMs: 20,
  itlMs: 2,
  maxSeqLen: 8192,
  cacheSize: 65536,
  slots: 128,
};

function optionsOf(words: readonly string[]): Partial<MockOptions> {
  const value = (name: string): number | undefined =>
    words.includes(name) ? Number(words[words.indexOf(name) + 1]) : undefined;
  return {
    ...BASE,
    ...(words.includes('--no-auth') ? {} : { apiKey: 'stub-api-key', adminKey: 'stub-admin-key' }),
    noModel: words.includes('--no-model'),
    reasoningShare: value('--reasoning-share') ?? 0,
    reasoningParsed: !words.includes('--reasoning-mode'),
    draftTokens: value('--draft') ?? 0,
    maxSeqLen: value('--max-seq-len') ?? 8192,
    cacheSize: value('--cache-size') ?? 65536,
    // The engine that blocks the event loop merges about three tokens into a frame.
    mergeTokens: words.includes('blocking') ? 3 : 1,
    // The pings of these recordings, sixty times as fast.
    ...(words.includes('--sse-ping') ? { pingIntervalMs: 50 } : {}),
  };
}

const servers: MockServer[] = [];
async function start(options: Partial<MockOptions>): Promise<number> {
  const server = await startMock(options);
  servers.push(server);
  return server.port;
}
afterAll(() => Promise.all(servers.map((server) => server.close())));

function recorded(name: string): RawResponse {
  const raw = fixtureBytes(`wire/${name}.raw`);
  const parsed = parseResponse(raw);
  if (parsed === null) throw new Error(`${name}: no head`);
  return { ...parsed.response, raw, ended: parsed.complete === null ? 'fin' : 'complete' };
}

/**
 * Makes alike what may differ: ids, times, dates, words (but not their number), and the counts of the prompt, as the two servers
 * have different tokenizers. Order, spacing, number formats and everything else stay.
 */
function alike(text: string): string {
  return text
    .replace(/(chatcmpl|cmpl|call)[-_][0-9a-f]{24,32}/g, '$1-ID')
    .replace(/("created": ?)\d+/g, '$1SECOND')
    .replace(/(?<=["a-z]) [a-z]+(?=[ "])/g, ' w')
    .replace(/("(?:prompt_tokens|total_tokens|token_id)": ?)\d+/g, '$1N')
    .replace(/(per_sec": ?)(?:\d+\.\d+)/g, '$1RATE')
    .replace(/(_time": ?)(?:\d+\.\d+)/g, '$1TIME')
    .replace(/("max_batch_size": ?)\d+/g, '$1N');
}

function headOf(response: RawResponse): string[] {
  const lines = response.headers.map(([name, value]) => {
    if (name === 'date') return 'date: DATE';
    return name === 'content-length' ? 'content-length: N' : `${name}: ${value}`;
  });
  return [response.statusLine, ...lines];
}

/** The events of each choice in its order: how choices interleave is up to timing, and so is which of them is the last. */
function byChoice(response: RawResponse): unknown {
  // How many pings come in a row is up to timing as well.
  const events = eventsOf(response)
    .map(alike)
    .filter((event, i, all) => event !== ':' || all[i - 1] !== ':');
  const several = new Set(
    events.map((event) => /"index": (\d+)/.exec(event)?.[1]).filter((index) => index !== undefined),
  );
  if (several.size < 2) return events;
  return events.map((event) => event.replace(/"index": \d+/, '"index": K')).sort();
}

/** With frames that merge a varying number of tokens only the forms can be compared, in their order. */
function forms(response: RawResponse): string[] {
  const events = eventsOf(response).map((event) =>
    alike(event)
      .replace(/( w)+/g, ' w')
      .replace(/\[\{"token".*?\}\](?=\}\})/g, '[LOGPROBS]'),
  );
  return events.filter((event, i) => event !== events[i - 1]);
}

const isStream = (response: RawResponse): boolean =>
  response.headers.some(([, value]) => value.startsWith('text/event-stream'));

/** Requests that were recorded as they stand in the index, and that end. */
const replayable = scenarios.filter(
  ({ name, request }) =>
    !(typeof request.body === 'string' && /^…|^three|^second/.test(request.body)) &&
    // Compared apart, below.
    ![
      'err_400_cache_headroom',
      'err_context_mid_stream',
      'health_unhealthy',
      'model_unload',
      'get_model',
      'chat_stop_string',
      'compl_unicode_crlf',
      'token_encode',
      'token_encode_messages',
    ].includes(name),
);

function faster(request: RawRequest): RawRequest {
  if (typeof request.body !== 'object' || request.body === null) return request;
  const text = JSON.stringify(request.body).replace('ttft=2600', 'ttft=130').replace('stall_ms=2300', 'stall_ms=130');
  return { ...request, body: JSON.parse(text) };
}

describe('the built-in server against recordings of TabbyAPI', () => {
  it.each(replayable.map((scenario) => [scenario.name, scenario] as const))('%s', async (name, scenario) => {
    const port = await start(optionsOf(scenario.server_options));
    const ours = await exchange(port, faster(scenario.request));
    const theirs = recorded(name);
    expect(headOf(ours)).toEqual(headOf(theirs));
    expect(ours.ended).toBe(theirs.ended);
    if (!isStream(theirs)) {
      expect(alike(ours.body)).toBe(alike(theirs.body));
      return;
    }
    // One event, one chunk.
    for (const chunk of [...ours.chunks, ...theirs.chunks])
      expect(chunk.toString()).toMatch(/^(data|:)[^\r\n]*\r\n\r\n$/);
    const merges = ['chat_draft', 'chat_draft_max_tokens', 'chat_blocking_engine'].includes(name);
    if (merges) expect(forms(ours)).toEqual(forms(theirs));
    else expect(byChoice(ours)).toEqual(byChoice(theirs));
    expect(ours.raw.subarray(-7).toString()).toBe('\r\n0\r\n\r\n');
  });
});

describe('recordings that need more than one request', () => {
  it('get_model: all but the template', async () => {
    const port = await start({ ...BASE });
    const ours = await exchange(port, { method: 'GET', path: '/v1/model' });
    const theirs = recorded('get_model');
    const form = (text: string) => alike(text).replace(/("prompt_template_content":)"(?:[^"\\]|\\.)*"/, '$1""');
    expect(form(ours.body)).toBe(form(theirs.body));
  });

  it('health_unhealthy: one issue per failure, for good', async () => {
    const port = await start({ ...BASE });
    for (let i = 0; i < 3; i++)
      await exchange(port, { body: { messages: [{ role: 'user', content: '[[fail=1]]' }], stream: true } });
    const ours = await exchange(port, { method: 'GET', path: '/health' });
    const theirs = recorded('health_unhealthy');
    const form = (text: string) => text.replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"/g, 'TIME');
    expect(headOf(ours)).toEqual(headOf(theirs));
    expect(form(ours.body)).toBe(form(theirs.body));
  });

  it('model_unload, then err_503_no_model', async () => {
    const port = await start({ ...BASE });
    const ours = await exchange(port, { path: '/v1/model/unload' });
    expect([headOf(ours), ours.body]).toEqual([headOf(recorded('model_unload')), recorded('model_unload').body]);
    const refused = await exchange(port, { body: { messages: [], max_tokens: 3 } });
    expect(refused.body).toBe(recorded('err_503_no_model').body);
  });

  it('victim_nonstream: a success in form', async () => {
    const server = await startMock({ ...BASE, itlMs: 2, tokens: 400 });
    servers.push(server);
    const whole = exchange(server.port, {
      body: { messages: [{ role: 'user', content: 'x' }], stream_options: { include_usage: true } },
    });
    await until(() => server.stats().tokensMade > 2);
    await exchange(server.port, { path: '/v1/model/unload' });
    const form = (text: string) => alike(text).replace(/( w)+/, ' w');
    expect(form((await whole).body)).toBe(form(recorded('victim_nonstream').body));
  });

  it('err_context_mid_stream: the last event', async () => {
    const port = await start({ ...BASE, maxSeqLen: 4096, cacheSize: 4096 });
    const body = {
      messages: [{ role: 'user', content: '[[tokens=99999,burst=50]]' }],
      max_tokens: 100_000,
      stream: true,
    };
    const ours = await exchange(port, { body });
    expect(ours.chunks.at(-1)?.toString()).toBe(recorded('err_context_mid_stream').chunks.at(-1)?.toString());
    expect(ours.ended).toBe('complete');
  });
});

describe('times in usage', () => {
  const recordedTimes = [
    'chat_basic',
    'chat_max_tokens_16',
    'chat_min_tokens_on',
    'chat_n2',
    'chat_burst_merged',
    'chat_tools',
    'chat_reasoning',
    'compl_n3_quirk',
    'compl_prompt_list',
  ];

  it('are those recorded, where the times of the engine are the same', async () => {
    const times = (response: RawResponse) =>
      [...(response.body.match(/"(?:prompt|completion)_time": [\d.]+/g) ?? [])].map((text) =>
        Number(text.split(' ')[1]),
      );
    await Promise.all(
      recordedTimes.map(async (name) => {
        const scenario = scenarios.find((one) => one.name === name) as Scenario;
        const words = scenario.server_options;
        const value = (flag: string) => Number(words[words.indexOf(flag) + 1]);
        const port = await start({ ...optionsOf(words), ttftMs: value('--ttft-ms'), itlMs: value('--itl-ms') });
        const ours = times(await exchange(port, scenario.request));
        const theirs = times(recorded(name));
        expect(ours).toHaveLength(2);
        // Theirs were measured, with a real event loop's delays: a step at most.
        for (const [i, time] of ours.entries()) {
          expect(Math.abs(time - (theirs[i] as number)), name).toBeLessThanOrEqual(0.0151);
        }
      }),
    );
  });

  it('leave the rate of generation to the token rate, however tokens are merged into frames', async () => {
    // 40 tokens every 10 ms: 390 ms from the first to the last; with 4 to a frame the first frame holds 4: 360 ms for 36 tokens.
    for (const [mark, expected] of [
      ['', 0.39],
      [',merge=4', 0.36],
      [',burst=4', 0.09],
    ] as const) {
      const port = await start({ ...BASE, itlMs: 10 });
      const body = {
        messages: [{ role: 'user', content: `[[tokens=99${mark}]]` }],
        max_tokens: 41,
        stream_options: { include_usage: true },
      };
      expect(JSON.parse((await exchange(port, { body })).body)).toMatchObject({
        usage: { completion_tokens: 40, completion_time: expected },
      });
    }
  });

  it('spread by the jitter that was asked for, the same in each run', async () => {
    const times = async (seed: number) => {
      const port = await start({ ...BASE, ttftMs: 40, itlMs: 3, jitter: 0.5, seed });
      const body = {
        messages: [{ role: 'user', content: '[[tokens=30]]' }],
        max_tokens: 64,
        stream_options: { include_usage: true },
      };
      const { usage } = JSON.parse((await exchange(port, { body })).body);
      return [usage.prompt_time, usage.completion_time];
    };
    const [first, again, other] = await Promise.all([times(1), times(1), times(2)]);
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(first?.[0]).toBeGreaterThanOrEqual(0.02);
    expect(first?.[0]).toBeLessThanOrEqual(0.06);
  });
});
