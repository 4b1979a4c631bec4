import { describe, expect, it } from 'vitest';
import { believed } from '../../src/aggregate/believed.ts';
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
function judged(more: Partial<RequestRecord>, exactLength = false): unknown[] {
  const { record, countedBy, isDoubted } = believed(long(more), exactLength);
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
    expect(judged({ output_len: 4997, finish_reason: 'length' }, true)).toEqual([100, 4997, 'limit']);
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
    const counts = await aggregate.countNow(countTokens);
    expect(counts).toEqual({ i: [0, 1, 2], tokens: [5001, 103, 51] });
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

  it('is the same from the counts that were written down', async () => {
    const run = new RunAggregate();
    const report = new RunAggregate();
    for (const record of records) run.add(record);
    for (const record of records) report.add(record);
    report.applyCounts(await run.countNow(countTokens));
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
