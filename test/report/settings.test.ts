import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { LATENCY_METRICS } from '../../src/metrics.ts';
import { settingsOf } from '../../src/report/settings.ts';
import { selectedMetrics } from '../../src/report/vllm-result.ts';

describe('settingsOf', () => {
  it("has vLLM's defaults", () => {
    expect(settingsOf({ model: 'm' })).toMatchObject({
      tokenizerId: 'm',
      requestRate: Number.POSITIVE_INFINITY,
      burstiness: 1,
      maxConcurrency: null,
      percentileMetrics: ['ttft', 'tpot', 'itl'],
      percentiles: [99],
      goodput: null,
    });
    expect(settingsOf({ backend: 'openai-embeddings' })).toMatchObject({ pooling: true, percentileMetrics: ['e2el'] });
  });

  it('takes options in every form in which they are written', () => {
    expect(settingsOf({ metric_percentiles: '50.0, 99.50,99' }).percentiles).toEqual([50, 99.5, 99]);
    expect(settingsOf({ metric_percentiles: [50, '99.9'] }).percentiles).toEqual([50, 99.9]);
    expect(settingsOf({ metric_percentiles: 95 }).percentiles).toEqual([95]);
    expect(settingsOf({ goodput: ['ttft:100', 'e2el:2.5'] }).goodput).toEqual({ ttft: 100, e2el: 2.5 });
    expect(settingsOf({ goodput: { tpot: 0 } }).goodput).toEqual({ tpot: 0 });
    expect(settingsOf({ goodput: 'ttft:100 tpot:5' }).goodput).toEqual({ ttft: 100, tpot: 5 });
    expect(settingsOf({ request_rate: 'inf', burstiness: '0.5', max_concurrency: '8' })).toMatchObject({
      requestRate: Number.POSITIVE_INFINITY,
      burstiness: 0.5,
      maxConcurrency: 8,
    });
    expect(settingsOf({ metadata: ['a = 1', 'b=x=y'] }).metadata).toEqual([
      ['a', '1'],
      ['b', 'x=y'],
    ]);
    expect(settingsOf({ metadata: { a: '1' } }).metadata).toEqual([['a', '1']]);
  });

  it.each([
    [{ metric_percentiles: '50,abc' }, '--metric-percentiles'],
    [{ metric_percentiles: '101' }, '--metric-percentiles'],
    [{ goodput: ['itl:3'] }, '--goodput'],
    [{ goodput: ['ttft:soon'] }, '--goodput'],
    [{ goodput: ['ttft:-1'] }, '--goodput'],
    [{ metadata: ['novalue'] }, '--metadata'],
  ])('refuses %o', (options, flag) => {
    expect(() => settingsOf(options)).toThrow(AppError);
    expect(() => settingsOf(options)).toThrow(flag);
  });
});

describe('selectedMetrics', () => {
  const all = LATENCY_METRICS.map(({ key }) => key).join(',');
  const keys = (options: Record<string, unknown>) => selectedMetrics(settingsOf(options)).map(({ key }) => key);

  it("follows vLLM's conditions and order", () => {
    const reversed = [...LATENCY_METRICS]
      .reverse()
      .map(({ key }) => key)
      .join(',');
    expect(keys({ percentile_metrics: reversed, max_concurrency: 4, request_rate: 3 })).toEqual(all.split(','));
    expect(keys({ percentile_metrics: all, max_concurrency: 4 })).toEqual(all.split(',').slice(0, 5));
    expect(keys({ percentile_metrics: all })).toEqual(['ttft', 'tpot', 'itl', 'e2el']);
    expect(keys({ percentile_metrics: all, skip_tokenizer_init: true })).toEqual(['e2el']);
    expect(keys({ percentile_metrics: all, backend: 'vllm-pooling', max_concurrency: 1 })).toEqual([
      'e2el',
      'client_queue_time',
    ]);
    expect(keys({ percentile_metrics: 'ttft, tpot,bogus' })).toEqual(['ttft']);
  });
});

describe('the catalogue of metrics', () => {
  it('has unique keys and labels', () => {
    expect(new Set(LATENCY_METRICS.map(({ key }) => key)).size).toBe(6);
    expect(new Set(LATENCY_METRICS.map(({ label }) => label)).size).toBe(6);
  });
});
