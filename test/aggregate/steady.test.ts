import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { RunAggregate, type RunAggregateOptions, type SummarizeOptions } from '../../src/aggregate/collect.ts';
import { initHistograms } from '../../src/aggregate/histogram.ts';
import type { SteadyFigures, SteadySummary } from '../../src/aggregate/summary.ts';
import type { RequestRecord } from '../../src/record/record.ts';

beforeAll(initHistograms);

/** A request with `tokens` frames, evenly from `ttft` to its end. Times in ms, so that sums in tests are exact. */
function request(i: number, startMs: number, lengthMs: number, more: Partial<RequestRecord> = {}): RequestRecord {
  const frames = 10;
  const step = lengthMs / frames / 1000;
  return {
    type: 'request',
    i,
    success: true,
    prompt_len: 100,
    output_tokens: 20,
    ttft: step,
    itl: Array.from({ length: frames - 1 }, () => step),
    latency: lengthMs / 1000,
    start_time: startMs / 1000,
    arrival_time: startMs / 1000,
    error: '',
    ...more,
  };
}

/** Requests as `places` slots send them one after the other, as soon as a slot is free; lengths in ms. */
function closedLoop(lengthsMs: readonly number[], places: number, beginMs = 0): RequestRecord[] {
  const freeAt = new Array<number>(places).fill(beginMs);
  return lengthsMs.map((length, i) => {
    const slot = freeAt.indexOf(Math.min(...freeAt));
    const start = freeAt[slot] as number;
    freeAt[slot] = start + length;
    return request(i, start, length);
  });
}

async function steady(
  records: readonly RequestRecord[],
  more: Partial<SummarizeOptions> = {},
  keep: RunAggregateOptions = {},
): Promise<SteadySummary> {
  const aggregate = new RunAggregate(keep);
  for (const record of records) aggregate.add(record);
  const summary = await aggregate.summarize({
    percentiles: [99],
    durationS: 1,
    steadyShare: 0.95,
    maxConcurrency: 10,
    ...more,
  });
  return summary.steady as SteadySummary;
}

const figures = async (...args: Parameters<typeof steady>): Promise<SteadyFigures> =>
  (await steady(...args)).figures as SteadyFigures;

/** A hundred answers of a second and one of ten. */
const SHORT = new Array<number>(100).fill(1000);

describe('a hundred short answers and one ten times as long, ten at a time', () => {
  it('run at ten requests per second until the long one is alone', async () => {
    // The long one is last: ten rounds of ten, then ten seconds of a single request. 101 requests in 20 s are 5.05 per second.
    const found = await figures(closedLoop([...SHORT, 10_000], 10));
    expect(found.windows).toEqual([{ fromS: 0, toS: 10 }]);
    expect(found).toMatchObject({ lengthS: 10, atLevelS: 10, completed: 100, started: 100, failed: 0 });
    // c / E2E
    expect(found.requests / found.lengthS).toBeCloseTo(10 / 1, 9);
    expect(found.inputTokens).toBeCloseTo(10_000, 6);
    expect(found.outputTokens).toBeCloseTo(2000, 6);
    expect(found.series.e2el).toMatchObject({ count: 100, meanMs: 1000, maxMs: 1000 });
  });

  it('have the long one in their figures where it runs beside the others', async () => {
    // First: nine slots carry 90 short ones in 10 s, then all ten the last ten in the eleventh second.
    const found = await figures(closedLoop([10_000, ...SHORT], 10));
    expect(found.windows).toEqual([{ fromS: 0, toS: 11 }]);
    expect(found.completed).toBe(101);
    // c / mean E2E = 10 / (110 / 101)
    expect(found.requests / found.lengthS).toBeCloseTo(10 / (110 / 101), 9);
    expect(found.series.e2el).toMatchObject({ count: 101, maxMs: 10_000 });
  });

  it('keep that rate when the slots are not in step', async () => {
    const first = Array.from({ length: 10 }, (_, k) => 1000 - 100 * k);
    const found = await figures(closedLoop([...first, ...SHORT, 10_000], 10));
    expect(found.requests / found.lengthS).toBeGreaterThan(9.9);
    expect(found.requests / found.lengthS).toBeLessThan(10.8);
  });
});

describe('figures of the window', () => {
  it('count tokens by the frames that came within', async () => {
    // Two at once from 1000 to 3000; the first began a second earlier and ends with the window.
    const records = [
      request(0, 0, 3000, { ttft: 0.5, itl: [1, 1.5], latency: 3, output_tokens: 12 }),
      request(1, 1000, 4000, { ttft: 1, itl: [1.5, 1.5], latency: 4, output_tokens: 6 }),
    ];
    const found = await figures(records, { maxConcurrency: 2 });
    expect(found.windows).toEqual([{ fromS: 1, toS: 3 }]);
    // Frames at 1.5 and 3.0 of three with 4 tokens each; at 2.0 of three with 2 tokens each.
    expect(found.outputTokens).toBeCloseTo(4 + 4 + 2, 9);
    // Two thirds of the first, half of the second.
    expect(found.requests).toBeCloseTo(2 / 3 + 1 / 2, 9);
    expect(found).toMatchObject({ started: 1, completed: 1 });
    expect(found.series.ttft).toMatchObject({ count: 1, meanMs: 1000 });
    expect(found.series.tpot.meanMs).toBeCloseTo(3000 / 5, 9);
    expect(found.series.ntpot.meanMs).toBeCloseTo(4000 / 6, 9);
    expect(found.series.itl).toMatchObject({ count: 2, meanMs: 1500 });
  });

  it('hold failed requests as load, not as answers', async () => {
    const records = [
      ...closedLoop([2000, 2000], 2),
      request(2, 2000, 0, { success: false, output_tokens: null, ttft: 0, latency: 0, itl: [], end: 1, error: 'x' }),
      request(3, 2000, 2000),
      // Never sent: takes no place on the server.
      request(4, 500, 0, { success: false, latency: 0, itl: [], end: 3, error: 'x', error_kind: 'connect' }),
    ];
    const found = await steady(records, { maxConcurrency: 2 });
    expect(found.peak).toBe(2);
    expect(found.figures).toMatchObject({ windows: [{ fromS: 0, toS: 3 }], completed: 2, failed: 1, started: 3 });
  });

  it('go by the end of the stream, not by the last token', async () => {
    const found = await figures([request(0, 0, 1000, { end: 1.5 })], { maxConcurrency: 1 });
    expect(found.windows).toEqual([{ fromS: 0, toS: 1.5 }]);
  });

  it('are those of the highest number seen where none was asked for', async () => {
    const records = Array.from({ length: 40 }, (_, k) => request(k, 0, 1000 + 100 * k));
    const found = await steady(records, { maxConcurrency: null });
    expect(found).toMatchObject({ concurrency: 40, isObserved: true, level: 38, peak: 40 });
    // Below 38 when the third has ended.
    expect(found.figures?.windows).toEqual([{ fromS: 0, toS: 1.2 }]);
  });

  it('are missing where the concurrency was never reached', async () => {
    expect(await steady(closedLoop([1000, 1000], 2), { maxConcurrency: 10 })).toMatchObject({
      concurrency: 10,
      level: 10,
      peak: 2,
      figures: null,
    });
    expect(await steady([])).toBeNull();
    const aggregate = new RunAggregate();
    aggregate.add(request(0, 0, 1000));
    expect((await aggregate.summarize({ percentiles: [], durationS: 1 })).steady).toBeNull();
  });

  it('equal a count by hand for any run', async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 4, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(lengths, fc.integer({ min: 1, max: 4 }), async (tens, places) => {
        const records = closedLoop(
          tens.map((ten) => ten * 10),
          places,
        );
        const { windows, ...found } = await figures(records, { maxConcurrency: places, steadyShare: 1 });
        const [from, to] = [windows[0]?.fromS as number, windows[0]?.toS as number].map((s) => Math.round(s * 1000));
        // Millisecond by millisecond.
        let [requests, first, last] = [0, -1, -1];
        for (let ms = 0; ms < 12_000; ms++) {
          const alive = records.filter(
            ({ start_time: start, latency }) =>
              Math.round(start * 1000) <= ms && Math.round((start + latency) * 1000) > ms,
          );
          if (alive.length < places) continue;
          if (first === -1) first = ms;
          last = ms + 1;
        }
        for (let ms = first; ms < last; ms++) {
          for (const { start_time: start, latency } of records) {
            const [begin, end] = [Math.round(start * 1000), Math.round((start + latency) * 1000)];
            if (begin <= ms && end > ms) requests += 1 / (end - begin);
          }
        }
        expect([from, to]).toEqual([first, last]);
        expect(found.requests).toBeCloseTo(requests, 6);
        const ended = records.map(({ start_time: start, latency }) => Math.round((start + latency) * 1000));
        expect(found.completed).toBe(ended.filter((end) => end > first && end <= last).length);
        const begun = records.map(({ start_time: start }) => Math.round(start * 1000));
        expect(found.started).toBe(begun.filter((begin) => begin >= first && begin < last).length);
      }),
      { numRuns: 40 },
    );
  });
});

describe('several files', () => {
  const add = async (parts: readonly (readonly RequestRecord[])[], maxConcurrency: number) => {
    const aggregate = new RunAggregate();
    parts.forEach((records, k) => {
      if (k > 0) aggregate.nextSource();
      for (const record of records) aggregate.add(record);
    });
    const summary = await aggregate.summarize({ percentiles: [], durationS: 1, steadyShare: 1, maxConcurrency });
    return summary.steady as SteadySummary;
  };

  it('that are shards count together', async () => {
    const both = closedLoop(new Array<number>(8).fill(1000), 4);
    const found = await add([both.filter(({ i }) => i % 2 === 0), both.filter(({ i }) => i % 2 === 1)], 2);
    expect(found).toMatchObject({ concurrency: 4, peak: 4, figures: { lengthS: 2, completed: 8 } });
  });

  it('that are repeats have a window each', async () => {
    const once = closedLoop(new Array<number>(8).fill(1000), 4);
    const again = closedLoop(new Array<number>(8).fill(500), 4, 1_000_000);
    const found = await add([once, again], 4);
    expect(found.concurrency).toBe(4);
    expect(found.figures).toMatchObject({ completed: 16, started: 16 });
    expect(found.figures?.lengthS).toBeCloseTo(3, 9);
    expect(found.figures?.windows.map(({ toS }) => Number(toS.toFixed(6)))).toEqual([2, 1]);
  });
});

describe('with values that are not kept', () => {
  // 3,000 requests of 0.5 to 1.5 s, 50 at a time, on a clock that began long ago.
  const lengths = Array.from({ length: 3000 }, (_, k) => 500 + ((k * 7919) % 1000));
  const records = closedLoop(lengths, 50, 5_000_000_000);
  const asked = { maxConcurrency: 50 };

  it('finds the same window and amounts to within the slices', async () => {
    const exact = await figures(records, asked);
    const found = await figures(records, asked, { maxExactValues: 100 });
    const precision = found.precision;
    expect(exact.precision).toBeNull();
    expect(precision?.sliceS).toBe(0.01);
    const [window, true_] = [found.windows[0], exact.windows[0]];
    expect(Math.abs((window?.fromS ?? 9) - (true_?.fromS ?? 0))).toBeLessThanOrEqual(0.02);
    expect(Math.abs((window?.toS ?? 9) - (true_?.toS ?? 0))).toBeLessThanOrEqual(0.02);
    expect(Math.abs(found.completed - exact.completed)).toBeLessThanOrEqual(3);
    expect(Math.abs(found.started - exact.started)).toBeLessThanOrEqual(53);
    expect(found.requests / found.lengthS).toBeCloseTo(exact.requests / exact.lengthS, 1);
    expect(found.outputTokens / exact.outputTokens).toBeCloseTo(1, 2);
    expect(found.inputTokens / exact.inputTokens).toBeCloseTo(1, 2);
    for (const key of ['ttft', 'tpot', 'ntpot', 'itl', 'e2el'] as const) {
      expect(found.series[key].source).toBe('hdr');
      expect(found.series[key].meanMs / exact.series[key].meanMs, key).toBeCloseTo(1, 2);
      // A segment less at either end.
      expect(found.series[key].count / exact.series[key].count, key).toBeGreaterThan(0.9);
    }
  });

  it('keeps all but what hangs on the gaps exact while only those are too many', async () => {
    const exact = await figures(records, asked);
    const found = await figures(records, asked, { maxExactValues: 5000 });
    expect(found.precision).toEqual({ sliceS: null, segmentS: 1 });
    expect(found.windows).toEqual(exact.windows);
    expect(found.series.ttft).toEqual(exact.series.ttft);
    expect(found.series.itl.source).toBe('hdr');
    expect(found.outputTokens / exact.outputTokens).toBeCloseTo(1, 3);
  });

  it('counts tokens that no server told', async () => {
    const untold = records.map((record) => ({ ...record, output_tokens: null, generated_text: 'x' }));
    const more = { ...asked, countTokens: async (texts: readonly string[]) => texts.map(() => 20) };
    const found = await figures(untold, more, { maxExactValues: 100 });
    const told = await figures(records, asked, { maxExactValues: 100 });
    expect(found.outputTokens).toBeCloseTo(told.outputTokens, 6);
    expect(found.series.ntpot.count).toBe(told.series.ntpot.count);
  });

  it('grows no further however long the run is', async () => {
    // 200,000 requests of 1.5 s, one per second, two in flight for half of the time.
    const aggregate = new RunAggregate({ maxExactValues: 0 });
    for (let k = 0; k < 200_000; k++) aggregate.add(request(k, k * 1000, 1500));
    const summary = await aggregate.summarize({
      percentiles: [],
      durationS: 200_000,
      steadyShare: 1,
      maxConcurrency: 1,
    });
    const found = summary.steady?.figures as SteadyFigures;
    // 65,536 slices of 5.12 s would hold 335,544 s.
    expect(found.precision).toEqual({ sliceS: 5.12, segmentS: 4096 });
    expect(found.requests / found.lengthS).toBeCloseTo(1, 3);
    expect(found.outputTokens / found.lengthS).toBeCloseTo(20, 2);
    expect(found.completed / found.lengthS).toBeCloseTo(1, 3);
  });
});

describe('the parts of the window', () => {
  it('are as many as answers that followed each other, and alike where the server is', async () => {
    const found = await figures(closedLoop(new Array<number>(80).fill(1000), 10));
    expect(found.partTokens).toHaveLength(8);
    // Ten answers of 20 tokens each.
    for (const tokens of found.partTokens) expect(tokens).toBeCloseTo(200, 6);
  });

  it('show where the server was slower for a while', async () => {
    // Four rounds of a second, and one that takes two: 200 tokens in its two seconds.
    const lengths = [1000, 1000, 2000, 1000, 1000].flatMap((ms) => new Array<number>(10).fill(ms));
    const { partTokens, lengthS } = await figures(closedLoop(lengths, 10));
    // Five parts of 1.2 s each: 200 per second, but for the seconds from 2 to 4.
    expect(lengthS).toBeCloseTo(6, 9);
    const expected = [240, 0.8 * 200 + 0.4 * 100, 120, 0.4 * 100 + 0.8 * 200, 240];
    expect(partTokens).toHaveLength(5);
    for (const [k, tokens] of partTokens.entries()) expect(tokens).toBeCloseTo(expected[k] as number, 6);
  });

  it('spread an answer over the time without the queue of the server', async () => {
    // Two streams, one place: each answer waits a second in the queue, but for the first.
    const queued = (i: number, startMs: number, waitMs: number) =>
      request(i, startMs, 1000 + waitMs, {
        server: { queue_time: waitMs / 1000 } as NonNullable<RequestRecord['server']>,
      });
    const records = Array.from({ length: 12 }, (_, i) => queued(i, Math.max(0, i - 1) * 1000, i === 0 ? 0 : 1000));
    const { partTokens } = await figures(records, { maxConcurrency: 2 });
    expect(partTokens.length).toBeGreaterThan(4);
    const rate = partTokens.map((tokens) => tokens / (partTokens[1] as number));
    for (const each of rate) expect(each).toBeCloseTo(1, 6);
  });

  it('add up to the tokens of the window where values are not kept', async () => {
    const records = closedLoop(new Array<number>(80).fill(1000), 10);
    const { partTokens, outputTokens } = await figures(records, {}, { maxExactValues: 0 });
    // The last ten end at the border with which the window ends, and are not within.
    expect(partTokens).toHaveLength(7);
    expect(partTokens.reduce((sum, tokens) => sum + tokens, 0)).toBeCloseTo(outputTokens, 6);
  });
});
