import { describe, expect, it } from 'vitest';
import { noiseOf, triesOf, withTry } from '../../src/aggregate/sweep-noise.ts';
import { level } from '../fixtures/sweep/level.ts';

describe('the noise of a throughput', () => {
  it('is the half width of the 95 % interval over its mean, by parts', () => {
    // Mean 100, deviation 10 (n − 1), t(2) = 4.303: 4.303 · 10 / √3 / 100.
    expect(noiseOf([90, 100, 110])).toBeCloseTo((4.303 * 10) / Math.sqrt(3) / 100, 12);
    expect(noiseOf([50, 50, 50, 50])).toBe(0);
  });

  it('is not known from two parts, or without tokens', () => {
    expect(noiseOf([90, 110])).toBeNull();
    expect(noiseOf([0, 0, 0])).toBeNull();
    expect(noiseOf([])).toBeNull();
  });
});

const kept = (isKept: boolean) => [{ limit: 'ttft p99 < 100ms', value: isKept ? 50 : 150, bound: 100, kept: isKept }];

describe('a level that was measured more than once', () => {
  it('has the median of the throughputs, and half of what the nearer two differ by as noise', () => {
    const one = withTry(undefined, level({ output_throughput: 100, nonce: 'a' }));
    expect(one.tries).toBeUndefined();
    const two = withTry(one, level({ output_throughput: 110, nonce: 'b' }));
    expect(two.output_throughput).toBe(105);
    expect(two.throughput_noise).toBeCloseTo(5 / 105, 12);
    // One that was disturbed moves neither.
    const three = withTry(two, level({ output_throughput: 40, nonce: 'c', result_file: 'concurrency-1-again-3.json' }));
    expect(three.output_throughput).toBe(100);
    expect(three.throughput_noise).toBeCloseTo(5 / 100, 12);
    expect(three).toMatchObject({ nonce: 'a', result_file: 'concurrency-1.json' });
    expect(triesOf(three).map(({ nonce }) => nonce)).toEqual(['a', 'b', 'c']);
    for (const each of triesOf(three)) expect(each.tries).toBeUndefined();
  });

  it('keeps its limits when most of its measurements do; of two the worse one counts', () => {
    const missed = level({ limits: kept(false) });
    const two = withTry(missed, level({ limits: kept(true) }));
    expect(two.limits[0]?.kept).toBe(false);
    expect(withTry(two, level({ limits: kept(true) })).limits[0]?.kept).toBe(true);
    expect(withTry(two, level({ limits: kept(false) })).limits[0]?.kept).toBe(false);
  });

  it('has the goodput of all its requests', () => {
    const goodput = (good: number, requests: number) => ({ good, requests, share: good / requests, low: 0, high: 1 });
    const two = withTry(level({ goodput: goodput(19, 20) }), level({ goodput: goodput(16, 20) }));
    expect(two.goodput).toMatchObject({ good: 35, requests: 40, share: 0.875 });
    // Wilson's interval of 35 of 40, worked out by hand.
    expect(two.goodput?.low).toBeCloseTo(0.7389, 4);
    expect(two.goodput?.high).toBeCloseTo(0.9454, 4);
  });

  it('is not changed by a measurement that was broken off or failed, and takes the place of one that was', () => {
    const done = level({ output_throughput: 100 });
    expect(withTry(done, level({ status: 'partial', output_throughput: 1 }))).toBe(done);
    expect(withTry(done, level({ status: 'failed', output_throughput: 1 }))).toBe(done);
    const failed = level({ status: 'failed', output_throughput: 1 });
    expect(withTry(failed, done)).toBe(done);
  });
});
