import { describe, expect, it } from 'vitest';
import { liveTitle, RunWatch } from '../../src/commands/run-live.ts';
import type { RequestRecord } from '../../src/record/record.ts';
import { packWork } from '../../src/transport/shared-work.ts';

const work = packWork(
  [100, 200, 300, 400].map((outputLen, i) => ({
    body: new Uint8Array(1),
    plannedMs: i * 500,
    promptLen: 7,
    outputLen,
    requestId: null,
    category: undefined,
  })),
);

const progress = {
  completed: 1,
  failed: 1,
  inFlight: 1,
  maxInFlight: 2,
  tokenFrames: 60,
  framesOfEnded: 50,
  elapsedMs: 3000,
  countedMs: 2950,
  ttftMs: null,
  itlMs: null,
};
const quiet = { worker: 0, loopMaxMs: 3, loopP99Ms: 1, utilisation: 0.1 };
const live = { ttft: { p50Ms: 20, p99Ms: 30 }, itl: null, workers: [quiet] };
const ending = { reason: null };

function record(i: number, more: Partial<RequestRecord>): RequestRecord {
  return { type: 'request', i, success: true, frames: 0, output_tokens: null, ...more } as RequestRecord;
}

describe('figures of a run under way', () => {
  it('are put together from counters and records', () => {
    const watch = new RunWatch({ durationMs: 9000, stream: true }, work);
    // 100 were asked for, 99 made, in 50 frames.
    watch.add(record(0, { frames: 50, output_tokens: 99 }));
    watch.add(record(2, { success: false, error_kind: 'reset' }));
    const state = watch.state({ run: { progress, live }, ending });
    expect(state).toMatchObject({
      planned: 4,
      lastPlannedMs: 1500,
      durationMs: 9000,
      tokensPerFrame: 99 / 50,
      framesPerAsked: 0.5,
      // Three were begun: 100 + 200 + 300.
      asked: { all: 1000, begun: 600, succeeded: 100, failed: 300 },
      clientLimit: null,
      loopMaxMs: 3,
      isEnding: false,
    });
    expect([...state.errors]).toEqual([['reset', 1]]);
  });

  it('say nothing of tokens before a request has told', () => {
    const state = new RunWatch({ durationMs: null, stream: true }, work).state({ run: { progress, live }, ending });
    expect(state).toMatchObject({ tokensPerFrame: null, framesPerAsked: null });
  });

  it('count tokens of answers that come whole as the server tells them', () => {
    const watch = new RunWatch({ durationMs: null, stream: false }, work);
    watch.add(record(0, { frames: 1, output_tokens: 99 }));
    watch.add(record(1, { frames: 1, output_tokens: 201 }));
    expect(watch.state({ run: { progress, live }, ending })).toMatchObject({
      tokenFrames: 300,
      framesOfEnded: 300,
      tokensPerFrame: null,
      framesPerAsked: 1,
    });
  });

  it('judge the client by the rules of the report', () => {
    const watch = new RunWatch({ durationMs: null, stream: true }, work);
    const limit = (workers: (typeof quiet)[]): string | null =>
      watch.state({ run: { progress, live: { ...live, workers } }, ending }).clientLimit;
    expect(limit([quiet, { ...quiet, worker: 1, loopMaxMs: 160 }])).toContain('blocked up to 160');
    expect(limit([{ ...quiet, utilisation: 0.95 }])).toContain('busy 95 %');
    expect(limit([])).toBeNull();
    watch.lose('out of memory');
    expect(limit([quiet])).toBe('a worker thread died');
  });
});

describe('the title', () => {
  const options = { maxConcurrency: 8, requestRate: Number.POSITIVE_INFINITY, servedModelName: null, model: null };
  const title = (more: object, label: string | null): readonly string[] =>
    liveTitle(
      { ...options, ...more } as Parameters<typeof liveTitle>[0],
      { model: 'M' } as Parameters<typeof liveTitle>[1],
      label,
    );

  it('says which run, its load and the model', () => {
    expect(title({}, null)).toEqual(['run', 'concurrency 8', 'M']);
    expect(title({ maxConcurrency: null, requestRate: 5, model: 'N' }, 'level 2 of 3')).toEqual([
      'level 2 of 3',
      '5 requests/s',
      'N',
    ]);
  });
});
