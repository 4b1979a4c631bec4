import { describe, expect, it } from 'vitest';
import type { Prompt } from '../../src/dataset/sample.ts';
import { PyFloat, type PyJson } from '../../src/python-json.ts';
import { type BodyOptions, backendOf, bodyBytes } from '../../src/transport/backend.ts';
import { requestHeaders } from '../../src/transport/headers.ts';
import { goldenCases } from '../support/fixtures.ts';

interface PayloadCase {
  readonly name: string;
  readonly backend: string;
  readonly mode: 'stock' | 'shim';
  readonly input: {
    readonly prompt: Prompt;
    readonly api_url: string;
    readonly output_len: number;
    readonly model: string;
    readonly model_name?: string;
    readonly extra_headers?: Readonly<Record<string, string>>;
    readonly extra_body?: Readonly<Record<string, PyJson>>;
    readonly request_id?: string;
    readonly ignore_eos?: boolean;
    readonly logprobs?: number;
    readonly chat_messages?: Prompt;
    readonly multi_modal_content?: unknown;
  };
  readonly env_OPENAI_API_KEY?: string;
  readonly expected: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly payload?: unknown;
    readonly wire_body?: string;
  };
}

// Pooling backends and multi-modal content are not there; token ids as prompts neither (TabbyAPI takes none).
const cases = goldenCases<PayloadCase>('payloads').filter(
  (one) =>
    ['openai-chat', 'openai', 'vllm'].includes(one.backend) &&
    one.input.multi_modal_content === undefined &&
    one.expected.wire_body !== undefined,
);

function optionsOf(one: PayloadCase): BodyOptions {
  return {
    model: one.input.model_name ?? one.input.model,
    stream: true,
    askUsage: true,
    ignoreEos: one.input.ignore_eos ?? false,
    logprobs: one.input.logprobs ?? null,
    extraBody: one.input.extra_body ?? {},
    forceLength: one.mode === 'shim',
    exactLength: false,
    draftTokens: 0,
    omitNulls: false,
  };
}

/** Recorded, and waiting for what they belong to: images, pooling backends. */
const WAITING = ['chat_stock_multimodal_dict', 'chat_shim_multimodal_dict', 'embeddings_plain', 'embeddings_batch', 'embeddings_chat',
  'embeddings_vlm2vec_even', 'embeddings_vlm2vec_odd', 'infinity', 'rerank']; // biome-ignore format: a list

describe('request bodies as vLLM sends them', () => {
  it('are compared for all recorded cases but those that wait', () => {
    const compared = new Set(cases.map(({ name }) => name));
    const left = goldenCases<PayloadCase>('payloads').filter(({ name }) => !compared.has(name));
    expect(left.map(({ name }) => name)).toEqual(WAITING);
  });

  it('has vectors of both backends and both modes', () => {
    expect(cases.length).toBeGreaterThanOrEqual(20);
  });
  for (const one of cases) {
    it(`${one.name}: byte for byte`, () => {
      const prompt = one.input.chat_messages ?? one.input.prompt;
      const bytes = bodyBytes(backendOf(one.backend), { prompt, outputLen: one.input.output_len }, optionsOf(one));
      expect(bytes.toString()).toBe(one.expected.wire_body);
    });
    it(`${one.name}: headers in order`, () => {
      const headers = requestHeaders({
        own: backendOf(one.backend).headers,
        apiKey: one.env_OPENAI_API_KEY ?? null,
        extra: one.input.extra_headers ?? {},
      });
      const id = one.input.request_id;
      const all = id === undefined ? headers : [...headers, ['x-request-id', id]];
      expect(all).toEqual(Object.entries(one.expected.headers ?? {}));
    });
  }
});

describe('what TabbyAPI needs', () => {
  const input = { prompt: 'Hi', outputLen: 20 };
  const base: BodyOptions = {
    model: 'm',
    stream: true,
    askUsage: true,
    ignoreEos: false,
    logprobs: null,
    extraBody: {},
    forceLength: true,
    exactLength: false,
    draftTokens: 0,
    omitNulls: true,
  };
  const payload = (backend: string, options: Partial<BodyOptions>) =>
    JSON.parse(bodyBytes(backendOf(backend), input, { ...base, ...options }).toString()) as Record<string, unknown>;

  it('asks for one token more than the least to get exactly that many, and for no loop detection', () => {
    const exact = payload('openai-chat', { exactLength: true });
    expect([exact['max_completion_tokens'], exact['min_tokens'], exact['loop_detect_window']]).toEqual([21, 20, 0]);
    const drafted = payload('openai', { exactLength: true, draftTokens: 4 });
    expect([drafted['max_tokens'], drafted['min_tokens']]).toEqual([25, 20]);
  });

  it('never gets a null', () => {
    for (const backend of ['openai-chat', 'openai']) {
      const body = bodyBytes(backendOf(backend), input, {
        ...base,
        extraBody: { stop: null, logprobs: null, a: 1 },
      }).toString();
      expect(body).not.toContain('null');
      expect(body).toContain('"a": 1');
    }
  });

  it('gets floats as floats', () => {
    const body = bodyBytes(backendOf('openai-chat'), input, {
      ...base,
      extraBody: { temperature: new PyFloat(0) },
    }).toString();
    expect(body).toContain('"temperature": 0.0');
  });
});
