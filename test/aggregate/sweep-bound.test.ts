import { describe, expect, it } from 'vitest';
import { answerOf } from '../../src/aggregate/sweep-answer.ts';
import { boundOf } from '../../src/aggregate/sweep-bound.ts';
import type { SweepLatency, SweepLevel } from '../../src/record/sweep.ts';
import type { JobBound } from '../../src/transport/server.ts';
import { level } from '../fixtures/sweep/level.ts';

const at = (ms: number): SweepLatency => ({
  mean_ms: ms,
  median_ms: ms,
  p90_ms: ms,
  p95_ms: ms,
  p99_ms: ms,
  max_ms: ms,
});
const jobs = (n: number): JobBound => ({
  jobs: n,
  by: 'max_batch_size',
  maxBatchSize: n,
  cacheSize: 262144,
  pagesPerJob: 9,
});
const [knee, ...above] = [16, 32, 64, 256].map((n) =>
  level({ level: n, output_throughput: 1600, queueMs: 0, tpotMs: 10 * (n / 16) }),
);
const levels = [level({ level: 1, output_throughput: 100, queueMs: 0 }), knee as SweepLevel, ...above];
const cause = (
  own: readonly SweepLevel[],
  slots: JobBound | null = jobs(128),
  axis: 'concurrency' | 'request_rate' = 'concurrency',
) => boundOf(axis, slots, own, own.find((each) => each.level === 16) as SweepLevel);

describe('what bounds a sweep', () => {
  it('is not the queue of a level far above the knee, when nobody waits just beyond it', () => {
    const queued = levels.map((each) => (each.level === 256 ? { ...each, server_queue: at(900) } : each));
    expect(cause(queued)).toEqual({
      bound: 'compute',
      why: 'no request waits in a queue, but tokens come slower: TPOT 10 ms at 1, 20 ms at 32',
    });
  });

  it('is read off a level well beyond the knee, not off one that is hardly above it', () => {
    const near = level({ level: 17, output_throughput: 1600, queueMs: 4 });
    const queued = levels.map((each) => (each.level >= 32 ? { ...each, server_queue: at(300), tpot: at(10) } : each));
    expect(cause([...queued, near], jobs(16)).bound).toBe('batch_slots');
  });

  it('is not said to be free of a queue on a server that tells of none', () => {
    const silent = levels.map((each) => ({ ...each, server_queue: null }));
    expect(cause(silent, null)).toEqual({ bound: 'compute', why: 'tokens come slower: TPOT 10 ms at 1, 20 ms at 32' });
    const waiting = silent.map((each) => ({ ...each, tpot: at(10), ttft: at(each.level > 16 ? 400 : 50) }));
    const { bound, why } = cause(waiting, null);
    expect(bound).toBe('unknown');
    expect(why).toContain('first tokens wait longer (TTFT 50 ms at 1, 400 ms at 32)');
    expect(why).toContain('the server tells nothing of a queue');
  });

  it('is the client where it was the limit beyond the knee, whatever it was at the knee', () => {
    const limited = levels.map((each) => ({ ...each, client_was_limit: each.level > 16 }));
    expect(cause(limited).bound).toBe('client');
    expect(cause(levels.map((each) => ({ ...each, client_was_limit: each.level === 1 }))).bound).not.toBe('client');
    // One level that the client was late at may be chance.
    expect(cause(levels.map((each) => ({ ...each, client_was_limit: each.level === 32 }))).bound).toBe('compute');
  });

  it('is not the client where requests queue at the server', () => {
    const both = levels.map((each) =>
      each.level > 16 ? { ...each, server_queue: at(300), client_was_limit: true } : each,
    );
    expect(cause(both, jobs(16)).bound).toBe('batch_slots');
  });

  it('is batch slots at a rate only where so many were worked on at once', () => {
    // 80 in flight, each 1 s of which 0.8 s in the queue: 16 are worked on.
    const queued = levels.map((each) =>
      each.level === 32 ? { ...each, server_queue: at(800), e2el: at(1000), in_flight_mean: 80 } : each,
    );
    expect(cause(queued, jobs(16), 'request_rate').bound).toBe('batch_slots');
    expect(cause(queued, jobs(64), 'request_rate').bound).toBe('server_queue');
  });

  it('is the queue, with what the server tells beside it, where its places do not explain the knee', () => {
    const queued = levels.map((each) => (each.level > 16 ? { ...each, server_queue: at(300) } : each));
    expect(cause(queued, jobs(64)).why).toBe(
      "at 32, requests wait 300 ms on average in the server's queue; max_batch_size is 64, which does not explain it",
    );
  });
});

const asked = { axis: 'concurrency', jobs: null, hasLimits: false, goodputTarget: null } as const;

describe('the words of a sweep', () => {
  it('name what was not measured', () => {
    const { words, missing } = answerOf({ ...asked, levels: levels.slice(0, 2), missing: [32, 64] });
    expect(missing).toEqual([32, 64]);
    expect(words.at(-1)).toBe('Not measured: 32, 64 streams, so this is not the last word.');
  });

  it('say where a level was not full, unless its steady-state window stands for it', () => {
    const thin = { throughput_from: 'whole_run', in_flight_mean: 20 } as const;
    const told = answerOf({
      ...asked,
      levels: [levels[0] as SweepLevel, { ...(knee as SweepLevel), level: 64, ...thin }],
    });
    expect(told.words).toContain(
      'Fewer streams than asked for were in flight on average (20 of 64): more --requests-per-level fill them.',
    );
    const steady = { ...(knee as SweepLevel), level: 64, in_flight_mean: 20 };
    expect(answerOf({ ...asked, levels: [levels[0] as SweepLevel, steady] }).words.join()).not.toContain(
      'Fewer streams',
    );
  });

  it('know one stream from several', () => {
    expect(answerOf({ ...asked, levels: [level({ level: 1, output_throughput: 80 })] }).words).toEqual([
      'One level does not show where throughput saturates; at 1 stream it is 80 tokens/s.',
    ]);
  });

  it('say that no level succeeded', () => {
    expect(answerOf({ ...asked, levels: [level({ status: 'failed' })] }).words).toEqual(['No level succeeded.']);
  });
});

describe('the interval of the rate that keeps a goodput', () => {
  // Wilson's intervals of these shares, to two digits, beside the target of 95 %.
  const shares = { sure: [0.97, 1], open: [0.9, 0.98], missed: [0.7, 0.9] } as const;
  const rate = (n: number, kind: keyof typeof shares, share: number) =>
    level({ level: n, goodput: { good: 0, requests: 100, share, low: shares[kind][0], high: shares[kind][1] } });
  const answer = (own: readonly SweepLevel[]) =>
    answerOf({ ...asked, axis: 'request_rate', goodputTarget: 0.95, levels: own });

  it('leaves open what lies between the surely kept and the surely missed', () => {
    const found = answer([rate(1, 'sure', 0.99), rate(2, 'open', 0.96), rate(3, 'open', 0.94), rate(4, 'missed', 0.8)]);
    expect(found.goodput).toEqual({ highest_kept: 2, lowest_missed: 3 });
    expect(found.goodput_interval).toEqual({ from: 1, to: 4 });
    expect(found.words.at(-1)).toBe('With 95 % confidence it lies between 1 and 4 requests/s.');
  });

  it('is open where nothing is sure', () => {
    expect(answer([rate(1, 'sure', 0.99)]).words.at(-1)).toBe('With 95 % confidence it lies at 1 requests/s or above.');
    expect(answer([rate(1, 'open', 0.96), rate(2, 'missed', 0.8)]).words.at(-1)).toBe(
      'With 95 % confidence it lies below 2 requests/s; more --requests-per-level bound it from below.',
    );
    expect(answer([rate(1, 'open', 0.96)]).words.at(-1)).toContain('no level are enough to say more');
  });
});
