/** Dots with intervals, in rows: differences around 0. */
import type { DotChart } from '../src/report/html-data.ts';
import { axisOf, legend, legendHeight, type Option, type RowApi, shown, tooltip } from './common.ts';
import type { Colours } from './theme.ts';

const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'] as const;
/** A line, for the legend. */
const LINE_ICON = 'path://M0,9L30,9L30,11L0,11Z';
const ROW = 26;
const FOOT = 52;
/** An interval this many times as wide as the dots lie apart is cut: else nothing else could be seen. The table has its ends. */
const WIDE = 6;

/** Height, px. */
export function dotHeight(chart: DotChart, width: number): number {
  return top(chart, width) + ROW * chart.categories.length + FOOT;
}

function names(chart: DotChart): string[] {
  const hasRanges = chart.ranges.some((range) => range !== null);
  return [...chart.series.map(({ name }) => name), ...(hasRanges ? [chart.rangeName] : [])];
}

function top(chart: DotChart, width: number): number {
  return legendHeight(names(chart), width) + 8;
}

/** The option. */
export function dotOption(chart: DotChart, colours: Colours, width: number): Option {
  const { categories, ranges, series, band } = chart;
  const reach = reachOf(chart);
  const isNarrow = width < 520;
  return {
    tooltip: {
      ...tooltip(colours),
      trigger: 'item',
      formatter: ({ seriesName, value: [x, y] }: { seriesName: string; value: [number, number] }) =>
        [`${categories[y]}`, `${seriesName}: ${percent(x)}`, ...rangeText(ranges[y], chart.rangeName)].join('\n'),
    },
    legend: {
      ...legend(colours),
      data: names(chart).map((name) => (name === chart.rangeName ? { name, icon: LINE_ICON } : name)),
      selectedMode: false,
    },
    grid: { left: 8, right: 24, top: top(chart, width), bottom: FOOT, containLabel: true },
    xAxis: {
      ...axisOf(chart.x, colours),
      min: -reach,
      max: reach,
      splitNumber: isNarrow ? 2 : 6,
      name: chart.x.name,
      nameLocation: 'middle',
      nameGap: 28,
    },
    yAxis: {
      type: 'category',
      inverse: true,
      data: categories,
      axisLine: { onZero: false, show: false },
      axisTick: { show: false },
      splitLine: { show: true, lineStyle: { color: colours.line, opacity: 0.6 } },
      axisLabel: {
        color: colours.text,
        interval: 0,
        fontSize: isNarrow ? 10 : 12,
        ...(isNarrow ? { width: width * 0.42, overflow: 'break' } : {}),
      },
    },
    series: [
      intervals(chart, colours),
      ...series.map((one, k) => ({
        name: one.name,
        type: 'line',
        lineStyle: { width: 0 },
        symbol: SYMBOLS[(one.place ?? k) % SYMBOLS.length],
        symbolSize: 10,
        showAllSymbol: true,
        itemStyle: {
          color: colours.series[(one.place ?? k) % colours.series.length],
          borderColor: colours.background,
          borderWidth: 1,
        },
        data: one.points.map(([x, y]) => [x, y]),
        z: 6,
        ...(k === 0 ? zeroAndBand(band, colours) : {}),
      })),
    ],
  };
}

function percent(x: number): string {
  return `${x > 0 ? '+' : ''}${shown(x, 'percent')}`;
}

function rangeText(range: DotChart['ranges'][number] | undefined, name: string): string[] {
  return range == null ? [] : [`${name}: ${percent(range[0])} to ${percent(range[1])}`];
}

/** Half the width of the axis, to the next round number. */
function reachOf({ series, ranges, band }: DotChart): number {
  const dots = Math.max(0, ...series.flatMap(({ points }) => points.map(([x]) => Math.abs(x))));
  const ends = Math.max(0, ...ranges.flatMap((range) => (range === null ? [] : range.map(Math.abs))));
  const most = Math.max(dots * 1.1, Math.min(ends * 1.05, dots * WIDE), (band?.to ?? 0) * 1.5, 0.01);
  const step = 10 ** Math.floor(Math.log10(most)) / 2;
  return Math.ceil(most / step) * step;
}

function zeroAndBand(band: DotChart['band'], colours: Colours): Option {
  return {
    markLine: {
      silent: true,
      symbol: 'none',
      label: { show: false },
      lineStyle: { color: colours.dim, type: 'solid', width: 1 },
      data: [{ xAxis: 0 }],
    },
    ...(band === undefined
      ? {}
      : {
          markArea: {
            silent: true,
            itemStyle: { color: colours.band },
            label: { color: colours.dim, position: 'insideBottom', fontSize: 11 },
            data: [[{ xAxis: band.from, name: band.label }, { xAxis: band.to }]],
          },
        }),
  };
}

/** Lines with a stop at each end that lies within the axis. */
function intervals({ ranges, rangeName }: DotChart, colours: Colours): Option {
  return {
    name: rangeName,
    type: 'custom',
    silent: true,
    clip: true,
    itemStyle: { color: colours.text },
    encode: { x: [1, 2], y: 0 },
    data: ranges.flatMap((range, k) => (range === null ? [] : [[k, range[0], range[1]]])),
    z: 4,
    renderItem: (_: unknown, api: RowApi) => {
      const [x0, y] = api.coord([api.value(1), api.value(0)]);
      const x1 = api.coord([api.value(2), api.value(0)])[0];
      const stroke = (a: number, b: number, c: number, d: number) => ({
        type: 'line',
        shape: { x1: a, y1: b, x2: c, y2: d },
        style: { stroke: colours.text, lineWidth: 1.5 },
      });
      return {
        type: 'group',
        children: [stroke(x0, y, x1, y), stroke(x0, y - 5, x0, y + 5), stroke(x1, y - 5, x1, y + 5)],
      };
    },
  };
}
