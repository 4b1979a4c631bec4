/**
 * The standard HdrHistogram log (`.hlog`, format version 1.3): one line per metric, marked by its tag, that the tools of
 * http://hdrhistogram.org read (HistogramLogAnalyzer, hdr-plot, the Python and Java readers). Values are microseconds; the column
 * Interval_Max is in milliseconds.
 */
import type { HistogramSet } from './histogram.ts';

export interface HistogramLogSpan {
  /** Start of the run, milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** Length of the run in seconds. */
  readonly durationS: number;
}

/** The log as text: header comments, legend, one tagged line per metric. */
export function histogramLog(set: HistogramSet, span: HistogramLogSpan): string {
  const started = Number.isFinite(span.startedAtMs) ? span.startedAtMs : 0;
  const lines = [
    '#[Histogram log format version 1.3]',
    `#[StartTime: ${(started / 1000).toFixed(3)} (seconds since epoch), ${new Date(started).toUTCString()}]`,
    '#[Values are microseconds, Interval_Max is milliseconds]',
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
  ];
  for (const key of set.keys()) {
    const max = set.stats(key)?.maxMs ?? 0;
    lines.push(`Tag=${tag(key)},0.000,${span.durationS.toFixed(3)},${max.toFixed(3)},${set.base64(key)}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Tags are free of what separates columns and words. */
function tag(key: string): string {
  return key.replace(/[\s,=]+/g, '_');
}
