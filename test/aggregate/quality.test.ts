import { describe, expect, it } from 'vitest';
import { judgeClient, type MeasuredRun } from '../../src/aggregate/quality.ts';
import { mergedHealth } from '../../src/aggregate/quality-input.ts';

/** Ten seconds in which nothing was wrong: 50 ms to the first token, 10 ms between two. */
const RUN: MeasuredRun = {
  durationS: 10,
  completed: 100,
  failed: 0,
  interrupted: false,
  ttft: { medianMs: 50, p99Ms: 53 },
  gaps: { medianMs: 10, p99Ms: 11 },
};

interface WorkerBlock {
  readonly loop?: Record<string, number>;
  readonly utilisation?: number;
  readonly gc?: number;
  readonly sends?: Record<string, number>;
  readonly connects?: Record<string, number>;
}

function worker(index: number, { loop, utilisation, gc, sends, connects }: WorkerBlock = {}) {
  return {
    worker: index,
    loop_delay_ms: { mean: 0.2, p99: 1.1, max: 4, max_at_s: 1.5, max_cpu: 1, blocks: 0, ...loop },
    utilisation: utilisation ?? 0.2,
    gc_ms: { count: 1, total: 2, max: gc ?? 2 },
    send_lateness_ms: { count: 100, mean: 0.1, p99: 0.3, max: 0.9, ...sends },
    connect_in_run_ms: { count: 0, mean: 0, max: 0, ...connects },
  };
}

function health(workers: readonly unknown[], more: Record<string, unknown> = {}) {
  return {
    cores: 8,
    asked_in_flight: 64,
    max_in_flight: 64,
    process_cpu_ms: { user: 15_000, system: 5_000 },
    workers,
    ...more,
  };
}

function judge(block: unknown, run: Partial<MeasuredRun> = {}, lost?: unknown) {
  const verdict = judgeClient(block, lost, { ...RUN, ...run });
  if (verdict === null) throw new Error('no verdict');
  return verdict;
}

const codes = (verdict: { readonly findings: readonly { readonly code: string }[] }) =>
  verdict.findings.map(({ code }) => code);

describe('a client that kept up', () => {
  it('is found clean, with the worst figures of its workers', () => {
    expect(judge(health([worker(0), worker(1, { loop: { p99: 2.5, max: 30 }, utilisation: 0.4 })]))).toEqual({
      wasLimit: false,
      reasons: [],
      findings: [],
      figures: { loopDelayP99Ms: 2.5, loopDelayMaxMs: 30, utilisation: 0.4, workers: 2 },
    });
  });

  it('may be late where that is nothing beside what was measured', () => {
    // 12 ms of a TTFT p99 of two seconds, and of gaps whose p99 is 60 ms.
    const slow = { ttft: { medianMs: 1500, p99Ms: 2000 }, gaps: { medianMs: 45, p99Ms: 60 } };
    expect(judge(health([worker(0, { loop: { p99: 12, max: 40 } })]), slow).wasLimit).toBe(false);
  });

  it('may be late in moments when nothing came: the figures show no trace of it', () => {
    // Delays of 25 ms for one per cent of the time, but the 99th percentile of TTFT is 3 ms above its median, that of gaps 1 ms.
    expect(judge(health([worker(0, { loop: { p99: 25, max: 77 } })])).wasLimit).toBe(false);
  });

  it('is not judged without figures', () => {
    for (const block of [undefined, null, 'x', 7, {}, { workers: [] }, { workers: 'none' }]) {
      expect(judgeClient(block, undefined, RUN)).toBeNull();
    }
  });

  it('is judged by what an older or hand-made file says', () => {
    expect(judge({ max_in_flight: 3, workers: [{}] })).toMatchObject({ wasLimit: false, findings: [] });
    expect(judge({ workers: [{ loop_delay_ms: { max: Number.NaN }, utilisation: '1' }, null, 5] }).wasLimit).toBe(
      false,
    );
  });
});

describe('several runs together', () => {
  it('are judged by all their workers', () => {
    const merged = mergedHealth([
      health([worker(0), worker(1)], { max_in_flight: 7 }),
      health([worker(0, { loop: { max: 300 } })], { cores: 2, max_in_flight: 9 }),
    ]);
    expect(merged).toMatchObject({ cores: 8, max_in_flight: 9 });
    expect(merged).not.toHaveProperty('asked_in_flight');
    expect(codes(judge(merged))).toEqual(['client_loop_blocked']);
    expect(judge(merged).figures.workers).toBe(3);
  });

  it('are open loops when all of them are', () => {
    const open = health([worker(0)], { open_loop: true });
    expect(mergedHealth([open, open])).toHaveProperty('open_loop', true);
    expect(mergedHealth([open, health([worker(0)])])).not.toHaveProperty('open_loop');
  });

  it('are not judged when one of them says nothing', () => {
    expect(mergedHealth([health([worker(0)]), undefined])).toBeUndefined();
    expect(mergedHealth([health([worker(0)]), { workers: [] }])).toBeUndefined();
    expect(mergedHealth([])).toBeUndefined();
  });
});

describe('a loop that was blocked', () => {
  it('is named with when, how long, and a number of workers to try', () => {
    const blocked = worker(1, { loop: { p99: 98, max: 198, max_at_s: 2.25, blocks: 1 }, gc: 12 });
    const verdict = judge(health([worker(0), blocked]), { ttft: { medianMs: 50, p99Ms: 140 } });
    expect(verdict.wasLimit).toBe(true);
    expect(verdict.reasons).toEqual(verdict.findings);
    expect(verdict.findings).toEqual([
      {
        code: 'client_loop_blocked',
        facts: {
          worker: 1,
          p99_ms: 98,
          max_ms: 198,
          at_s: 2.25,
          blocks: 1,
          // 140 − 50 is less than the delay.
          too_high_ms: { ttft: 90 },
          gc_max_ms: 12,
          workers: 2,
          cores: 8,
          use_workers: 4,
        },
      },
    ]);
  });

  it('counts from 150 ms on, once being enough', () => {
    expect(judge(health([worker(0, { loop: { p99: 1, max: 149 } })])).wasLimit).toBe(false);
    expect(codes(judge(health([worker(0, { loop: { p99: 1, max: 150 } })])))).toEqual(['client_loop_blocked']);
  });

  it('was not at work when the process used no CPU meanwhile', () => {
    const facts = (cpu: number) => judge(health([worker(0, { loop: { max: 300, max_cpu: cpu } })])).findings[0]?.facts;
    expect(facts(0.1)).toHaveProperty('not_run', true);
    expect(facts(0.9)).not.toHaveProperty('not_run');
  });
});

describe('a loop that was late', () => {
  const late = worker(2, { loop: { p99: 12, max: 40, blocks: 0 } });
  const three = health([worker(0), worker(1), late], { cores: 16 });

  it('is found when TTFT or gaps are too high by a notable part', () => {
    const verdict = judge(three, { ttft: { medianMs: 50, p99Ms: 70 }, gaps: { medianMs: 10, p99Ms: 20 } });
    expect(codes(verdict)).toEqual(['client_loop_late']);
    expect(verdict.wasLimit).toBe(true);
    expect(verdict.findings[0]?.facts).toMatchObject({
      worker: 2,
      p99_ms: 12,
      max_ms: 40,
      too_high_ms: { ttft: 12, itl: 10 },
      workers: 3,
      use_workers: 6,
    });
  });

  it.each([
    // Delay, TTFT median and p99, gap median and p99 → what is too high.
    [4.9, 50, 60, 10, 20, {}],
    [5, 50, 60, 10, 19, { ttft: 5, itl: 5 }],
    [6, 50, 121, 10, 11, {}],
    [6, 50, 119, 10, 11, { ttft: 6 }],
    [6, 50, 51, 10, 24, { itl: 6 }],
    [6, 50, 51, 20, 25, {}],
    [30, 0, 0, 0, 0, {}],
  ] as const)('by %d ms, TTFT %d/%d, gaps %d/%d: %o', (p99, ttft, ttftP99, gap, gapP99, expected) => {
    const verdict = judge(health([worker(0, { loop: { p99, max: p99 } })]), {
      ttft: { medianMs: ttft, p99Ms: ttftP99 },
      gaps: { medianMs: gap, p99Ms: gapP99 },
    });
    expect(verdict.findings[0]?.facts['too_high_ms'] ?? {}).toEqual(expected);
  });

  it('asks for no more workers than there are cores, and leaves one free where there are several', () => {
    const use = (workers: number, cores: number | undefined, asked = 1000) =>
      judge(
        health(
          Array.from({ length: workers }, (_, k) => worker(k, { loop: { max: 200 } })),
          {
            cores,
            asked_in_flight: asked,
            max_in_flight: asked,
          },
        ),
      ).findings[0]?.facts['use_workers'];
    expect([use(1, 1), use(1, 2), use(1, 4), use(1, 64), use(4, 8), use(4, 6), use(7, 8), use(8, 8)]).toEqual([
      null,
      2,
      2,
      2,
      7,
      5,
      8,
      null,
    ]);
    expect([use(1, 16, 1), use(2, 16, 3), use(2, undefined)]).toEqual([null, 3, null]);
  });

  it('is not helped by workers when the process did not get the CPU time it wanted', () => {
    // Two loops busy for half of ten seconds want 10 s of CPU time.
    const busy = [worker(0, { loop: { max: 200 }, utilisation: 0.5 }), worker(1, { utilisation: 0.5 })];
    const facts = (ms: number) => judge(health(busy, { process_cpu_ms: { user: ms, system: 0 } })).findings[0]?.facts;
    expect(facts(6900)).toMatchObject({ cpu_share: 0.69, use_workers: null });
    expect(facts(7100)).not.toHaveProperty('cpu_share');
    expect(facts(7100)).toMatchObject({ use_workers: 4 });
  });
});

describe('a client that could not keep up', () => {
  it('is busy from nine tenths of the time on, in a run long enough to tell', () => {
    const block = health([worker(0), worker(1, { utilisation: 0.97 })], {
      process_cpu_ms: { user: 12_000, system: 0 },
    });
    expect(judge(block).findings).toEqual([
      { code: 'client_busy', facts: { worker: 1, utilisation: 0.97, workers: 2, cores: 8, use_workers: 4 } },
    ]);
    expect(judge(block).wasLimit).toBe(true);
    expect(judge(block, { durationS: 0.5 }).wasLimit).toBe(false);
    expect(judge(health([worker(0, { utilisation: 0.89 })])).wasLimit).toBe(false);
  });

  it('sends later than planned, in an open loop only', () => {
    const late = [worker(0, { sends: { p99: 35, max: 60 } })];
    expect(judge(health(late)).findings).toEqual([]);
    const open = judge(health(late, { open_loop: true, asked_in_flight: undefined }));
    expect(open.wasLimit).toBe(true);
    expect(open.findings).toEqual([
      { code: 'client_sends_late', facts: { worker: 0, p99_ms: 35, max_ms: 60, workers: 1, use_workers: 2 } },
    ]);
  });

  it('is not to blame for connections that had to be opened first', () => {
    const open = health([worker(0, { sends: { p99: 35, max: 60 }, connects: { count: 40, mean: 30, max: 50 } })], {
      open_loop: true,
      asked_in_flight: undefined,
    });
    const verdict = judge(open);
    expect(codes(verdict)).toEqual(['client_connects_late']);
    expect(verdict.findings[0]?.facts).toMatchObject({ connections: 40, connect_mean_ms: 30 });
    expect([verdict.wasLimit, verdict.reasons]).toEqual([false, []]);
  });

  it('has fewer in flight than asked for', () => {
    const low = (seen: number, run: Partial<MeasuredRun> = {}) =>
      codes(judge(health([worker(0)], { asked_in_flight: 1000, max_in_flight: seen }), run));
    expect(low(899)).toEqual(['client_in_flight_low']);
    expect(low(900)).toEqual([]);
    // Ended early, or answers that fail at once: nothing can be said.
    expect(low(100, { interrupted: true })).toEqual([]);
    expect(low(100, { completed: 10, failed: 990 })).toEqual([]);
  });

  it('lost a worker', () => {
    const verdict = judge(health([worker(0)]), {}, ['worker 1: out of memory']);
    expect(verdict.reasons).toEqual([{ code: 'client_worker_lost', facts: { workers: ['worker 1: out of memory'] } }]);
  });
});
