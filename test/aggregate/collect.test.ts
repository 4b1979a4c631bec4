import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type GoodputLimits, RunAggregate, type RunAggregateOptions } from '../../src/aggregate/collect.ts';
import { initHistograms } from '../../src/aggregate/histogram.ts';
import type { RunSummary } from '../../src/aggregate/summary.ts';
import type { RequestRecord } from '../../src/record/record.ts';
import { flag, flagValues, VECTORS, type VectorCase, vectorRecords } from './vectors.ts';

beforeAll(initHistograms);

/** Token counts of the texts in the vectors by Qwen3's tokenizer, as recorded. */
const QWEN_COUNTS: Readonly<Record<string, number>> = {
  'Hello there, this is a plain answer.': 9,
  '': 0,
  'naïve café — 12,345.67 €': 16,
  '你好，世界！今天天气很好。': 8,
  '😀😃 emoji\n\nand\tcontrol': 6,
  x: 1,
};

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const out = [...items];
  let s = seed;
  for (let i = out.length - 1; i > 0; i--) {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    const j = s % (i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

function limits(vector: VectorCase): GoodputLimits {
  return Object.fromEntries(
    flagValues(vector, 'goodput').map((pair) => [pair.split(':')[0], Number(pair.split(':')[1])]),
  );
}

async function summarize(
  records: readonly RequestRecord[],
  vector: VectorCase,
  options: RunAggregateOptions = {},
): Promise<RunSummary> {
  const aggregate = new RunAggregate({ goodput: limits(vector), ...options });
  for (const record of records) aggregate.add(record);
  return await aggregate.summarize({
    durationS: vector.dur_s,
    percentiles: (flag(vector, 'metric-percentiles') ?? '99').split(',').map(Number),
    ...(vector.argv.includes('--skip-tokenizer-init')
      ? {}
      : { countTokens: async (texts) => texts.map((text) => QWEN_COUNTS[text] as number) }),
  });
}

/** The fields of vLLM's metrics record, from a summary. */
function asMetrics(s: RunSummary, percentiles: readonly number[]): Record<string, unknown> {
  const out: Record<string, unknown> = {
    completed: s.completed,
    failed: s.failed,
    total_input: s.inputTokens,
    total_output: s.outputTokens,
    request_throughput: s.completed / s.durationS,
    request_goodput: s.goodRequests / s.durationS,
    output_throughput: s.outputTokens / s.durationS,
    total_token_throughput: (s.inputTokens + s.outputTokens) / s.durationS,
    max_output_tokens_per_s: s.maxOutputTokensPerS,
    max_concurrent_requests: s.maxConcurrentRequests,
    rtfx: s.inputAudioS / s.durationS,
  };
  for (const key of ['ttft', 'tpot', 'itl', 'e2el'] as const) {
    const series = s.metrics[key];
    out[`mean_${key}_ms`] = series.meanMs;
    out[`median_${key}_ms`] = series.medianMs;
    out[`std_${key}_ms`] = series.stdMs;
    out[`percentiles_${key}_ms`] = percentiles.map((p) => [p, series.percentilesMs.get(p)]);
  }
  return out;
}

const generation = VECTORS.filter((vector) => vector.expected.metrics !== undefined);

describe('metrics of vLLM 0.30.0, bit for bit', () => {
  it('has vectors', () => {
    expect(generation.length).toBe(20);
  });

  it.each(generation.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    const expected = vector.expected.metrics as Record<string, unknown>;
    const ps = (expected['percentiles_ttft_ms'] as [number, number][]).map(([p]) => p);
    const summary = await summarize(vectorRecords(vector), vector, { keepDetail: true });
    expect(asMetrics(summary, ps)).toEqual(expected);
    const lens = summary.detail?.outputLens;
    expect(Array.from({ length: lens?.length ?? 0 }, (_, k) => lens?.at(k))).toEqual(
      vector.expected.actual_output_lens,
    );
  });

  it.each(generation.map((vector) => [vector.name, vector] as const))('%s, in any order', async (_name, vector) => {
    const expected = vector.expected.metrics as Record<string, unknown>;
    const ps = (expected['percentiles_ttft_ms'] as [number, number][]).map(([p]) => p);
    const summary = await summarize(shuffled(vectorRecords(vector), 99), vector);
    expect(asMetrics(summary, ps)).toEqual(expected);
  });
});

function record(i: number, more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    type: 'request',
    i,
    success: true,
    prompt_len: 10,
    output_tokens: 3,
    ttft: 0.1,
    itl: [0.01, 0.02],
    latency: 0.13,
    start_time: 100 + i,
    arrival_time: 100 + i,
    error: '',
    ...more,
  };
}

const arbitraryRequest = fc.record({
  success: fc.boolean(),
  prompt_len: fc.nat(5000),
  output_tokens: fc.option(fc.nat(50)),
  ttft: fc.double({ min: 0.000_001, max: 5, noNaN: true }),
  itl: fc.array(fc.double({ min: 0, max: 0.5, noNaN: true }), { maxLength: 30 }),
  start_time: fc.double({ min: 100, max: 120, noNaN: true }),
  queued: fc.double({ min: 0, max: 2, noNaN: true }),
  category: fc.constantFrom('math', 'qa', 'rag'),
});

function toRecord(i: number, r: typeof arbitraryRequest extends fc.Arbitrary<infer T> ? T : never): RequestRecord {
  const { success, prompt_len, output_tokens, ttft, itl, start_time, queued, category } = r;
  const latency = itl.reduce((a, b) => a + b, ttft);
  return record(i, {
    success,
    prompt_len,
    output_tokens,
    start_time,
    category,
    ttft: success ? ttft : 0,
    itl: success ? itl : [],
    latency: success ? latency : 0,
    arrival_time: start_time - queued,
    error: success ? '' : `broken ${i}`,
  });
}

describe('RunAggregate beyond the values that may be kept', () => {
  it('agrees with the exact figures: counts exactly, means to rounding, percentiles to three digits', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryRequest, { minLength: 2, maxLength: 60 }),
        fc.integer({ min: 1, max: 80 }),
        async (raw, max) => {
          const records = raw.map((r, i) => toRecord(i, r));
          const run = async (maxExactValues: number) => {
            const aggregate = new RunAggregate({ maxExactValues, goodput: { ttft: 1000, tpot: 100 } });
            for (const r of records) aggregate.add(r);
            return await aggregate.summarize({ durationS: 10, percentiles: [50, 99] });
          };
          const [kept, spilled] = [await run(1e6), await run(max)];
          for (const field of [
            'completed',
            'failed',
            'inputTokens',
            'outputTokens',
            'goodRequests',
            'firstErrors',
            'tokenCounts',
          ] as const) {
            expect(spilled[field], field).toEqual(kept[field]);
          }
          expect(spilled.categories).toEqual(kept.categories);
          for (const key of [
            'ttft',
            'tpot',
            'itl',
            'e2el',
            'client_queue_time',
            'e2el_including_client_queue',
          ] as const) {
            const [a, b] = [kept.metrics[key], spilled.metrics[key]];
            expect(b.count, key).toBe(a.count);
            expect(Math.abs(b.meanMs - a.meanMs), key).toBeLessThanOrEqual(1e-9 * (1 + a.meanMs));
            expect(Math.abs(b.stdMs - a.stdMs), key).toBeLessThanOrEqual(1e-6 * (1 + a.meanMs));
            expect(Math.abs(b.maxMs - a.maxMs), key).toBeLessThanOrEqual(1e-9 * (1 + a.maxMs));
            // The extremes are exact, so that no percentile of a bucket may lie beyond them.
            for (const value of b.count === 0 ? [] : [b.medianMs, ...b.percentilesMs.values()]) {
              expect(value, key).toBeGreaterThanOrEqual(b.minMs);
              expect(value, key).toBeLessThanOrEqual(b.maxMs);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('says which figures come from histograms', async () => {
    const aggregate = new RunAggregate({ maxExactValues: 5 });
    for (let i = 0; i < 4; i++) aggregate.add(record(i));
    const summary = await aggregate.summarize({ durationS: 1, percentiles: [50] });
    expect([summary.metrics.itl.source, summary.metrics.ttft.source]).toEqual(['hdr', 'exact']);
    expect(summary.metrics.itl.count).toBe(8);
    expect(summary.detail?.itls).toBeNull();
    expect(summary.maxOutputTokensPerS).toBe(3);
    const more = new RunAggregate({ maxExactValues: 3 });
    for (let i = 0; i < 4; i++) more.add(record(i));
    const all = await more.summarize({ durationS: 1, percentiles: [50] });
    expect([all.metrics.itl.source, all.metrics.ttft.source, all.detail]).toEqual(['hdr', 'hdr', null]);
    expect(all.maxConcurrentRequests).toBe(1);
  });
});

describe('several files', () => {
  it('lays shards of one run together by index', async () => {
    const all = Array.from({ length: 7 }, (_, i) => record(i, { ttft: 0.1 + i / 7, latency: 0.2 + i / 7 }));
    const whole = new RunAggregate();
    for (const r of all) whole.add(r);
    const shards = new RunAggregate();
    for (const r of all.filter(({ i }) => i % 2 === 1)) shards.add(r);
    shards.nextSource();
    for (const r of all.filter(({ i }) => i % 2 === 0)) shards.add(r);
    const [a, b] = [
      await whole.summarize({ durationS: 9, percentiles: [99] }),
      await shards.summarize({ durationS: 9, percentiles: [99] }),
    ];
    expect(b.metrics).toEqual(a.metrics);
    expect(b.repeatedIndices).toBe(0);
    expect(b.sources).toEqual([
      { requests: 3, firstStart: 101, lastEnd: 105 + 0.2 + 5 / 7 },
      { requests: 4, firstStart: 100, lastEnd: 106 + 0.2 + 6 / 7 },
    ]);
  });

  it('puts repeats one behind the other', async () => {
    const aggregate = new RunAggregate({ keepDetail: true });
    for (const i of [1, 0]) aggregate.add(record(i, { ttft: i }));
    aggregate.nextSource();
    for (const i of [1, 0]) aggregate.add(record(i, { ttft: 10 + i }));
    const summary = await aggregate.summarize({ durationS: 1, percentiles: [99] });
    expect(summary.repeatedIndices).toBe(2);
    expect([0, 1, 2, 3].map((k) => summary.detail?.ttfts.at(k))).toEqual([0, 1, 10, 11]);
  });
});

describe('figures of ours', () => {
  it('tabulates failures by kind with the words of the first in sample order', async () => {
    const aggregate = new RunAggregate();
    const failed = { success: false, ttft: 0, latency: 0, itl: [] };
    aggregate.add(record(5, { ...failed, error: 'HTTP 503 later', error_kind: 'http', status: 503 }));
    aggregate.add(record(2, { ...failed, error: 'HTTP 429 first', error_kind: 'http', status: 429 }));
    aggregate.add(record(9, { ...failed, error: 'HTTP 503', error_kind: 'http', status: 503 }));
    aggregate.add(
      record(3, {
        ...failed,
        error: 'cut off',
        error_kind: 'truncated',
        partial: { ttft: 0.1, itl: [0.1], latency: 0.2, frames: 2 },
      }),
    );
    const summary = await aggregate.summarize({ durationS: 1, percentiles: [99] });
    expect(summary.errorKinds).toEqual([
      {
        kind: 'http',
        count: 3,
        sample: 'HTTP 429 first',
        statuses: new Map([
          [503, { count: 2, sample: 'HTTP 503 later' }],
          [429, { count: 1, sample: 'HTTP 429 first' }],
        ]),
      },
      { kind: 'truncated', count: 1, sample: 'cut off', statuses: new Map() },
    ]);
    expect(summary.firstErrors).toEqual(['HTTP 429 first', 'cut off', 'HTTP 503 later', 'HTTP 503']);
    expect(summary.failedAfterFirstToken).toBe(1);
    expect(summary.metrics.ttft.count).toBe(0);
  });

  it('compares lengths asked for and made', async () => {
    const aggregate = new RunAggregate();
    const lengths: [number, number, string][] = [
      [10, 9, 'length'],
      [20, 19, 'length'],
      [5, 5, 'length'],
      [50, 12, 'stop'],
      [3, 4, 'length'],
    ];
    lengths.forEach(([asked, made, reason], i) => {
      aggregate.add(record(i, { output_len: asked, output_tokens: made, finish_reason: reason }));
    });
    aggregate.add(
      record(9, {
        prompt_len: 4353,
        client_prompt_len: 100,
        output_len: 4998,
        output_tokens: 2791,
        finish_reason: 'length',
      }),
    );
    const { lengths: got, finishReasons } = await aggregate.summarize({ durationS: 1, percentiles: [99] });
    expect(got).toEqual({
      requests: 6,
      askedTokens: 5086,
      madeTokens: 5046,
      exact: 1,
      short: 4,
      long: 1,
      shortByOwnEnd: 1,
      missingAtLengthEnd: new Map([[1, 3]]),
    });
    expect(finishReasons).toEqual(
      new Map([
        ['length', 5],
        ['stop', 1],
      ]),
    );
  });

  it('averages by category over the successes of each', async () => {
    const aggregate = new RunAggregate();
    aggregate.add(record(0, { category: 'qa', ttft: 0.1, latency: 0.3, output_tokens: 5 }));
    aggregate.add(record(1, { category: 'qa', ttft: 0.3, latency: 0.3, output_tokens: 1 }));
    aggregate.add(record(2, { category: 'qa', success: false, ttft: 0, latency: 0, itl: [] }));
    aggregate.add(record(3, { category: 'math', ttft: 1, latency: 2, output_tokens: 11 }));
    const { categories } = await aggregate.summarize({ durationS: 1, percentiles: [99] });
    expect(
      categories.map(({ category, completed, failed, outputTokens }) => [category, completed, failed, outputTokens]),
    ).toEqual([
      ['math', 1, 0, 11],
      ['qa', 2, 1, 6],
    ]);
    expect(categories[1]?.meanTtftMs).toBeCloseTo(200, 9);
    expect(categories[1]?.meanTpotMs).toBeCloseTo(50, 9);
    expect(categories[0]?.meanE2elMs).toBeCloseTo(2000, 9);
  });

  it("keeps times from send and from arrival apart, and the server's beside them", async () => {
    const aggregate = new RunAggregate();
    aggregate.add(
      record(0, {
        ttft: 0.2,
        latency: 0.5,
        start_time: 101,
        arrival_time: 100,
        server: { prompt_time: 0.08, queue_time: 0.02 },
      }),
    );
    aggregate.add(
      record(1, { ttft: 0.2, latency: 0.5, start_time: 102, arrival_time: 102, first_answer: 0.4, connect_s: 0.003 }),
    );
    const { metrics, own, connections } = await aggregate.summarize({ durationS: 1, percentiles: [99] });
    expect(metrics.ttft.maxMs).toBe(200);
    expect(own.ttft_from_arrival.maxMs).toBe(1200);
    expect(metrics.e2el_including_client_queue.maxMs).toBe(1500);
    expect(own.server_prompt_time).toMatchObject({ count: 1, meanMs: 80 });
    expect(own.server_completion_time.count).toBe(0);
    expect(own.first_answer).toMatchObject({ count: 1, meanMs: 400 });
    expect(own.connect.count).toBe(1);
    expect(connections).toEqual({ opened: 1, staleReconnects: 0 });
  });
});
