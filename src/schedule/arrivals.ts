/**
 * When each request is due, worked out before the run: a pure function of the options and of the state of numpy's global generator,
 * with no clock in it. The plan is vLLM 0.30's, so that the same seed gives the same instants.
 */
import type { NumpyRandom } from '../dataset/numpy-random.ts';
import { usageError } from '../errors.ts';

/** A rate that grows from request to request. */
export interface RateRamp {
  readonly strategy: 'linear' | 'exponential';
  /** Requests per second at the first request. */
  readonly startRps: number;
  /** Requests per second at the last request. */
  readonly endRps: number;
}

/** What decides the arrivals. */
export interface ArrivalSpec {
  /** Number of requests. */
  readonly count: number;
  /** Requests per second; Infinity: all at once. Without meaning when there is a ramp. */
  readonly requestRate: number;
  /** Shape of the gamma distribution of the gaps: 1 is Poisson, Infinity gives equal gaps. */
  readonly burstiness: number;
  readonly ramp: RateRamp | null;
}

/** The rate of a ramp reached a new whole number (vLLM's `rps_change_events`, which carry the wall clock in place of `atS`). */
export interface RpsChange {
  readonly rps: number;
  /** The request whose release goes with the change; null for the start of the ramp. */
  readonly request: number | null;
  /** Planned time in seconds after the scheduler's start. */
  readonly atS: number;
}

/** A plan: one entry for each request, in sample order. */
export interface ArrivalPlan {
  /** Seconds after the scheduler's start at which each request is due. Never falls. */
  readonly delaysS: Float64Array;
  /** The rate in force at each request, in requests per second; 0 for traces with times of their own. */
  readonly ratesRps: Float64Array;
  /** Empty without a ramp. */
  readonly rpsChanges: readonly RpsChange[];
}

/**
 * vLLM's plan: gaps from `np.random.gamma`, one draw per request (none for an infinite rate or burstiness), summed up. Without a ramp
 * the sums are stretched so that the last request is due at count / rate. The first request is delayed like any other.
 * `random` is left as numpy's global generator would be. Throws a usage error where vLLM raises AssertionError.
 */
export function planArrivals(spec: ArrivalSpec, random: NumpyRandom): ArrivalPlan {
  if (!(spec.burstiness > 0)) {
    throw usageError(
      `--burstiness ${spec.burstiness}: it must be greater than 0`,
      '1 is Poisson, smaller is burstier, inf gives equal gaps.',
    );
  }
  if (spec.count < 1) throw usageError('there are no requests to plan', 'Check the data set and --num-prompts.');
  const ratesRps = ratesOf(spec);
  const delaysS = new Float64Array(spec.count);
  let dueS = 0;
  for (let i = 0; i < spec.count; i++) {
    dueS += gapS(ratesRps[i]!, spec.burstiness, random);
    delaysS[i] = dueS;
  }
  if (spec.ramp === null && dueS !== 0) {
    const factor = spec.count / spec.requestRate / dueS;
    for (let i = 0; i < spec.count; i++) delaysS[i] = delaysS[i]! * factor;
  }
  return { delaysS, ratesRps, rpsChanges: spec.ramp === null ? [] : rpsChanges(spec.ramp, ratesRps, delaysS) };
}

function ratesOf({ count, requestRate, ramp }: ArrivalSpec): Float64Array {
  const rates = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const rate = ramp === null ? requestRate : rampRate(ramp, i / Math.max(count - 1, 1));
    if (!(rate > 0)) throw nonPositive(rate, requestRate, ramp);
    rates[i] = rate;
  }
  return rates;
}

/** Rate of a ramp at `progress` from 0 to 1. */
function rampRate({ strategy, startRps, endRps }: RateRamp, progress: number): number {
  if (strategy === 'linear') return startRps + (endRps - startRps) * progress;
  return startRps * (endRps / startRps) ** progress;
}

function nonPositive(rate: number, requestRate: number, ramp: RateRamp | null): Error {
  const option =
    ramp === null ? `--request-rate ${requestRate}` : `--ramp-up-start-rps ${ramp.startRps} gives a rate of ${rate}`;
  return usageError(`${option}: the rate must be greater than 0`, 'At a rate of 0 no request would ever be due.');
}

function gapS(rateRps: number, burstiness: number, random: NumpyRandom): number {
  if (rateRps === Number.POSITIVE_INFINITY) return 0;
  if (burstiness === Number.POSITIVE_INFINITY) return 1 / rateRps;
  return random.gamma(burstiness, 1 / (rateRps * burstiness));
}

function rpsChanges(ramp: RateRamp, ratesRps: Float64Array, delaysS: Float64Array): RpsChange[] {
  const changes: RpsChange[] = [{ rps: ramp.startRps, request: null, atS: 0 }];
  let last = ramp.startRps;
  for (const [i, rate] of ratesRps.entries()) {
    const whole = Math.trunc(rate);
    for (let rps = last + 1; rps <= whole; rps++) changes.push({ rps, request: i, atS: delaysS[i]! });
    last = Math.max(last, whole);
  }
  return changes;
}

/**
 * The plan of a trace with times of its own (`--self-timed`): each request at its time, one without a time at once. Requests keep the
 * order of the trace, so one whose time lies before its predecessor's is due with the predecessor, as in vLLM's single loop.
 */
export function planTrace(samples: readonly { readonly plannedS?: number }[]): ArrivalPlan {
  if (samples.length < 1) throw usageError('there are no requests to plan', 'Check the data set and --num-prompts.');
  const delaysS = new Float64Array(samples.length);
  let dueS = 0;
  for (const [i, { plannedS }] of samples.entries()) {
    dueS = Math.max(dueS, plannedS ?? 0);
    delaysS[i] = dueS;
  }
  return { delaysS, ratesRps: new Float64Array(samples.length), rpsChanges: [] };
}
