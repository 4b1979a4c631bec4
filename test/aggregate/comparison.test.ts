import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { relativeInterval, type Sampled, statisticOf } from '../../src/aggregate/bootstrap.ts';
import { differences, objections } from '../../src/aggregate/comparison.ts';

const plain = (values: readonly number[]): Sampled => ({ values: Float64Array.from(values), weights: null });
/** Values around `centre`, evenly spread by ±10 %. */
const around = (centre: number, n: number) =>
  plain(Array.from({ length: n }, (_, i) => centre * (0.9 + (0.2 * ((i * 37) % n)) / (n - 1))));

describe('the bootstrap', () => {
  it('holds the true difference, and is the narrower the more there is', () => {
    const [few, many] = [50, 5000].map(
      (n) => relativeInterval(around(10, n), around(11, n), 'mean', false) as [number, number],
    );
    for (const [low, high] of [few, many] as [number, number][]) {
      expect(low).toBeLessThan(0.1);
      expect(high).toBeGreaterThan(0.1);
      expect(low).toBeGreaterThan(0);
    }
    expect((many as [number, number])[1] - (many as [number, number])[0]).toBeLessThan(0.02);
  });

  it('is certain of pairs that all differ by the same share', () => {
    const a = around(10, 100);
    const b = plain(Array.from(a.values, (value) => value * 1.1));
    const [low, high] = relativeInterval(a, b, 'mean', true) as [number, number];
    expect(low).toBeCloseTo(0.1, 9);
    expect(high).toBeCloseTo(0.1, 9);
  });

  it('takes statistics as they are defined', () => {
    fc.assert(
      fc.property(fc.array(fc.float({ min: 0, max: 1000, noNaN: true }), { minLength: 1, maxLength: 40 }), (values) => {
        const sorted = values.map(Math.fround).sort((x, y) => x - y);
        const at = (sorted.length - 1) / 2;
        const median = ((sorted[Math.floor(at)] as number) + (sorted[Math.ceil(at)] as number)) / 2;
        expect(statisticOf(plain(values), 50)).toBeCloseTo(median, 6);
        expect(statisticOf(plain(values), 'mean')).toBeCloseTo(values.reduce((a, b) => a + b, 0) / values.length, 6);
      }),
    );
    // Gaps of 2 requests: 30 ms over 3 and 10 ms over 1.
    expect(statisticOf({ values: Float64Array.of(30, 10), weights: Float64Array.of(3, 1) }, 'mean')).toBe(10);
  });

  it('says nothing of a single value', () => {
    expect(relativeInterval(plain([1]), plain([1, 2]), 'mean', false)).toBeNull();
  });
});

const result = (more: object) => ({
  model_id: 'm',
  max_concurrency: 8,
  request_rate: 'inf',
  num_prompts: 100,
  completed: 100,
  failed: 0,
  total_input_tokens: 1000,
  total_output_tokens: 5000,
  output_throughput: 100,
  mean_ttft_ms: 10,
  mean_itl_ms: 10,
  ...more,
});

describe('two results', () => {
  it.each<[string, object, RegExp]>([
    ['another model', { model_id: 'n' }, /^model: m and n$/],
    ['another concurrency', { max_concurrency: 16 }, /^concurrency: 8 and 16$/],
    ['another rate', { request_rate: 5 }, /^request rate/],
    ['other lengths', { total_output_tokens: 6000 }, /^output tokens per request: 50.0 and 60.0$/],
    ['other samples', { tabby_load: { samples_sha256: 'y' } }, /^samples/],
  ])('are not compared with %s', (_, more, reason) => {
    const first = result({ tabby_load: { samples_sha256: 'x' } });
    expect(objections(first, { ...first, ...more })).toEqual([expect.stringMatching(reason)]);
  });

  it('are compared with nearly the same lengths, and with a file that knows no samples', () => {
    expect(objections(result({ tabby_load: { samples_sha256: 'x' } }), result({ total_output_tokens: 5050 }))).toEqual(
      [],
    );
  });

  it.each<[string, number, string]>([
    ['slower', 11, 'worse'],
    ['faster', 9, 'better'],
    ['the same', 10, 'same'],
  ])('differ by what the values show: %s', (_, mean, verdict) => {
    const of = (centre: number) => ({
      result: result({ mean_ttft_ms: centre }),
      series: { ttft: around(centre, 2000) },
    });
    const found = differences(of(10), of(mean), 0.02).find(({ key }) => key === 'mean_ttft_ms');
    expect(found).toMatchObject({ a: 10, b: mean, verdict });
  });

  it('show none in the time to the first token that the lateness of a client could make', () => {
    const worker = { worker: 0, loop_delay_ms: { p99: 3, max: 5 }, utilisation: 0.1, sends: 1 };
    const of = (centre: number) => ({
      result: result({
        mean_ttft_ms: centre,
        mean_tpot_ms: centre,
        tabby_load: { client_health: { workers: [worker] } },
      }),
      series: { ttft: around(centre, 2000), tpot: around(centre, 2000) },
    });
    const verdicts = Object.fromEntries(differences(of(20), of(22), 0.02).map(({ key, verdict }) => [key, verdict]));
    expect([verdicts['mean_ttft_ms'], verdicts['mean_tpot_ms']]).toEqual(['blurred', 'worse']);
  });

  it('show no difference where there are few values, and cannot be judged without any', () => {
    const few = (values: readonly number[]) => ({ result: result({}), series: { ttft: plain(values) } });
    const verdicts = differences(few([1, 30, 9]), few([2, 25, 12]), 0.02);
    expect(verdicts.find(({ key }) => key === 'mean_ttft_ms')?.verdict).toBe('unclear');
    expect(verdicts.find(({ key }) => key === 'output_throughput')?.verdict).toBe('unknown');
  });
});
