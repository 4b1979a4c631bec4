import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { availableCores, chooseWorkers, coresOfQuota, type ExpectedLoad } from '../../src/commands/workers.ts';

const CLOSED: ExpectedLoad = {
  asked: null,
  slots: 256,
  canGrow: false,
  requestRate: Number.POSITIVE_INFINITY,
  requests: 100_000,
  outputTokens: 200,
};

const closed = (slots: number, cores: number) => chooseWorkers({ ...CLOSED, slots }, cores);

describe('the number of workers', () => {
  it('follows concurrency, one for 250 streams, and leaves a core free', () => {
    expect([closed(1, 8), closed(250, 8), closed(251, 8), closed(1000, 8), closed(5000, 8)]).toEqual([1, 1, 2, 4, 7]);
    expect([closed(1000, 1), closed(1000, 2), closed(1000, 3)]).toEqual([1, 1, 2]);
  });

  it('takes the last core too when the others are certainly full', () => {
    expect([closed(1500, 2), closed(1501, 2), closed(3001, 3), closed(4000, 1)]).toEqual([1, 2, 3, 1]);
  });

  it('follows the expected load in an open loop', () => {
    // 100/s of 200 tokens at 20 ms and half a second to the first: 450 at once. 5,000/s of one token: a worker for 1,000 starts.
    const open = { ...CLOSED, slots: 32, canGrow: true };
    expect(chooseWorkers({ ...open, requestRate: 1 }, 16)).toBe(1);
    expect(chooseWorkers({ ...open, requestRate: 100 }, 16)).toBe(2);
    expect(chooseWorkers({ ...open, requestRate: 5000, outputTokens: 1 }, 16)).toBe(11);
    expect(chooseWorkers({ ...open, requestRate: 100, requests: 40 }, 16)).toBe(1);
    // With a bound on concurrency it is the bound that counts, and the rate of starts.
    expect(chooseWorkers({ ...CLOSED, slots: 64, requestRate: 4000 }, 16)).toBe(4);
  });

  it('is the asked one, but for workers without a stream', () => {
    expect(chooseWorkers({ ...CLOSED, asked: 5, slots: 3 }, 2)).toBe(3);
    expect(chooseWorkers({ ...CLOSED, asked: 12 }, 2)).toBe(12);
    expect(chooseWorkers({ ...CLOSED, asked: 12, slots: 4, canGrow: true, requests: 6 }, 2)).toBe(6);
    expect(chooseWorkers({ ...CLOSED, slots: 0 }, 2)).toBe(1);
  });
});

describe('the cores at hand', () => {
  it('are those of the affinity or fewer', () => {
    expect(availableCores()).toBeGreaterThanOrEqual(1);
    expect(availableCores()).toBeLessThanOrEqual(availableParallelism());
  });

  it('end at a quota of the container', () => {
    expect(coresOfQuota('150000 100000')).toBe(1);
    expect(coresOfQuota('400000 100000\n')).toBe(4);
    expect(coresOfQuota('20000 100000')).toBe(1);
    for (const none of ['max 100000', '-1 100000', '', 'x', '100000 0']) expect(coresOfQuota(none)).toBeNull();
  });
});
