/** Figures of every series, from the exact values in sample order or from what runs along once values are no longer kept. */
import {
  LATENCY_METRICS,
  type LatencyKey,
  OWN_METRICS,
  OWN_SERIES_KEYS,
  type OwnMetricKey,
  type OwnSeriesKey,
} from '../metrics.ts';
import type { RunningSeries } from './running.ts';
import { describe } from './statistics.ts';
import { positionOf, type RequestStore, type SampleOrder } from './store.ts';
import { type SeriesSummary, STANDARD_PERCENTILES } from './summary.ts';

/** Series of a run by key. */
export interface AllSeries {
  readonly metrics: Readonly<Record<LatencyKey, SeriesSummary>>;
  readonly ownMetrics: Readonly<Record<OwnMetricKey, SeriesSummary>>;
  readonly own: Readonly<Record<OwnSeriesKey, SeriesSummary>>;
}

/** Values in seconds to figures in milliseconds; the array is sorted in place. */
export function exactSeries(values: Float64Array, percentiles: readonly number[]): SeriesSummary {
  const ps = [...percentiles, ...STANDARD_PERCENTILES];
  const stats = describe(values, ps);
  return {
    count: stats.count,
    meanMs: stats.mean * 1000,
    medianMs: stats.median * 1000,
    stdMs: stats.std * 1000,
    minMs: stats.min * 1000,
    maxMs: stats.max * 1000,
    percentilesMs: new Map(ps.map((p, k) => [p, (stats.percentiles[k] as number) * 1000])),
    source: 'exact',
  };
}

/** Figures of a series that was not kept: exact count, mean, deviation, ends; median and percentiles from its histogram. */
export function runningSeries(key: string, running: RunningSeries, percentiles: readonly number[]): SeriesSummary {
  const stats = running.get(key);
  const histogram = running.histograms.stats(key);
  if (stats === undefined || histogram === null) return exactSeries(new Float64Array(0), percentiles);
  const ps = [...percentiles, ...STANDARD_PERCENTILES];
  const [minMs, maxMs] = [stats.min * 1000, stats.max * 1000];
  // A bucket's value stands for all in it, and may lie beyond the extremes, which are exact.
  const percentileMs = (p: number): number => Math.min(maxMs, Math.max(minMs, histogram.percentileMs(p)));
  return {
    count: stats.count,
    meanMs: stats.mean * 1000,
    medianMs: percentileMs(50),
    stdMs: stats.std * 1000,
    minMs,
    maxMs,
    percentilesMs: new Map(ps.map((p) => [p, percentileMs(p)])),
    source: 'hdr',
  };
}

/** All series of stored requests; gaps come from `running` when they are no longer kept. */
export function storedSeries(
  store: RequestStore,
  order: SampleOrder,
  running: RunningSeries | null,
  percentiles: readonly number[],
): AllSeries {
  const of = (read: (at: number) => number, failedToo = false) =>
    exactSeries(gather(store, order, read, failedToo), percentiles);
  const row = (read: (r: ReturnType<RequestStore['row']>) => number) => of((at) => read(store.row(at)));
  const metrics: Record<LatencyKey, SeriesSummary> = {
    ttft: row((r) => r.ttft),
    tpot: row((r) => (r.tokens > 1 ? (r.latency - r.ttft) / (r.tokens - 1) : Number.NaN)),
    itl:
      store.gapsKept || running === null
        ? exactSeries(store.allGaps(order), percentiles)
        : runningSeries('itl', running, percentiles),
    e2el: row((r) => r.latency),
    client_queue_time: row((r) => r.start - r.arrival),
    e2el_including_client_queue: row((r) => r.latency + (r.start - r.arrival)),
  };
  const ownMetrics: Record<OwnMetricKey, SeriesSummary> = {
    ntpot: row((r) => (r.tokens > 0 ? r.latency / r.tokens : Number.NaN)),
  };
  const own = Object.fromEntries(
    OWN_SERIES_KEYS.map((key) => [key, of((at) => store.own(key, at), key === 'connect')]),
  );
  return { metrics, ownMetrics, own: own as Record<OwnSeriesKey, SeriesSummary> };
}

/** All series when no request is kept. */
export function runSeries(running: RunningSeries, percentiles: readonly number[]): AllSeries {
  const of = (key: string) => [key, runningSeries(key, running, percentiles)] as const;
  return {
    metrics: Object.fromEntries(LATENCY_METRICS.map(({ key }) => of(key))) as Record<LatencyKey, SeriesSummary>,
    ownMetrics: Object.fromEntries(OWN_METRICS.map(({ key }) => of(key))) as Record<OwnMetricKey, SeriesSummary>,
    own: Object.fromEntries(OWN_SERIES_KEYS.map(of)) as Record<OwnSeriesKey, SeriesSummary>,
  };
}

/** The values of successful requests (or of all) in sample order, NaN (none) left out. */
function gather(
  store: RequestStore,
  order: SampleOrder,
  read: (at: number) => number,
  failedToo: boolean,
): Float64Array {
  const values = new Float64Array(store.size);
  let filled = 0;
  for (let k = 0; k < store.size; k++) {
    const at = positionOf(order, k);
    if (!failedToo && !store.isSuccess(at)) continue;
    const value = read(at);
    if (!Number.isNaN(value)) values[filled++] = value;
  }
  return values.subarray(0, filled);
}
