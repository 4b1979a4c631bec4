import { describe, expect, it } from 'vitest';
import { answerOf } from '../../src/aggregate/sweep-answer.ts';
import type { SweepLevel } from '../../src/record/sweep.ts';
import { level } from '../fixtures/sweep/level.ts';

const SLOTS = { jobs: 32, by: 'max_batch_size', maxBatchSize: 32, cacheSize: 262144, pagesPerJob: 9 } as const;
const PAGES = { jobs: 32, by: 'cache_size', maxBatchSize: 128, cacheSize: 73728, pagesPerJob: 9 } as const;

/** 100 tokens/s per stream up to 32 streams; beyond, requests wait. */
const full: readonly SweepLevel[] = [8, 16, 32, 64, 128].map((n) =>
  level({ level: n, output_throughput: 100 * Math.min(n, 32), queueMs: n > 32 ? 300 : 0, tpotMs: 10 }),
);
const asked = { axis: 'concurrency', jobs: SLOTS, hasLimits: false, goodputTarget: null } as const;

describe('the answer of a sweep', () => {
  it('names the knee and the batch slots that bound it', () => {
    const answer = answerOf({ ...asked, levels: full });
    expect(answer).toMatchObject({ knee: 32, knee_throughput: 3200, is_saturated: true, bound: 'batch_slots' });
    expect(answer.words[0]).toBe('Saturates at 32 streams with 3200 tokens/s.');
    expect(answer.words[1]).toContain('max_batch_size is 32; at 64, requests wait 300 ms');
  });

  it('names cache pages where they are fewer', () => {
    expect(answerOf({ ...asked, jobs: PAGES, levels: full }).bound).toBe('cache_pages');
  });

  it('names only the queue where the places that the server tells do not explain the knee', () => {
    expect(answerOf({ ...asked, jobs: { ...SLOTS, jobs: 128 }, levels: full }).bound).toBe('server_queue');
    expect(answerOf({ ...asked, jobs: null, levels: full }).bound).toBe('server_queue');
  });

  it('names computing where nobody waits and tokens come slower', () => {
    const levels = [1, 2, 4, 8].map((n) =>
      level({ level: n, output_throughput: Math.min(n, 2) * 50, queueMs: 0, tpotMs: 10 * n }),
    );
    expect(answerOf({ ...asked, levels })).toMatchObject({ knee: 2, bound: 'compute' });
  });

  it('names the client where it was the limit from the knee on, and says at which levels', () => {
    const levels = full.map((each) => ({ ...each, client_was_limit: each.level >= 32, server_queue: null }));
    const answer = answerOf({ ...asked, levels });
    expect(answer.bound).toBe('client');
    expect(answer.words.at(-1)).toBe('The client was the limit at 32, 64, 128 streams.');
  });

  it('says that throughput still grows, and nothing of a bound', () => {
    const answer = answerOf({ ...asked, levels: full.slice(0, 3) });
    expect(answer).toMatchObject({ knee: 32, is_saturated: false, bound: null });
    expect(answer.words[0]).toBe('Not saturated: throughput still grows at 32 streams (3200 tokens/s).');
  });

  it('takes no account of levels that were broken off, and none of the throughput of failed ones', () => {
    const levels = [
      ...full.slice(0, 3),
      level({ level: 64, output_throughput: 9000, status: 'partial' }),
      level({ level: 48, output_throughput: 9000, status: 'failed' }),
    ];
    expect(answerOf({ ...asked, levels })).toMatchObject({ knee: 32, knee_throughput: 3200, is_saturated: false });
  });

  it('finds the highest level below which every limit is kept', () => {
    const levels = full.map((each) => ({
      ...each,
      limits: [{ limit: 'ttft p99 < 100ms', value: 50, bound: 100, kept: each.level !== 32 }],
    }));
    const answer = answerOf({ ...asked, hasLimits: true, levels });
    expect(answer.limits).toEqual({ highest_kept: 16, lowest_missed: 32 });
    expect(answer.words).toContain('16 streams is the highest level that keeps every limit (32 does not).');
  });

  it('brackets the rate by its goodput, with the interval', () => {
    const levels = [1, 2].map((n) => ({
      ...level({ level: n, output_throughput: n }),
      goodput: { good: 20 - n, requests: 20, share: (20 - n) / 20, low: 0.7, high: 0.99 },
    }));
    const answer = answerOf({ ...asked, axis: 'request_rate', goodputTarget: 0.95, levels });
    expect(answer.goodput).toEqual({ highest_kept: 1, lowest_missed: 2 });
    expect(answer.words).toContain('There 95 % of 20 requests were good, 95 % interval 70 % to 99 %.');
  });

  it('says so when nothing was measured', () => {
    expect(answerOf({ ...asked, levels: [] })).toMatchObject({
      knee: null,
      words: ['No level was measured to its end.'],
    });
  });
});
