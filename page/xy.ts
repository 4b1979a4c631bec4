/** Lines, steps, areas and bars over one x axis, in one or more panels. */
import type { PagePanel, PageSeries, XyChart } from '../src/report/html-data.ts';
import { axisOf, legend, legendHeight, type Option, shown, tooltip, UNITS, zooms } from './common.ts';
import type { Colours } from './theme.ts';

const DASHES = ['solid', 'dashed', 'dotted', [8, 3, 2, 3], [2, 6], [12, 4]] as const;
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle', 'emptyRect'] as const;
/** A limit farther off than so many times the highest value is not drawn; the tables have it. */
const FAR = 8;
/** More points than this are drawn without symbols. */
const FEW_POINTS = 40;

/** Height of the plots of one panel among several, and of a panel that stands alone, px. */
const PANEL = 118;
const ALONE = 250;
const GAP = 30;

/** Names of vertical marks stand one above the other: their lines may be close together. */
const MARK_ROW = 15;

function bottomOf({ canZoom }: XyChart): number {
  return canZoom === true ? 84 : 48;
}

function topOf({ panels, marks }: XyChart, width: number): number {
  const names = panels.flatMap(({ series }) => series.map(({ name }) => name));
  const staggered = MARK_ROW * Math.max(0, (marks?.length ?? 0) - 1);
  return (names.length > 1 ? legendHeight(names, width) : 0) + 26 + staggered;
}

function panelHeight({ panels }: XyChart): number {
  return panels.length === 1 ? ALONE : PANEL;
}

/** Height, px. */
export function xyHeight(chart: XyChart, width: number): number {
  const { length } = chart.panels;
  return topOf(chart, width) + length * panelHeight(chart) + (length - 1) * GAP + bottomOf(chart);
}

/** The option. */
export function xyOption(chart: XyChart, colours: Colours, width: number): Option {
  const count = chart.panels.length;
  const isNarrow = width < 520;
  const top = topOf(chart, width);
  const height = panelHeight(chart);
  let index = 0;
  const series = chart.panels.flatMap((panel, at) =>
    panel.series.map((one, k) => seriesOf(one, { panel, at, colours, index: index++, inPanel: k, chart })),
  );
  return {
    tooltip: { ...tooltip(colours), formatter: (items: unknown) => tooltipText(items, chart) },
    legend: { ...legend(colours), show: series.length > 1 },
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    grid: chart.panels.map((_, k) => ({
      left: 64,
      right: isNarrow ? 16 : 32,
      top: top + k * (height + GAP),
      height,
      // Panels above one another have the same left edge, whatever their labels.
      outerBoundsMode: 'none',
    })),
    xAxis: chart.panels.map((_, k) => {
      const isLast = k === count - 1;
      const axis = axisOf(chart.x, colours);
      return {
        ...axis,
        gridIndex: k,
        ...(isLast ? { name: xName(chart, isNarrow), nameLocation: 'middle', nameGap: 28 } : {}),
        axisLabel: { ...(axis['axisLabel'] as Option), show: isLast },
        ...(isNarrow && chart.x.isLog !== true ? { splitNumber: 3 } : {}),
      };
    }),
    yAxis: chart.panels.map((panel, k) => ({
      ...axisOf(panel.y, colours),
      ...reach(panel),
      gridIndex: k,
      name: panel.y.name,
      nameLocation: 'end',
      nameGap: 8,
      nameTextStyle: { color: colours.dim, align: 'left', padding: [0, 0, 0, -56] },
      splitNumber: count > 1 ? 2 : 4,
    })),
    ...(chart.canZoom === true ? { dataZoom: zooms(colours, { xAxisIndex: chart.panels.map((_, k) => k) }) } : {}),
    series,
  };
}

function xName({ x }: XyChart, isNarrow: boolean): string {
  return isNarrow && x.kind === 's' ? 'seconds' : x.name;
}

/** Limits belong in sight, unless they are so far off that nothing else could be seen. */
function reach({ series, limits = [] }: PagePanel): Option {
  const most = Math.max(0, ...series.flatMap(({ points }) => points.map(([, y]) => y ?? 0)));
  const near = limits.map(({ value }) => value).filter((value) => value > most && value <= most * FAR);
  if (near.length === 0) return {};
  const step = 10 ** Math.floor(Math.log10(Math.max(...near)));
  return { max: Math.ceil((Math.max(...near) * 1.1) / step) * step };
}

interface Place {
  readonly panel: PagePanel;
  readonly at: number;
  readonly colours: Colours;
  readonly index: number;
  readonly chart: XyChart;
  /** Place within the panel. */
  readonly inPanel: number;
}

function seriesOf(one: PageSeries, { panel, at, colours, index, inPanel, chart }: Place): Option {
  const place = one.place ?? index;
  const color = colours.series[place % colours.series.length] as string;
  const isBars = one.shape === 'bars';
  const isDotted = one.shape === 'points' || one.shape === 'rings';
  const hasSymbols = one.points.length <= FEW_POINTS || one.points.filter(([, y]) => y !== null).length <= FEW_POINTS;
  return {
    name: one.name,
    type: isBars ? 'bar' : 'line',
    xAxisIndex: at,
    yAxisIndex: at,
    data: one.points.map(([x, y], k) => ({
      value: [x, y],
      ...(one.labels === undefined
        ? {}
        : {
            name: one.labels[k],
            label: {
              show: true,
              formatter: '{b}',
              color: colours.dim,
              position: inPanel % 2 === 0 && panel.series.length > 1 ? 'bottom' : 'top',
            },
          }),
    })),
    itemStyle: { color },
    ...(isBars
      ? { barWidth: 4 }
      : {
          lineStyle: { color, width: isDotted ? 0 : 2, type: DASHES[(one.dash ?? inPanel) % DASHES.length] },
          symbol: one.shape === 'rings' ? 'emptyCircle' : SYMBOLS[place % SYMBOLS.length],
          symbolSize: one.shape === 'rings' ? 18 : one.shape === 'points' ? 5 : 8,
          showSymbol: hasSymbols || isDotted,
          connectNulls: true,
          ...(one.shape === 'step' ? { step: 'end' } : {}),
          ...(one.shape === 'area' || one.shape === 'step' ? { areaStyle: { color, opacity: 0.18 } } : {}),
        }),
    ...(inPanel === 0 ? marksOf(panel, chart, colours) : {}),
  };
}

/** Vertical marks, limits and shaded stretches hang on the first series of a panel. */
function marksOf(panel: PagePanel, chart: XyChart, colours: Colours): Option {
  const isTop = chart.panels[0] === panel;
  const lines = [
    ...(chart.marks ?? []).map(({ x, label }, k) => ({
      xAxis: x,
      name: label,
      label: { show: isTop, position: 'end', distance: 5 + MARK_ROW * k },
    })),
    ...(panel.limits ?? []).map(({ value, label }) => ({
      yAxis: value,
      name: label,
      label: { position: 'insideEndTop', backgroundColor: colours.background, padding: [1, 3] },
    })),
  ];
  const bands = (chart.bands ?? []).map(({ from, to, label }) => [
    { xAxis: from, name: isTop ? label : '', label: { color: colours.dim, position: 'insideTop' } },
    { xAxis: to },
  ]);
  return {
    ...(lines.length === 0
      ? {}
      : {
          markLine: {
            silent: true,
            symbol: 'none',
            animation: false,
            label: { color: colours.mark, formatter: '{b}' },
            lineStyle: { color: colours.mark, type: 'dashed', width: 1.5 },
            data: lines,
          },
        }),
    ...(bands.length === 0
      ? {}
      : { markArea: { silent: true, animation: false, itemStyle: { color: colours.band }, data: bands } }),
  };
}

function tooltipText(items: unknown, chart: XyChart): string {
  const list = (Array.isArray(items) ? items : [items]) as {
    seriesName: string;
    name?: string;
    value: [number, number | null];
  }[];
  const kinds = new Map(chart.panels.flatMap(({ y, series }) => series.map(({ name }) => [name, y.kind] as const)));
  const first = list[0];
  if (first === undefined) return '';
  const head = `${shown(first.value[0], chart.x.kind)}${UNITS[chart.x.kind]}`;
  const lines = list.map(({ seriesName, name, value: [, y] }) => {
    const kind = kinds.get(seriesName) ?? 'count';
    const at = name === undefined || name === '' ? '' : ` (${name})`;
    return `${seriesName}${at}: ${y === null ? '–' : `${shown(y, kind)}${UNITS[kind]}`}`;
  });
  return [head, ...lines].join('\n');
}
