import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { RunAggregate, type RunAggregateOptions } from '../../src/aggregate/collect.ts';
import { initHistograms } from '../../src/aggregate/histogram.ts';
import type { PlanSummary } from '../../src/aggregate/summary.ts';
import type { RequestRecord } from '../../src/record/record.ts';

beforeAll(initHistograms);

function request(i: number, dueMs: number, sentMs: number, lengthMs: number): RequestRecord {
  return {
    type: 'request',
    i,
    success: true,
    prompt_len: 10,
    output_tokens: 2,
    ttft: 0.01,
    itl: [],
    latency: lengthMs / 1000,
    start_time: sentMs / 1000,
    arrival_time: dueMs / 1000,
    error: '',
  };
}

async function plan(
  sources: readonly (readonly RequestRecord[])[],
  maxConcurrency: number | null,
  keep: RunAggregateOptions = {},
): Promise<PlanSummary> {
  const aggregate = new RunAggregate(keep);
  sources.forEach((records, k) => {
    if (k > 0) aggregate.nextSource();
    for (const record of records) aggregate.add(record);
  });
  const summary = await aggregate.summarize({ percentiles: [99], durationS: 1, maxConcurrency, isOpenLoop: true });
  return summary.plan as PlanSummary;
}

describe('requests against their plan', () => {
  it('wait for the place when the server is too slow: 10 per second asked, one at a time, half a second each', async () => {
    // Due at 0, 100, 200 ... and sent at 0, 500, 1000 ...: late by 0, 400, 800 ... 2,800 ms.
    const records = Array.from({ length: 8 }, (_, k) => request(k, 100 * k, 500 * k, 500));
    const found = await plan([records], 1);
    expect(found).toMatchObject({ requests: 8, late: 7 });
    expect(found.lateBy.maxMs).toBeCloseTo(2800, 6);
    expect(found.lateBy.meanMs).toBeCloseTo(1400, 6);
    expect(found.slotWait?.maxMs).toBeCloseTo(2800, 6);
    expect(found.clientLate?.maxMs).toBeCloseTo(0, 6);
    expect(found.duePerS).toBeCloseTo(10, 9);
    expect(found.sentPerS).toBeCloseTo(2, 9);
  });

  it('are late by the client where a place was free', async () => {
    const records = [
      request(0, 0, 0, 500),
      // Both places are taken until 500, then it takes the client 30 ms more.
      request(1, 100, 100, 1000),
      request(2, 200, 530, 100),
      // A place was free since 630: all 270 ms are the client's.
      request(3, 700, 970, 100),
    ];
    const found = await plan([records], 2);
    expect(found.late).toBe(2);
    expect(found.slotWait?.maxMs).toBeCloseTo(300, 6);
    expect(found.clientLate?.maxMs).toBeCloseTo(270, 6);
    expect(found.clientLate?.meanMs).toBeCloseTo((30 + 270) / 4, 6);
    expect((found.slotWait?.meanMs ?? 0) + (found.clientLate?.meanMs ?? 0)).toBeCloseTo(found.lateBy.meanMs, 6);
    const unlimited = await plan([records], null);
    expect(unlimited.slotWait?.maxMs).toBe(0);
    expect(unlimited.clientLate).toEqual(unlimited.lateBy);
  });

  it('are in time to within ten milliseconds', async () => {
    const found = await plan([[request(0, 0, 10, 5), request(1, 100, 111, 5)]], null);
    expect(found).toMatchObject({ requests: 2, late: 1 });
  });

  it('follow from any schedule and any number of places', async () => {
    const request_ = fc.record({ gap: fc.nat(30), length: fc.integer({ min: 1, max: 100 }), lag: fc.nat(20) });
    const schedules = fc.array(request_, { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(schedules, fc.integer({ min: 1, max: 5 }), async (schedule, places) => {
        // What a client does that hands places out in order, and is late itself by `lag`.
        const freeAt = new Array<number>(places).fill(0);
        let due = 0;
        let lastSent = 0;
        let [waited, lagged] = [0, 0];
        const records = schedule.map(({ gap, length, lag }, i) => {
          due += gap;
          const slot = freeAt.indexOf(Math.min(...freeAt));
          const possible = Math.max(due, freeAt[slot] as number);
          const sent = Math.max(lastSent, possible + lag);
          lastSent = sent;
          freeAt[slot] = sent + length;
          waited += possible - due;
          lagged += sent - possible;
          return request(i, due, sent, length);
        });
        const found = await plan([records], places);
        expect((found.slotWait?.meanMs ?? 0) * records.length).toBeCloseTo(waited, 5);
        expect((found.clientLate?.meanMs ?? 0) * records.length).toBeCloseTo(lagged, 5);
      }),
      { numRuns: 60 },
    );
  });

  it('are counted once for shards, added up for repeats', async () => {
    const records = Array.from({ length: 10 }, (_, k) => request(k, 100 * k, 100 * k, 20));
    const shards = await plan([records.filter(({ i }) => i % 2 === 0), records.filter(({ i }) => i % 2 === 1)], null);
    expect(shards.duePerS).toBeCloseTo(10, 9);
    const repeats = await plan([records, records.map((r) => ({ ...r, arrival_time: r.arrival_time + 500 }))], null);
    expect(repeats.duePerS).toBeCloseTo(10, 9);
  });

  it('are told without parts when there are too many values', async () => {
    const records = Array.from({ length: 50 }, (_, k) => request(k, 100 * k, 500 * k, 500));
    const found = await plan([records], 1, { maxExactValues: 10 });
    expect(found).toMatchObject({ requests: 50, late: 49, slotWait: null, clientLate: null });
    expect(found.lateBy.source).toBe('hdr');
    expect(found.lateBy.maxMs).toBeCloseTo(19_600, 0);
    expect(found.sentPerS).toBeCloseTo(2, 9);
  });

  it('have no rate when there is but one', async () => {
    expect(await plan([[request(0, 0, 0, 5)]], null)).toMatchObject({ duePerS: null, sentPerS: null });
  });
});
