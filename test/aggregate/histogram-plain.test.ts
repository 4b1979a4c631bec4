import { describe, expect, it } from 'vitest';
import { HistogramSet } from '../../src/aggregate/histogram.ts';

// initHistograms() is not called in this file: the plain JavaScript build is what runs.
describe('HistogramSet without WebAssembly', () => {
  it('records, ships and merges the same', () => {
    const a = new HistogramSet();
    const b = new HistogramSet();
    for (let i = 1; i <= 100; i++) (i % 2 === 0 ? a : b).record('ttft', i / 1000);
    a.addEncoded(b.encode());
    expect(a.stats('ttft')?.count).toBe(100);
    expect(Math.abs((a.stats('ttft')?.percentileMs(50) ?? 0) - 50)).toBeLessThanOrEqual(0.05);
    a.record('ttft', Number.NaN);
    expect(a.rejected).toBe(1);
  });
});
