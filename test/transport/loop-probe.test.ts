import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DelayCounts } from '../../src/transport/delay-counts.ts';
import { LoopProbe } from '../../src/transport/loop-probe.ts';

const clock = vi.hoisted(() => ({ ms: 0, cpuUs: 0 }));
vi.mock('../../src/record/clock.ts', () => ({
  nowMs: () => clock.ms,
  cpuTimeUs: () => ({ totalUs: clock.cpuUs }),
}));

describe('counts of delays', () => {
  it('yield mean, longest and percentiles to a tenth of a millisecond', () => {
    const delays = new DelayCounts();
    for (let k = 1; k <= 100; k++) delays.add(k / 10);
    expect(delays.count).toBe(100);
    expect(delays.mean).toBeCloseTo(5.05, 10);
    expect(delays.max).toBe(10);
    expect(delays.percentile(0.5)).toBeCloseTo(5, 0);
    expect(delays.percentile(0.99)).toBeCloseTo(9.9, 0);
    expect(delays.percentile(1)).toBe(10);
  });

  it('know no delay below nothing, and none that is too long', () => {
    const delays = new DelayCounts();
    expect([delays.mean, delays.max, delays.percentile(0.99)]).toEqual([0, 0, 0]);
    delays.add(-3);
    expect([delays.mean, delays.max, delays.percentile(1)]).toEqual([0, 0, 0]);
    delays.add(86_400_000);
    expect(delays.percentile(1)).toBe(86_400_000);
  });
});

describe('the probe of the event loop', () => {
  beforeEach(() => {
    clock.ms = 5000;
    clock.cpuUs = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sees nothing where timers run when they are due', () => {
    const probe = new LoopProbe();
    probe.begin();
    pass(1000, 5);
    expect(probe.end()).toMatchObject({ mean: 0, p99: 0, max: 0, blocks: 0 });
  });

  it('counts a block as all the probes that fell into it', () => {
    const probe = new LoopProbe();
    probe.begin();
    pass(1000, 5);
    // The loop is away for 200 ms beyond the 5 that it had to wait, of which it works for 41.
    clock.cpuUs += 41_000;
    pass(205, 205);
    const seen = probe.end();
    // 200 probes in the first second; then one 200 ms late, and those that were due every 5 ms: 195, 190, … 5.
    expect(seen.max).toBe(200);
    expect(seen.maxAtMs).toBe(1205);
    expect(seen.maxCpu).toBeCloseTo(0.2, 9);
    expect(seen.blocks).toBe(1);
    // (200 + 195 + … + 5) / 240.
    expect(seen.mean).toBeCloseTo(4100 / 240, 9);
    // Two of 240 were later than 190.
    expect(seen.p99).toBeCloseTo(190, 0);
  });

  it('counts a block that lasts to the end, whose probe never ran', () => {
    const probe = new LoopProbe();
    probe.begin();
    pass(100, 5);
    clock.ms += 65;
    expect(probe.end()).toMatchObject({ max: 60, blocks: 1, maxAtMs: 165 });
  });
});

/** Lets time pass in steps; timers run at the end of each. */
function pass(ms: number, step: number): void {
  for (let gone = 0; gone < ms; gone += step) {
    clock.ms += step;
    vi.advanceTimersByTime(5);
  }
}
