/** Distributions of two runs in one picture. */
import type { Sampled } from '../aggregate/bootstrap.ts';
import type { Compared, ComparedValues } from './html-compare.ts';
import { ascending, commonBins, percentileCurve, percentileOf, rounded } from './html-curves.ts';
import type { PageSection, PageSeries } from './html-data.ts';
import { histogramAxis } from './html-distributions.ts';
import { figure } from './html-figure.ts';

const METRICS = [
  ['TTFT', 'ttft'],
  ['TPOT', 'tpot'],
  ['E2EL', 'e2el'],
] as const satisfies readonly (readonly [string, keyof ComparedValues])[];

interface Pair {
  readonly name: string;
  readonly a: Float64Array;
  readonly b: Float64Array;
}

/** Percentile curves and histograms of A and B over each other; none where a file has no values per request. */
export function overlaySections({ values }: Compared, k: number, isNumbered: boolean): PageSection[] {
  if (values === null) return [];
  const pairs = METRICS.map(
    ([name, key]): Pair => ({ name, a: sortedOf(values.a[key]), b: sortedOf(values.b[key]) }),
  ).filter(({ a, b }) => a.length > 0 && b.length > 0);
  if (pairs.length === 0) return [];
  const suffix = isNumbered ? `, B${k + 1}` : '';
  return [curves(pairs, k, suffix), ...pairs.map((pair) => histograms(pair, k, suffix))];
}

function sortedOf({ values }: Sampled): Float64Array {
  return ascending(values);
}

function curves(pairs: readonly Pair[], k: number, suffix: string): PageSection {
  return {
    id: `curves-${k + 1}`,
    title: `Percentile curves of both${suffix}`,
    words: ['As HdrHistogram plots them: each further nine has the same width. A is the full line, B the dashed one.'],
    chart: {
      type: 'xy',
      x: { name: 'percentile', kind: 'percentile', isLog: true, min: 1 },
      panels: pairs.map(({ name, a, b }) => ({
        y: { name: `${name}, ms`, kind: 'ms' },
        series: [
          { name: `${name} A`, shape: 'line', points: percentileCurve(a), place: 0, dash: 0 },
          { name: `${name} B`, shape: 'line', points: percentileCurve(b), place: 1, dash: 1 },
        ],
      })),
    },
    chartText: pairs
      .map(
        ({ name, a, b }) =>
          `${name} median ${figure(percentileOf(a, 50))} and ${figure(percentileOf(b, 50))} ms, p99 ${figure(percentileOf(a, 99))} and ${figure(percentileOf(b, 99))} ms`,
      )
      .join('; '),
    table: {
      caption: 'Percentiles of A and B in ms',
      columns: ['', ...[10, 50, 90, 99].flatMap((p) => [`p${p} A`, `p${p} B`]), 'max A', 'max B'],
      rows: pairs.map(({ name, a, b }) => [
        name,
        ...[10, 50, 90, 99, 100].flatMap((p) =>
          [a, b].map((values) => ({ value: percentileOf(values, p), digits: 2 })),
        ),
      ]),
    },
    isTableFolded: true,
  };
}

function histograms({ name, a, b }: Pair, k: number, suffix: string): PageSection {
  const [ofA, ofB] = commonBins(a, b);
  const share = (values: Float64Array, points: typeof ofA): PageSeries['points'] =>
    points.map(([x, y]) => [x, rounded(((y ?? 0) / values.length) * 100)] as const);
  return {
    id: `overlay-${name.toLowerCase()}-${k + 1}`,
    title: `Histograms of ${name}${suffix}`,
    isThird: true,
    chart: {
      type: 'xy',
      x: histogramAxis(name, ofA),
      panels: [
        {
          y: { name: '% of requests', kind: 'percent', min: 0 },
          series: [
            { name: 'A', shape: 'step', points: share(a, ofA), dash: 0 },
            { name: 'B', shape: 'step', points: share(b, ofB), dash: 1 },
          ],
        },
      ],
    },
    chartText: `${figure(a.length, 0)} values of A from ${figure(a[0] ?? 0)} to ${figure(a.at(-1) ?? 0)} ms, ${figure(b.length, 0)} of B from ${figure(b[0] ?? 0)} to ${figure(b.at(-1) ?? 0)} ms`,
  };
}
