import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LIVE_BUCKETS,
  LIVE_BYTES,
  LiveCounts,
  liveBucket,
  liveBucketMs,
  liveLatencies,
} from '../../src/record/live-counts.ts';

describe('buckets', () => {
  it('hold a duration within 1.6 %, from a microsecond to half an hour', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 0x7fffffff }), (us) => {
        const readUs = liveBucketMs(liveBucket(us / 1000)) * 1000;
        expect(Math.abs(readUs - us)).toBeLessThanOrEqual(us * 0.0157 + 1e-6);
      }),
    );
  });

  it('grow with the duration, without a gap', () => {
    let last = -1;
    for (let us = 0; us < 5000; us++) {
      const bucket = liveBucket(us / 1000);
      expect(bucket - last === 0 || bucket - last === 1).toBe(true);
      last = bucket;
    }
  });

  it('take what is no duration', () => {
    for (const ms of [0, -1, Number.NaN, Number.NEGATIVE_INFINITY]) expect(liveBucket(ms)).toBe(0);
    expect(liveBucket(Number.POSITIVE_INFINITY)).toBe(LIVE_BUCKETS - 1);
    expect(liveBucket(1e9)).toBe(LIVE_BUCKETS - 1);
  });
});

describe('counts of streams', () => {
  const stream = (...times: number[]) => ({ times: Float64Array.from([...times, 1e9]), tokenFrames: times.length });

  it('are null before there is a token', () => {
    const memory = new SharedArrayBuffer(LIVE_BYTES);
    expect(new LiveCounts(memory).take(stream(), 100, 0)).toBe(0);
    expect(liveLatencies([memory])).toEqual({ ttft: null, itl: null });
    expect(liveLatencies([])).toEqual({ ttft: null, itl: null });
  });

  it('move while a stream is under way, and count nothing twice', () => {
    const memory = new SharedArrayBuffer(LIVE_BYTES);
    const counts = new LiveCounts(memory);
    expect(counts.take(stream(120), 100, 0)).toBe(1);
    const first = liveLatencies([memory]);
    expect(first.ttft?.p50Ms).toBeCloseTo(20, 0);
    expect(first.itl).toBeNull();
    expect(counts.take(stream(120, 130, 140, 150), 100, 1)).toBe(4);
    expect(counts.take(stream(120, 130, 140, 150), 100, 4)).toBe(4);
    expect(liveLatencies([memory]).itl?.p99Ms).toBeCloseTo(10, 0);
    const cells = new Uint32Array(memory);
    expect(cells.reduce((sum, n) => sum + n, 0)).toBe(4);
  });

  it('are put together over workers by nearest rank', () => {
    const memories = [0, 1].map(() => new SharedArrayBuffer(LIVE_BYTES));
    const [a, b] = memories.map((memory) => new LiveCounts(memory)) as [LiveCounts, LiveCounts];
    // 98 of 1 ms with the one worker, 2 of 1000 ms with the other: 1 ms is the median, and the 99th of 100 is a long one.
    for (let k = 0; k < 98; k++) a.take(stream(1), 0, 0);
    for (let k = 0; k < 2; k++) b.take(stream(1000), 0, 0);
    const { ttft } = liveLatencies(memories);
    expect(ttft?.p50Ms).toBeCloseTo(1, 1);
    expect(ttft?.p99Ms).toBeGreaterThan(980);
    expect(ttft?.p99Ms).toBeLessThan(1020);
  });
});
