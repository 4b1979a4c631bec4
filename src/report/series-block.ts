/** A series of values as an object of the result JSON. */
import { type SeriesSummary, STANDARD_PERCENTILES } from '../aggregate/summary.ts';
import { percentileName } from './python-format.ts';

/** A series as an object; undefined when it is empty. */
export function seriesBlock(series: SeriesSummary): Record<string, unknown> | undefined {
  if (series.count === 0) return undefined;
  const percentiles = STANDARD_PERCENTILES.map((p) => [`p${percentileName(p)}_ms`, series.percentilesMs.get(p)]);
  return {
    count: series.count,
    mean_ms: series.meanMs,
    std_ms: series.stdMs,
    min_ms: series.minMs,
    median_ms: series.medianMs,
    ...Object.fromEntries(percentiles),
    max_ms: series.maxMs,
  };
}
