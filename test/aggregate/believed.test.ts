import { describe, expect, it } from 'vitest';
import { believed, type CountRules, chunkSizeOf } from '../../src/aggregate/believed.ts';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import type { RequestRecord } from '../../src/record/record.ts';

/** The measured example: prompt 100, 4,997 tokens made, and this usage. */
function long(more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    type: 'request',
    i: 0,
    success: true,
    prompt_len: 4353,
    client_prompt_len: 100,
    output_tokens: 2791,
    ttft: 1,
    itl: [],
    latency: 51,
    start_time: 0,
    arrival_time: 0,
    error: '',
    output_len: 4998,
    frames: 3000,
    ...more,
  };
}

/** What comes out: prompt tokens, output tokens, and how they were counted. */
function judged(more: Partial<RequestRecord>, rules: Partial<CountRules> = {}): unknown[] {
  const { record, countedBy, isDoubted } = believed(long(more), rules.exactLength ?? false, rules.chunkSize);
  return [record.prompt_len, record.output_tokens, isDoubted ? 'doubted' : countedBy];
}

describe('usage of an output beyond the chunk size', () => {
  it.each<[string, Partial<RequestRecord>, unknown[]]>([
    ['logprobs count exactly', { logprob_tokens: 4997, generated_text: 'x', finish_reason: 'length' }, [100, 4997, 'logprobs']],
    ['logprobs leave reasoning out', { logprob_tokens: 4000, reasoning_frames: 5, finish_reason: 'length' }, [100, 4997, 'limit']],
    ['text is to be counted', { generated_text: 'x', finish_reason: 'length' }, [100, null, 'text']],
    ['an end at the limit is one short of it', { finish_reason: 'length' }, [100, 4997, 'limit']],
    ['an own end leaves the frames', { finish_reason: 'stop' }, [100, 3000, 'frames']],
    ['frames prove what a nearby limit does not', { finish_reason: 'length', frames: 2795, output_len: 2800 }, [100, 2799, 'limit']],
    ['merged frames tell nothing', { finish_reason: 'stop', frames: 1700 }, [4353, 2791, 'doubted']],
  ])('%s', (_, more, expected) => {
    expect(judged(more)).toEqual(expected);
  }); // biome-ignore format: a table

  it('has the whole length where that was asked for', () => {
    expect(judged({ output_len: 4997, finish_reason: 'length' }, { exactLength: true })).toEqual([100, 4997, 'limit']);
  });

  it.each<[string, Partial<RequestRecord>]>([
    ['a chat template adds to every prompt', { prompt_len: 900, output_tokens: 499, output_len: 500, logprob_tokens: 499 }],
    ['and answers end at their limit', { prompt_len: 900, output_tokens: 499, output_len: 500, finish_reason: 'length', frames: 400 }],
    ['the prompt is as known', { prompt_len: 130, output_tokens: 2000, finish_reason: 'stop' }],
    ['the client does not know the prompt', { client_prompt_len: undefined as unknown as number }],
    ['no usage was told', { output_tokens: null }],
    ['the request failed', { success: false }],
  ])('stands where %s', (_, more) => {
    const record = long(more);
    expect(believed(record, false).record).toBe(record);
  }); // biome-ignore format: a table
});

describe('the chunk size of the server', () => {
  /** As TabbyAPI with a chunk of 256 tells it: prompt 22 and 8 of the template, taken anew at two cache pages, 549 made. */
  const small = { prompt_len: 513, client_prompt_len: 22, output_tokens: 66, output_len: 550, frames: 549 };

  it.each<[string, number | null, Partial<RequestRecord>, unknown[]]>([
    ['frames prove it', 256, { ...small, finish_reason: 'length' }, [22, 549, 'limit']],
    ['logprobs count', 256, { ...small, logprob_tokens: 549 }, [22, 549, 'logprobs']],
    ['frames at an own end', 256, { ...small, finish_reason: 'stop' }, [22, 549, 'frames']],
    ['merged frames, ended just behind the pages', 256, { ...small, output_tokens: 10, output_len: 500, frames: 9, finish_reason: 'length' }, [22, 499, 'limit']],
    ['merged frames, own end', 256, { ...small, output_tokens: 300, frames: 200, finish_reason: 'stop' }, [513, 300, 'doubted']],
    ['a chunk of 2,048 cannot make so few', 2048, { ...small, finish_reason: 'length' }, [513, 66, null]],
    ['nothing is known of the chunk', null, { ...small, finish_reason: 'length' }, [513, 66, null]],
    ['a template of 900 tokens is none of 2,048', 2048, { prompt_len: 1000, output_tokens: 300, output_len: 5000, frames: 200, finish_reason: 'stop' }, [1000, 300, null]],
    ['nor is one of 3,000 with short answers', 2048, { prompt_len: 3100, output_tokens: 100, output_len: 128, frames: 60, finish_reason: 'stop' }, [3100, 100, null]],
    ['but with long ones it may be', 2048, { prompt_len: 3100, output_tokens: 1700, output_len: 4000, frames: 900, finish_reason: 'stop' }, [3100, 1700, 'doubted']],
  ])('%s', (_, chunkSize, more, expected) => {
    expect(judged(more, { chunkSize })).toEqual(expected);
  }); // biome-ignore format: a table

  it.each<[unknown, number | null]>([
    [{ chunk_size: 512 }, 512],
    [{ chunk_size: '512' }, null],
    [{ chunk_size: 0 }, null],
    [{ chunk_size: null }, null],
    [{}, null],
    [undefined, null],
    [null, null],
  ])('is read from %j', (parameters, expected) => {
    expect(chunkSizeOf(parameters)).toBe(expected);
  });
});

describe('answers without usage', () => {
  const none = { prompt_len: 7, client_prompt_len: 7, output_tokens: null, frames: 40, generated_text: 'x'.repeat(33) };

  it.each<[string, Partial<RequestRecord>, Record<string, unknown>]>([
    ['logprobs come before the text', { logprob_tokens: 50 }, { tokens: 50, byLogprobs: 1 }],
    ['the text before the frames', {}, { tokens: 33, counted: 1 }],
    ['logprobs tell nothing of reasoning', { logprob_tokens: 50, reasoning_frames: 5 }, { tokens: 33, counted: 1 }],
    ['frames where no text was kept', { generated_text: undefined as unknown as string }, { tokens: 40, byFrames: 1 }],
    ['and with reasoning at least both', { generated_text: undefined as unknown as string, logprob_tokens: 38, reasoning_frames: 5 }, { tokens: 43, byFrames: 1 }],
    ['usage of 0 tokens is none', { output_tokens: 0, logprob_tokens: 50 }, { tokens: 50, byLogprobs: 1 }],
  ])('%s', async (_, more, { tokens, ...counts }) => {
    const run = new RunAggregate();
    run.add(long({ ...none, ...more }));
    await run.countNow(async (texts) => texts.map((text) => text.length));
    const { outputTokens, inputTokens, tokenCounts } = await run.summarize({ percentiles: [50], durationS: 100 });
    expect([outputTokens, inputTokens]).toEqual([tokens, 7]);
    expect(tokenCounts).toMatchObject({ told: 0, assumedOne: 0, counted: 0, byLogprobs: 0, byFrames: 0, ...counts });
  }); // biome-ignore format: a table
});

describe('a run with such answers', () => {
  const countTokens = async (texts: readonly string[]) => texts.map((text) => text.length);
  const summaryOf = (aggregate: RunAggregate) => aggregate.summarize({ percentiles: [50], durationS: 100 });
  /** Of the first the text proves usage wrong, of the second it does not: its prompts have a long template. */
  const records = [
    long({ generated_text: 'x'.repeat(5001) }),
    long({ i: 1, prompt_len: 800, output_tokens: 101, generated_text: 'x'.repeat(103) }),
    long({ i: 2, prompt_len: 100, output_tokens: null, generated_text: 'x'.repeat(51) }),
  ];

  it('takes prompts and outputs from what is believed', async () => {
    const aggregate = new RunAggregate();
    for (const record of records) aggregate.add(record);
    await aggregate.countNow(countTokens);
    expect(aggregate.countedOtherwise).toEqual({
      i: [0, 1, 2],
      tokens: [5001, 103, 51],
      by: ['text', 'usage', 'text'],
    });
    const summary = await summaryOf(aggregate);
    expect(summary.inputTokens).toBe(100 + 800 + 100);
    expect(summary.outputTokens).toBe(5001 + 101 + 51);
    // (latency − ttft) / (tokens − 1), in ms: 50 s over 5000, 100 and 50 gaps.
    expect(summary.metrics.tpot.meanMs).toBeCloseTo((10 + 500 + 1000) / 3, 9);
    expect(summary.tokenCounts).toMatchObject({
      told: 1,
      counted: 1,
      assumedOne: 0,
      doubted: 0,
      corrected: { text: 1 },
    });
  });

  it('hands on what is believed', () => {
    const { prompt_len, output_tokens } = new RunAggregate().add(long({ logprob_tokens: 4997 }));
    expect([prompt_len, output_tokens]).toEqual([100, 4997]);
  });

  it('is the same from the counts that were written down', async () => {
    const run = new RunAggregate();
    const report = new RunAggregate();
    for (const record of records) run.add(record);
    for (const record of records) report.add(record);
    await run.countNow(countTokens);
    report.applyCounts(run.countedOtherwise);
    expect(report.uncounted).toBe(0);
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
    expect(plain(await summaryOf(report))).toEqual(plain(await summaryOf(run)));
  });

  it('keeps what is left to be counted when counting fails', async () => {
    const aggregate = new RunAggregate();
    for (const record of records) aggregate.add(record);
    await expect(aggregate.countNow(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    expect(aggregate.uncounted).toBe(3);
    const summary = await summaryOf(aggregate);
    expect(summary.outputTokens).toBe(2791 + 101 + 1);
    expect(summary.tokenCounts).toMatchObject({ told: 2, counted: 0, assumedOne: 1, doubted: 2 });
  });
});
