import fc from 'fast-check';
import { HistogramLogReader } from 'hdr-histogram-js';
import { beforeAll, describe, expect, it } from 'vitest';
import { HistogramSet, initHistograms } from '../../src/aggregate/histogram.ts';
import { histogramLog } from '../../src/aggregate/histogram-log.ts';

beforeAll(initHistograms);

const microseconds = fc.integer({ min: 0, max: 120_000_000 });

/** The value that HdrHistogram means by percentile p: the smallest with at least p % of all at or below it. */
function naive(sorted: readonly number[], p: number): number {
  const rank = Math.max(1, Math.ceil((p / 100) * sorted.length));
  return sorted[rank - 1] as number;
}

describe('HistogramSet', () => {
  it('keeps percentiles within one part in a thousand of the naive ones', () => {
    fc.assert(
      fc.property(
        fc.array(microseconds, { minLength: 1, maxLength: 300 }),
        fc.integer({ min: 1, max: 100 }),
        (us, p) => {
          const set = new HistogramSet();
          for (const value of us) set.record('ttft', value / 1e6);
          const wanted = naive(
            [...us].sort((a, b) => a - b),
            p,
          );
          const got = (set.stats('ttft')?.percentileMs(p) ?? Number.NaN) * 1000;
          set.destroy();
          expect(Math.abs(got - wanted)).toBeLessThanOrEqual(wanted / 1000 + 1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('merges parts into the whole, byte for byte', () => {
    fc.assert(
      fc.property(fc.array(fc.array(microseconds, { maxLength: 50 }), { minLength: 1, maxLength: 5 }), (parts) => {
        const whole = new HistogramSet();
        const merged = new HistogramSet();
        for (const part of parts) {
          const set = new HistogramSet();
          for (const us of part) {
            set.record('itl', us / 1e6);
            whole.record('itl', us / 1e6);
          }
          merged.addEncoded(set.encode());
          set.destroy();
        }
        expect(merged.encode()).toEqual(whole.encode());
        merged.destroy();
        whole.destroy();
      }),
      { numRuns: 40 },
    );
  });

  it('lets only durations through its door', () => {
    const set = new HistogramSet();
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) set.record('e2el', bad);
    expect(set.rejected).toBe(3);
    expect(set.keys()).toEqual([]);
    expect(set.stats('e2el')).toBeNull();
    set.record('e2el', -0.25);
    set.record('e2el', 0.0000004);
    set.record('e2el', 0.0000006);
    expect(set.stats('e2el')?.count).toBe(3);
    expect(set.stats('e2el')?.maxMs).toBe(0.001);
    set.record('e2el', 1e300);
    expect(set.stats('e2el')?.maxMs).toBeGreaterThan(1e9 * 0.999);
  });

  it('takes values beyond the hour that is laid out, and merges them', () => {
    const long = new HistogramSet();
    long.record('e2el', 7200);
    const set = new HistogramSet();
    set.record('e2el', 0.5);
    set.addEncoded(long.encode());
    set.add(long);
    expect(set.stats('e2el')?.count).toBe(3);
    expect(set.stats('e2el')?.maxMs).toBeCloseTo(7_200_000, -4);
    expect(set.stats('e2el')?.percentileMs(1)).toBeCloseTo(500, 0);
  });

  it('is empty after a reset and counts anew', () => {
    const set = new HistogramSet();
    set.record('ttft', 1);
    set.reset();
    expect(set.keys()).toEqual([]);
    set.record('ttft', 2);
    expect(set.stats('ttft')?.count).toBe(1);
  });

  it('records a request as the metrics are defined', () => {
    const set = new HistogramSet();
    const request = {
      type: 'request',
      i: 0,
      success: true,
      prompt_len: 1,
      output_tokens: 5,
      ttft: 0.1,
      itl: [0.02, 0.06],
      latency: 0.18,
      start_time: 100.5,
      arrival_time: 100,
      error: '',
    } as const;
    set.recordRequest(request);
    set.recordRequest({ ...request, success: false });
    expect(set.keys()).toEqual([
      'ttft',
      'tpot',
      'ntpot',
      'itl',
      'e2el',
      'client_queue_time',
      'e2el_including_client_queue',
    ]);
    expect(set.stats('tpot')?.maxMs).toBeCloseTo(20, 1);
    expect(set.stats('itl')?.count).toBe(2);
    expect(set.stats('e2el_including_client_queue')?.maxMs).toBeCloseTo(680, 0);
  });
});

describe('histogramLog', () => {
  it('is read back by the HdrHistogram log reader, line by line', () => {
    const set = new HistogramSet();
    for (let i = 1; i <= 1000; i++) set.record('ttft', i / 1000);
    set.record('itl', 0.02);
    const text = histogramLog(set, { startedAtMs: 1764561234123, durationS: 12.5 });
    expect(text.split('\n')[1]).toBe(
      '#[StartTime: 1764561234.123 (seconds since epoch), Mon, 01 Dec 2025 03:53:54 GMT]',
    );
    const reader = new HistogramLogReader(text, 64);
    const first = reader.nextIntervalHistogram();
    const second = reader.nextIntervalHistogram();
    expect(reader.nextIntervalHistogram()).toBeNull();
    expect([first?.tag, first?.totalCount, second?.tag, second?.totalCount]).toEqual(['ttft', 1000, 'itl', 1]);
    expect(Math.abs((first?.getValueAtPercentile(50) ?? 0) - 500_000)).toBeLessThanOrEqual(500);
    expect(text).toMatch(/^Tag=ttft,0\.000,12\.500,1000\.\d{3},HISTF/m);
  });
});
