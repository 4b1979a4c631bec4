/** Percentile curves and histograms of a run: from the values of its requests, or from histograms where those were not kept. */
import type { HistogramBucket } from '../aggregate/histogram.ts';
import type { DetailViews } from '../aggregate/summary.ts';
import {
  ascending,
  bucketBins,
  bucketCurve,
  countOf,
  histogramBins,
  isWide,
  percentileCurve,
  rounded,
} from './html-curves.ts';
import type { PageAxis, PageSection, PageSeries, Point } from './html-data.ts';
import { figure } from './html-figure.ts';

/** Reads the merged histogram of a metric of `metrics.ts`; empty where it has none. */
export type ReadBuckets = (key: string) => readonly HistogramBucket[];

/** One metric, cut down to what a page shows. */
interface Distribution {
  readonly name: string;
  readonly count: number;
  readonly leastMs: number;
  readonly mostMs: number;
  readonly curve: readonly Point[];
  readonly bins: readonly Point[];
  readonly isHdr: boolean;
}

const METRICS = [
  ['TTFT', 'ttft'],
  ['TPOT', 'tpot'],
  ['ITL', 'itl'],
] as const;

/**
 * The sections.
 * @param detail null where the values were not kept; its gaps may be missing alone
 * @param buckets what then stands in for them
 */
export function distributionSections(detail: DetailViews | null, buckets: ReadBuckets): PageSection[] {
  const exact = detail === null ? new Map<string, Float64Array>() : valuesOf(detail);
  const all = METRICS.flatMap(([name, key]): Distribution[] => {
    const values = exact.get(name);
    if (values !== undefined) return values.length === 0 ? [] : [ofValues(name, values)];
    const found = buckets(key);
    return found.length === 0 ? [] : [ofBuckets(name, found)];
  });
  return all.length === 0 ? [] : [curveSection(all), ...all.map(histogramSection)];
}

function ofValues(name: string, sorted: Float64Array): Distribution {
  return {
    name,
    count: sorted.length,
    leastMs: sorted[0] as number,
    mostMs: sorted.at(-1) as number,
    curve: percentileCurve(sorted),
    bins: histogramBins(sorted),
    isHdr: false,
  };
}

function ofBuckets(name: string, buckets: readonly HistogramBucket[]): Distribution {
  return {
    name,
    count: countOf(buckets),
    leastMs: buckets[0]?.fromMs ?? 0,
    mostMs: buckets.at(-1)?.toMs ?? 0,
    curve: bucketCurve(buckets),
    bins: bucketBins(buckets),
    isHdr: true,
  };
}

/** The values of a run by metric, in ms, ascending; without ITL where the gaps were not kept. */
function valuesOf(detail: DetailViews): Map<string, Float64Array> {
  const ttft: number[] = [];
  const tpot: number[] = [];
  let gapCount = 0;
  const n = detail.successes.length;
  for (let i = 0; i < n; i++) {
    if (!detail.successes.at(i)) continue;
    const first = detail.ttfts.at(i) * 1000;
    ttft.push(first);
    const tokens = detail.outputLens.at(i);
    if (tokens > 1) tpot.push((detail.latencies.at(i) * 1000 - first) / (tokens - 1));
    gapCount += detail.itls?.at(i).length ?? 0;
  }
  const found = new Map([
    ['TTFT', ascending(ttft)],
    ['TPOT', ascending(tpot)],
  ]);
  if (detail.itls === null) return found;
  const itl = new Float64Array(gapCount);
  for (let i = 0, at = 0; i < n; i++) {
    if (!detail.successes.at(i)) continue;
    for (const gap of detail.itls.at(i)) itl[at++] = gap * 1000;
  }
  return found.set('ITL', ascending(itl));
}

/** Said of figures that come from histograms. */
function sourceWords(all: readonly Distribution[]): string[] {
  const names = all.filter(({ isHdr }) => isHdr).map(({ name }) => name);
  return names.length === 0
    ? []
    : [
        `${names.join(', ')}: more values than --max-exact-values, so from HDR histograms in whole microseconds, exact to three digits.`,
      ];
}

function curveSection(all: readonly Distribution[]): PageSection {
  const curves = all.map(({ name, curve }): PageSeries => ({ name, shape: 'line', points: curve }));
  return {
    id: 'percentiles',
    title: 'Percentile curves',
    words: [
      'As HdrHistogram plots them: each further nine has the same width. A curve ends at its longest value.',
      ...sourceWords(all),
    ],
    chart: {
      type: 'xy',
      x: { name: 'percentile', kind: 'percentile', isLog: true, min: 1 },
      panels: [{ y: { name: 'ms', kind: 'ms', isLog: true }, series: curves }],
    },
    chartText: all
      .map(({ name, leastMs, mostMs }) => `${name} rises from ${figure(leastMs)} to ${figure(mostMs)} ms`)
      .join('; '),
    table: {
      caption: 'Percentiles in ms',
      columns: ['', ...SHOWN.map((p) => (p === 100 ? 'max' : `p${p}`))],
      rows: all.map(({ name, curve }) => [name, ...SHOWN.map((p) => ({ value: curveAt(curve, p), digits: 2 }))]),
    },
    isTableFolded: true,
  };
}

/** Percentiles of the table that says what the curves draw. */
const SHOWN = [10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100] as const;

/** Null where the curve does not reach so far: a percentile of fewer values would be the longest of them. */
function curveAt(curve: readonly Point[], p: number): number | null {
  const last = curve.at(-1);
  if (p === 100) return last?.[1] ?? null;
  const x = 1 / (1 - p / 100);
  if (last === undefined || x > last[0] * (1 + 1e-9)) return null;
  return curve.findLast(([at]) => at <= x * (1 + 1e-9))?.[1] ?? null;
}

function histogramSection({ name, count, leastMs, mostMs, bins, isHdr }: Distribution): PageSection {
  const points = bins.map(([x, y]): Point => [rounded(x), y]);
  return {
    id: `histogram-${name.toLowerCase()}`,
    title: `Histogram of ${name}`,
    isThird: true,
    chart: {
      type: 'xy',
      x: histogramAxis(name, points),
      panels: [{ y: { name: 'count', kind: 'count', min: 0 }, series: [{ name, shape: 'step', points }] }],
    },
    chartText: `${figure(count, 0)} values of ${name} from ${figure(leastMs)} to ${figure(mostMs)} ms${isHdr ? ' (HDR histogram)' : ''}`,
    table: {
      caption: `Histogram of ${name}`,
      columns: ['from, ms', 'below, ms', 'count'],
      rows: points
        .slice(0, Math.max(1, points.length - 1))
        .flatMap(([x, y], k) =>
          y === 0
            ? []
            : [[x.toPrecision(4), { value: points[k + 1]?.[0] ?? null, digits: 3 }, { value: y, digits: 0 }]],
        ),
    },
    isTableFolded: true,
  };
}

/** A log axis where it is of use, else a plain one, from the first to the last bin. */
export function histogramAxis(name: string, points: readonly Point[]): PageAxis {
  const [min, max] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 1];
  return { name: `${name}, ms`, kind: 'ms', isLog: isWide(min, max), min, max };
}
