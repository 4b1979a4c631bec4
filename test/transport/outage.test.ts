import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nowMs } from '../../src/record/clock.ts';
import { CONTROL, STOP } from '../../src/record/messages.ts';
import type { FailureKind } from '../../src/record/record.ts';
import { type OutagePlan, OutageWatch, type Presence, signOfAbsence } from '../../src/transport/outage.ts';

const there: Presence = { isThere: true, model: 'm' };
const gone: Presence = { isThere: false, reason: 'refused' };

describe('a run whose server goes away', () => {
  let cells: Int32Array;
  let log: string[];
  let answers: Presence[];

  beforeEach(() => {
    vi.useFakeTimers();
    // Fake timers leave the clock of node:perf_hooks alone: it is tied to theirs.
    const begun = Date.now();
    vi.spyOn(performance, 'now').mockImplementation(() => Date.now() - begun);
    cells = new Int32Array(CONTROL.cells);
    log = [];
    answers = [];
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  function watch(waitMs: number): OutageWatch {
    const plan: OutagePlan = {
      waitMs,
      ask: async () => {
        log.push('ask');
        return answers.shift() ?? gone;
      },
      onGone: (reason) => log.push(`gone: ${reason}`),
      onBack: ({ failed, model }) => log.push(`back: ${failed} failed, ${model}`),
      onGivenUp: () => log.push('given up'),
    };
    return new OutageWatch(plan, cells, nowMs(), () => {
      log.push('end');
      cells[CONTROL.stop] = STOP.drain;
    });
  }

  it('goes on when it is back, and tells what failed meanwhile', async () => {
    answers = [gone, gone, there];
    const one = watch(60_000);
    cells[CONTROL.failed] = 3;
    await vi.advanceTimersByTimeAsync(100);
    cells[CONTROL.failed] = 7;
    cells[CONTROL.stop] = STOP.pause;
    await vi.advanceTimersByTimeAsync(20);
    expect(log).toEqual(['ask', 'gone: refused']);
    expect(cells[CONTROL.absentMs]).toBeGreaterThanOrEqual(100);
    expect(cells[CONTROL.stop]).toBe(STOP.pause);
    await vi.advanceTimersByTimeAsync(600);
    expect(log).toEqual(['ask', 'gone: refused', 'ask', 'ask', 'back: 4 failed, m']);
    expect(cells[CONTROL.stop]).toBe(STOP.run);
    one.close();
    expect(one.outages).toMatchObject([{ reason: 'refused', failed: 4, isOver: true }]);
  });

  it('goes on at once after a false alarm, and leaves weak signs alone for a while', async () => {
    answers = [there];
    const one = watch(60_000);
    expect(cells[CONTROL.mayPause]).toBe(1);
    cells[CONTROL.stop] = STOP.pause;
    await vi.advanceTimersByTimeAsync(20);
    expect([cells[CONTROL.stop], cells[CONTROL.mayPause], log]).toEqual([STOP.run, 0, ['ask']]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(cells[CONTROL.mayPause]).toBe(1);
    one.close();
    expect(one.outages).toEqual([]);
  });

  it('ends the run when it does not come back in time', async () => {
    const one = watch(1000);
    cells[CONTROL.stop] = STOP.pause;
    await vi.advanceTimersByTimeAsync(2000);
    expect(log.slice(-2)).toEqual(['given up', 'end']);
    one.close();
    expect(one.outages).toMatchObject([{ isOver: false }]);
  });

  it('does not wait any longer once the run is ended otherwise, and notes what there was', async () => {
    const one = watch(60_000);
    cells[CONTROL.stop] = STOP.pause;
    await vi.advanceTimersByTimeAsync(20);
    cells[CONTROL.stop] = STOP.drain;
    one.close();
    const before = log.length;
    await vi.advanceTimersByTimeAsync(5000);
    expect(log.length).toBe(before);
    expect(one.outages).toMatchObject([{ reason: 'refused', isOver: false }]);
  });
});

describe('signs that a server is gone', () => {
  const sign = (kind: FailureKind, status = 0) => signOfAbsence({ error_kind: kind, status });

  it('are sure where there is no connection, weak where something broke or failed', () => {
    expect([sign('connect'), sign('timeout_connect')]).toEqual(['sure', 'sure']);
    for (const kind of ['reset', 'truncated', 'timeout_idle', 'timeout_first_token'] as const) {
      expect(sign(kind), kind).toBe('weak');
    }
    expect([sign('http', 500), sign('http', 503)]).toEqual(['weak', 'weak']);
  });

  it('are none where the request itself is at fault', () => {
    expect([sign('http', 400), sign('http', 429), sign('parse'), sign('aborted'), signOfAbsence({})]).toEqual(
      Array.from({ length: 5 }, () => 'none'),
    );
  });
});
