import { describe, expect, it } from 'vitest';
import { type SearchPlan, searchRate } from '../../src/commands/overhead-search.ts';
import { errors, level } from './builder.ts';

/** A machine whose client is late beyond so many streams, and whose server is beyond so many. */
function plan(clientMost: number, serverMost: number, more: Partial<SearchPlan> = {}): SearchPlan {
  return {
    limitMs: 5,
    itlMs: 10,
    first: 500,
    most: 4000,
    mostBy: 'files',
    forMs: 60_000,
    run: async (streams) =>
      level(streams, {
        deliveryMs: errors(1, 1, streams <= clientMost ? 4.9 : 5.1, 1),
        server: { lateMs: { mean: 1, p99: streams <= serverMost ? 19 : 21, max: 30 }, frames: 1, cpuUsPerFrame: 1 },
      }),
    ...more,
  };
}

describe('the search for the highest rate in time', () => {
  it('ends at the limit of the client', async () => {
    const result = await searchRate(plan(900, 1e9));
    expect(result.tries.map(({ streams }) => streams)).toEqual([500, 1000, 707, 841]);
    expect([result.best?.streams, result.endedBy, result.limitMs]).toEqual([841, 'limit', 5]);
  });

  it('does not take what the server cannot do for the limit of the client', async () => {
    const result = await searchRate(plan(1e9, 900));
    expect([result.best?.streams, result.endedBy]).toEqual([841, 'server']);
  });

  it('ends at the most streams there can be', async () => {
    const result = await searchRate(plan(1e9, 1e9, { most: 1500 }));
    expect([result.best?.streams, result.endedBy]).toEqual([1500, 'files']);
  });

  it('ends when its time is over, with what it has', async () => {
    const result = await searchRate(plan(1e9, 1e9, { forMs: -1 }));
    expect([result.tries.length, result.best, result.endedBy]).toEqual([0, null, 'time']);
  });

  it('takes a run that lost something for no good one', async () => {
    const result = await searchRate(plan(1e9, 1e9, { first: 2, run: async (streams) => level(streams, { lost: 1 }) }));
    expect(result.tries.map(({ streams }) => streams)).toEqual([2, 1]);
    expect([result.best, result.endedBy]).toEqual([null, 'limit']);
  });
});
