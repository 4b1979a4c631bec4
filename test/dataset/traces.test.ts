/** Timed traces and SPEED-Bench: what their rows may hold, and Python's hash. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { pythonHash32 } from '../../src/dataset/python-hash.ts';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import { fixture, modelFolder, requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();

const refusal = (message: RegExp) => ({ exitCode: 2, message: expect.stringMatching(message) });

describe("Python's hash", () => {
  // CPython 3.11 with PYTHONHASHSEED=0: hash(text) & 0xFFFFFFFF.
  it.each([
    ['', 0],
    ['a', 3097171987],
    ['5:16', 3329218755],
    ['12345678', 810945159],
    ['123456789', 127295439],
    ['abcdefghijklmnop', 702980882],
    ['x'.repeat(100), 317027596],
  ])('of %j', (text, hash) => {
    expect(pythonHash32(text)).toBe(hash);
  });
});

describe('timed_trace', () => {
  let qwen: LocalTokenizer;
  beforeAll(async () => {
    qwen = await openLocalTokenizer(modelFolder('qwen3'), 'qwen3');
  });
  afterAll(() => qwen.close());
  const ROW = { timestamp: 5, input_length: 20, output_length: 3, hash_ids: [1, 2] };
  const trace = (rows: readonly object[], more: Partial<DataSetRequest> = {}) => {
    const path = scratchFile(folder, 'trace.jsonl', `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    return loadSamples(requestFor({ name: 'timed_trace', path, ...more }), qwen);
  };

  it('gives equal blocks for equal hash ids, and a part of a block of its own for the rest', async () => {
    const longer = { ...ROW, input_length: 48, hash_ids: [1, 2, 3] };
    const { samples } = await trace([ROW, longer, ROW]);
    const [a, b, c] = samples.map(({ prompt }) => prompt as readonly number[]);
    expect([a?.length, b?.length]).toEqual([20, 48]);
    expect(a).toEqual(c);
    expect(b?.slice(0, 16)).toEqual(a?.slice(0, 16));
    expect(b?.slice(16, 20)).not.toEqual(a?.slice(16));
    const special = new Set(qwen.specialIds);
    expect(b?.some((id) => special.has(id))).toBe(false);
  });

  it('stops where the blocks end, and takes no more than --num-prompts', async () => {
    const { samples, notes } = await trace([{ ...ROW, input_length: 100 }, ROW], { numPrompts: 1 });
    expect(samples.map(({ promptLen }) => promptLen)).toEqual([32]);
    expect(notes).toEqual([]);
    expect((await trace([ROW], { numPrompts: 7 })).notes).toEqual(['the trace has 1 rows, not 7']);
  });

  it('plans each request at its time', async () => {
    const { samples } = await trace([ROW, { ...ROW, timestamp: '7.5' }], { timedTraceSecMultiplier: 0.5 });
    expect(samples.map(({ plannedS }) => plannedS)).toEqual([2.5, 3.75]);
  });

  it.each([
    ['no time', { ...ROW, timestamp: null }, /trace\.jsonl, line 1: there is no "timestamp"$/],
    ['no length', { timestamp: 1, output_length: 1, hash_ids: [1] }, /line 1: there is no "input_length"$/],
    [
      'a length that is no number',
      { ...ROW, input_length: '20' },
      /line 1: "input_length" is a text where a number of/,
    ],
    [
      'half a token',
      { ...ROW, output_length: 2.5 },
      /line 1: "output_length" is 2.5 where a number of tokens should be$/,
    ],
    ['a time that is none', { ...ROW, timestamp: 'noon' }, /line 1: "timestamp" is a text where a number should be$/],
    [
      'hash ids that are no list',
      { ...ROW, hash_ids: 7 },
      /line 1: "hash_ids" is 7 where a list of hash ids should be$/,
    ],
    [
      'hash ids beyond 2^53',
      { ...ROW, hash_ids: [2 ** 60] },
      /line 1: "hash_ids" is 1152921504606847000 where a list of/,
    ],
    ['no blocks', { ...ROW, hash_ids: undefined }, /line 1: the prompt is empty: "hash_ids" names no blocks/],
  ])('refuses a row with %s', async (_, row, message) => {
    await expect(trace([row])).rejects.toMatchObject(refusal(message));
  });

  it('refuses backends that take no token ids', async () => {
    await expect(trace([ROW], { backend: 'openai-chat' })).rejects.toMatchObject(
      refusal(/^the timed_trace data set has prompts of token ids, which --backend openai-chat does not take$/),
    );
  });

  it('refuses a file without rows', async () => {
    await expect(trace([])).rejects.toMatchObject(refusal(/trace\.jsonl has no rows$/));
  });
});

describe('speed_bench', () => {
  const speed = (path: string, more: Partial<DataSetRequest> = {}) =>
    loadSamples(
      requestFor({ name: 'speed_bench', path, skipChatTemplate: true, numPrompts: 2, ...more }),
      wordCounter(),
    );
  const rows = (...all: readonly object[]) =>
    scratchFile(folder, 'speed.jsonl', all.map((row) => JSON.stringify(row)).join('\n'));

  it('reads a subset from the folder, or one file by itself, and is recognised by either', async () => {
    const whole = fixture('datasets/vllm/speed');
    expect((await speed(whole, { name: 'auto' })).name).toBe('speed_bench');
    const file = fixture('datasets/vllm/speed/throughput_1k.jsonl');
    const { samples } = await speed(file, { name: 'auto' });
    expect(samples).toEqual((await speed(whole, { speedBenchDatasetSubset: 'throughput_1k' })).samples);
    expect(samples[0]).toMatchObject({ category: 'z', outputLen: 4096, requestId: 'r-0' });
  });

  it.each([
    [
      'a subset that is not there',
      () => fixture('datasets/vllm/speed'),
      { speedBenchDatasetSubset: 'throughput_8k' },
      /^--speed-bench-dataset-subset throughput_8k: there is no throughput_8k\.jsonl in /,
    ],
    [
      'a category that is not there',
      () => fixture('datasets/vllm/speed'),
      { speedBenchCategory: 'x' },
      /^--speed-bench-category x: .*qualitative\.jsonl has no row of that category$/,
    ],
    [
      'a row without messages',
      () => rows({ messages: null }),
      {},
      /line 1: "messages" is null where a list of messages/,
    ],
    ['an empty list', () => rows({ messages: [] }), {}, /line 1: "messages" is an empty list where a list of messages/],
    [
      'content that is no text',
      () => rows({ messages: [{ content: 5 }] }),
      {},
      /line 1: the content of the first message is a number, not a text$/,
    ],
  ])('refuses %s', async (_, path, more, message) => {
    await expect(speed(path(), more)).rejects.toMatchObject(refusal(message));
  });
});
