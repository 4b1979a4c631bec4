/** When each request of a run is due. */
import type { RunOptions } from '../options/table.ts';
import { type ArrivalPlan, planArrivals, planTrace } from '../schedule/arrivals.ts';
import type { TakenSamples } from './take-samples.ts';

/** The plan: the trace's own times, or arrivals drawn from numpy's global generator where the data set has left it, as in vLLM. */
export function arrivalsOf(options: RunOptions, taken: Pick<TakenSamples, 'samples' | 'npRandom'>): ArrivalPlan {
  const { samples, npRandom } = taken;
  if (options.selfTimed === true) return planTrace(samples);
  const { rampUpStrategy: strategy, rampUpStartRps: startRps, rampUpEndRps: endRps } = options;
  const isRamp = strategy !== null && startRps !== null && endRps !== null;
  return planArrivals(
    {
      count: samples.length,
      requestRate: options.requestRate,
      burstiness: options.burstiness,
      ramp: isRamp ? { strategy: strategy as 'linear' | 'exponential', startRps, endRps } : null,
    },
    npRandom,
  );
}

/** vLLM's `rps_change_events`: local time without zone, as Python's isoformat writes it. */
export function rpsChangeEvents(plan: ArrivalPlan, startedAt: Date): { rps: number; timestamp: string }[] {
  return plan.rpsChanges.map(({ rps, atS }) => ({
    rps,
    timestamp: localIso(new Date(startedAt.getTime() + atS * 1000)),
  }));
}

function localIso(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().replace('Z', '000');
}
