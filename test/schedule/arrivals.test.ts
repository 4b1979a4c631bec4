/** Arrival plans against the vectors recorded from vLLM 0.30.0, and what holds for all of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NumpyRandom } from '../../src/dataset/numpy-random.ts';
import { type ArrivalSpec, planArrivals, planTrace } from '../../src/schedule/arrivals.ts';
import { goldenCases } from '../support/fixtures.ts';

interface ArrivalCase {
  readonly name: string;
  readonly n: number;
  readonly request_rate: number | 'inf';
  readonly burstiness: number | 'inf';
  readonly seed: number;
  readonly ramp_up_strategy: 'linear' | 'exponential' | null;
  readonly ramp_up_start_rps: number | null;
  readonly ramp_up_end_rps: number | null;
  readonly delays_s: readonly number[];
  readonly rates?: readonly number[];
  readonly np_next2: readonly number[];
  readonly error?: { readonly type: string; readonly message: string };
}

const cases = goldenCases<ArrivalCase>('arrivals');

const specOf = (c: ArrivalCase): ArrivalSpec => ({
  count: c.n,
  requestRate: Number(c.request_rate === 'inf' ? Number.POSITIVE_INFINITY : c.request_rate),
  burstiness: Number(c.burstiness === 'inf' ? Number.POSITIVE_INFINITY : c.burstiness),
  ramp:
    c.ramp_up_strategy === null
      ? null
      : { strategy: c.ramp_up_strategy, startRps: c.ramp_up_start_rps!, endRps: c.ramp_up_end_rps! },
});

function expectClose(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [i, value] of expected.entries()) {
    expect(Math.abs(actual[i]! - value), `value ${i}`).toBeLessThanOrEqual(1e-12 * Math.abs(value));
  }
}

describe('planArrivals on the vectors of vLLM 0.30.0', () => {
  it('has them', () => {
    expect(cases.length).toBeGreaterThanOrEqual(19);
  });

  it.each(cases.filter((c) => c.error === undefined))('$name', (c) => {
    const random = new NumpyRandom(c.seed);
    const plan = planArrivals(specOf(c), random);
    expectClose(plan.delaysS, c.delays_s);
    if (c.rates !== undefined) expectClose(plan.ratesRps, c.rates);
    else expect([...plan.ratesRps]).toEqual(c.delays_s.map(() => specOf(c).requestRate));
    expect([random.random(), random.random()]).toEqual(c.np_next2);
  });

  it.each(cases.filter((c) => c.error !== undefined))('$name', (c) => {
    const plan = () => planArrivals(specOf(c), new NumpyRandom(c.seed));
    expect(plan).toThrow(expect.objectContaining({ exitCode: 2 }));
    const words = {
      err_ramp_linear_start0: /^--ramp-up-start-rps 0 gives a rate of 0: the rate must be greater than 0$/,
      err_burst_zero: /^--burstiness 0: it must be greater than 0$/,
      err_burst_negative: /^--burstiness -1: it must be greater than 0$/,
      err_no_requests: /^there are no requests to plan$/,
    }[c.name];
    expect(plan).toThrow(words ?? /./);
  });
});

describe('planArrivals', () => {
  const poisson = (requestRate: number, count = 10): ArrivalSpec => ({ count, requestRate, burstiness: 1, ramp: null });

  it('refuses a rate that is not positive', () => {
    for (const rate of [0, -3, Number.NaN]) {
      expect(() => planArrivals(poisson(rate), new NumpyRandom(0))).toThrow(`--request-rate ${rate}: the rate must be`);
    }
  });

  const burstiness = fc.oneof(
    fc.double({ min: 0.02, max: 50, noNaN: true }),
    fc.constantFrom(1, Number.POSITIVE_INFINITY),
  );
  const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 });

  it('never goes back, and ends at count / rate', () => {
    fc.assert(
      fc.property(
        seed,
        fc.integer({ min: 1, max: 300 }),
        fc.double({ min: 0.01, max: 1e4, noNaN: true }),
        burstiness,
        (start, count, requestRate, shape) => {
          const spec: ArrivalSpec = { count, requestRate, burstiness: shape, ramp: null };
          const { delaysS, ratesRps, rpsChanges } = planArrivals(spec, new NumpyRandom(start));
          expect(delaysS).toHaveLength(count);
          expect(delaysS.every((delay, i) => delay >= (i === 0 ? 0 : delaysS[i - 1]!))).toBe(true);
          expect(delaysS[count - 1]! / (count / requestRate)).toBeCloseTo(1, 12);
          expect(ratesRps.every((rate) => rate === requestRate)).toBe(true);
          expect(rpsChanges).toEqual([]);
        },
      ),
    );
  });

  it('is the same for the same seed, and scales with the rate', () => {
    const plan = planArrivals(poisson(4, 100), new NumpyRandom(9)).delaysS;
    expect(planArrivals(poisson(4, 100), new NumpyRandom(9)).delaysS).toEqual(plan);
    const faster = planArrivals(poisson(8, 100), new NumpyRandom(9)).delaysS;
    for (const [i, delay] of plan.entries()) expect(faster[i]! * 2).toBeCloseTo(delay, 10);
  });

  it('has gaps of the asked spread: the variance of a gamma gap is mean² / burstiness', () => {
    for (const shape of [0.25, 1, 4]) {
      const { delaysS } = planArrivals({ ...poisson(10, 20_000), burstiness: shape }, new NumpyRandom(1));
      const gaps = Array.from(delaysS, (delay, i) => delay - (delaysS[i - 1] ?? 0));
      const variance = gaps.reduce((sum, gap) => sum + (gap - 0.1) ** 2, 0) / gaps.length;
      expect((variance * shape) / 0.01).toBeGreaterThan(0.9);
      expect((variance * shape) / 0.01).toBeLessThan(1.1);
    }
  });

  it('ramps: the area under the rate over the planned time is the number of requests', () => {
    for (const strategy of ['linear', 'exponential'] as const) {
      const ramp = { strategy, startRps: 2, endRps: 40 };
      const spec: ArrivalSpec = { count: 5000, requestRate: Number.POSITIVE_INFINITY, burstiness: 1, ramp };
      const { delaysS, ratesRps } = planArrivals({ ...spec, burstiness: Number.POSITIVE_INFINITY }, new NumpyRandom(0));
      const area = delaysS.reduce((sum, delay, i) => sum + (delay - (delaysS[i - 1] ?? 0)) * ratesRps[i]!, 0);
      expect(area).toBeCloseTo(5000, 6);
      expect([ratesRps[0], ratesRps[4999]]).toEqual([2, 40]);
      const drawn = planArrivals(spec, new NumpyRandom(0)).delaysS;
      expect(drawn[4999]! / delaysS[4999]!).toBeGreaterThan(0.9);
      expect(drawn[4999]! / delaysS[4999]!).toBeLessThan(1.1);
    }
  });

  it('tells each whole rate that a ramp reaches once, several with one request where the ramp is steep', () => {
    const ramp = { strategy: 'linear', startRps: 1, endRps: 6 } as const;
    const spec: ArrivalSpec = { count: 3, requestRate: Number.POSITIVE_INFINITY, burstiness: 1, ramp };
    const { delaysS, rpsChanges } = planArrivals(spec, new NumpyRandom(0));
    // Rates 1, 3.5, 6.
    expect(rpsChanges).toEqual([
      { rps: 1, request: null, atS: 0 },
      { rps: 2, request: 1, atS: delaysS[1] },
      { rps: 3, request: 1, atS: delaysS[1] },
      { rps: 4, request: 2, atS: delaysS[2] },
      { rps: 5, request: 2, atS: delaysS[2] },
      { rps: 6, request: 2, atS: delaysS[2] },
    ]);
  });
});

describe('planTrace', () => {
  it("takes the samples' times, in the trace's order", () => {
    const plan = planTrace([{ plannedS: 0.5 }, { plannedS: 2 }, { plannedS: 1.5 }, {}, { plannedS: 3 }]);
    expect([...plan.delaysS]).toEqual([0.5, 2, 2, 2, 3]);
    expect([...plan.ratesRps]).toEqual([0, 0, 0, 0, 0]);
    expect(plan.rpsChanges).toEqual([]);
  });

  it('takes a time before the start as the start', () => {
    expect([...planTrace([{ plannedS: -4 }, {}]).delaysS]).toEqual([0, 0]);
  });

  it('refuses an empty trace', () => {
    expect(() => planTrace([])).toThrow('there are no requests to plan');
  });
});
