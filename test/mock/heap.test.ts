import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DueHeap } from '../../src/mock/heap.ts';
import { LatenessHistogram } from '../../src/mock/histogram.ts';

describe('the queue of what is due', () => {
  it('gives back the earliest first, whatever comes and goes', () => {
    const command = fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constant(null));
    fc.assert(
      fc.property(fc.array(command, { maxLength: 3000 }), (commands) => {
        const heap = new DueHeap();
        let model: number[] = [];
        for (const due of commands) {
          if (due !== null) {
            heap.push({ due, fire: () => undefined });
            model.push(due);
          } else {
            const least = model.length === 0 ? undefined : Math.min(...model);
            expect(heap.nextDue).toBe(least ?? Number.POSITIVE_INFINITY);
            expect(heap.pop()?.due).toBe(least);
            model = model.filter((_, i) => i !== model.indexOf(least as number));
          }
          expect(heap.size).toBe(model.length);
        }
      }),
    );
  });
});

describe('the histogram of lateness', () => {
  it('keeps count, mean and maximum exactly, and percentiles within a bin', () => {
    const histogram = new LatenessHistogram();
    for (let i = 1; i <= 1000; i++) histogram.add(i / 100);
    const { count, meanMs, p50Ms, p99Ms, maxMs } = histogram.summary();
    expect([count, maxMs]).toEqual([1000, 10]);
    expect(meanMs).toBeCloseTo(5.005, 9);
    // A bin is 0.01 ms wide.
    expect(Math.abs(p50Ms - 5)).toBeLessThanOrEqual(0.011);
    expect(Math.abs(p99Ms - 9.9)).toBeLessThanOrEqual(0.011);
  });

  it('takes early for on time, and says nothing of nothing', () => {
    const histogram = new LatenessHistogram();
    expect(histogram.summary()).toEqual({ count: 0, meanMs: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 });
    histogram.add(-5);
    expect(histogram.summary()).toMatchObject({ count: 1, meanMs: 0, maxMs: 0 });
  });

  it('holds very late values too', () => {
    const histogram = new LatenessHistogram();
    for (const ms of [30, 300, 3000, 1e9]) histogram.add(ms);
    expect(histogram.summary().maxMs).toBe(1e9);
    expect(histogram.summary().p50Ms).toBeGreaterThanOrEqual(300);
    expect(histogram.summary().p50Ms).toBeLessThan(300 * 1.5);
  });
});
