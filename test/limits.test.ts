import { describe, expect, it } from 'vitest';
import { isKept, parseLimit, shownValue } from '../src/limits.ts';

describe('a limit', () => {
  it.each<[string, string, unknown, string, number, string]>([
    ['ttft p99 < 500ms', 'ttft', 99, '<', 500, 'ms'],
    ['  TTFT   P99.9<=0.5s ', 'ttft', 99.9, '<=', 500, 'ms'],
    ['tpot median < 40', 'tpot', 'median', '<', 40, 'ms'],
    ['itl max < 1500us', 'itl', 'max', '<', 1.5, 'ms'],
    ['p95_itl_ms <= 30', 'itl', 95, '<=', 30, 'ms'],
    ['mean_e2el_ms < 2e3', 'e2el', 'mean', '<', 2000, 'ms'],
    ['queue p50 < 1s', 'client_queue_time', 50, '<', 1000, 'ms'],
    ['errors < 1%', 'error_rate', null, '<', 0.01, 'share'],
    ['error_rate <= 0.005', 'error_rate', null, '<=', 0.005, 'share'],
    ['goodput > 5', 'request_goodput', null, '>', 5, 'plain'],
    ['output_throughput >= 2000', 'output_throughput', null, '>=', 2000, 'plain'],
    ['ntpot p90 < 50ms', 'ntpot', 90, '<', 50, 'ms'],
  ])('%s', (text, metric, statistic, operator, bound, unit) => {
    const limit = parseLimit(text);
    expect(limit).toMatchObject({ metric, statistic, operator, unit });
    expect(limit.bound).toBeCloseTo(bound, 12);
  }); // biome-ignore format: a table

  it.each([
    ['ttft', /METRIC \[STATISTIC\] < VALUE/],
    ['ttft p99 = 5', /METRIC/],
    ['ttft < 500ms', /Say ttft p99/],
    ['ttft p101 < 5', /no percentile 101/],
    ['ttft p99 < 5%', /cannot be given in %/],
    ['ttft often < 5', /"often" is no statistic/],
    ['errors p99 < 1%', /leave "p99" out/],
    ['goodput > 5ms', /makes no sense/],
    ['ttff p99 < 5', /"ttff" is no metric/],
    ['', /METRIC/],
    ['ttft p99 < 1.2.3', /no number/],
  ])('cannot be read from %j', (text, message) => {
    expect(() => parseLimit(text)).toThrow(message);
  });

  it('is kept or not at its bound', () => {
    expect(['<', '<=', '>', '>='].map((op) => isKept(parseLimit(`goodput ${op} 5`), 5))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });

  it('is shown in its unit', () => {
    expect(shownValue({ unit: 'ms' }, 612.34567)).toBe('612.3 ms');
    expect(shownValue({ unit: 'share' }, 0.0123)).toBe('1.23 %');
    expect(shownValue({ unit: 'plain' }, 12_345.678)).toBe('12345.7');
  });
});
