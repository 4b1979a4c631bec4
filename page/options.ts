/** From a chart's data to what ECharts is to draw. */
import type {
  AxisKind,
  BarChart,
  PageAxis,
  PageChart,
  PagePanel,
  PageSeries,
  WaterfallChart,
  XyChart,
} from '../src/report/html-data.ts';
import type { Colours } from './theme.ts';

/** ECharts takes plain objects; its own types of them are no help to those who build them bit by bit. */
type Option = Record<string, unknown>;

const DASHES = ['solid', 'dashed', 'dotted', [8, 3, 2, 3], [2, 6], [12, 4]] as const;
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'pin', 'arrow'] as const;
/** A limit farther off than so many times the highest value is not drawn; the tables have it. */
const FAR = 8;
/** More points than this are drawn without symbols. */
const FEW_POINTS = 40;

/** The option of a chart. */
export function optionOf(chart: PageChart, colours: Colours, width: number): Option {
  const common = {
    animation: false,
    backgroundColor: 'transparent',
    textStyle: { color: colours.text, fontFamily: 'system-ui, sans-serif' },
  };
  if (chart.type === 'xy') return { ...common, ...xyOption(chart, colours, width) };
  if (chart.type === 'bars') return { ...common, ...barOption(chart, colours) };
  return { ...common, ...waterfallOption(chart, colours) };
}

/** A value as an axis or tooltip writes it. */
function shown(value: number, kind: AxisKind): string {
  if (kind === 'percentile') {
    const percent = 100 * (1 - 1 / value);
    const digits = Math.max(0, Math.ceil(Math.log10(value)) - 2);
    return `${value >= 1e7 ? percent : Number(percent.toFixed(digits + 1))} %`;
  }
  if (kind === 'percent') return `${Number(value.toFixed(2))} %`;
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 1 ? 2 : 4;
  return Number(value.toFixed(digits)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}

const UNITS: Readonly<Record<AxisKind, string>> = {
  ms: ' ms',
  s: ' s',
  count: '',
  percentile: '',
  percent: '',
  rate: '',
};

function axisOf(axis: PageAxis, colours: Colours): Option {
  return {
    type: axis.isLog === true ? 'log' : 'value',
    ...(axis.logBase === undefined ? {} : { logBase: axis.logBase }),
    ...(axis.min === undefined ? {} : { min: axis.min }),
    ...(axis.max === undefined ? {} : { max: axis.max }),
    axisLine: { show: true, lineStyle: { color: colours.dim } },
    axisLabel: {
      color: colours.dim,
      hideOverlap: true,
      ...(axis.kind === 's' ? { showMaxLabel: false } : {}),
      formatter: (value: number) => shown(value, axis.kind),
    },
    splitLine: { lineStyle: { color: colours.line } },
    nameTextStyle: { color: colours.dim },
    ...(axis.kind === 'count' ? { minInterval: 1 } : {}),
  };
}

function tooltip(colours: Colours): Option {
  return {
    trigger: 'axis',
    renderMode: 'richText',
    confine: true,
    backgroundColor: colours.background,
    borderColor: colours.line,
    textStyle: { color: colours.text, fontSize: 12 },
  };
}

function legend(colours: Colours): Option {
  return { top: 0, left: 0, textStyle: { color: colours.text }, itemWidth: 34, icon: undefined, type: 'plain' };
}

function xyOption(chart: XyChart, colours: Colours, width: number): Option {
  const count = chart.panels.length;
  const isNarrow = width < 520;
  const legendRows = isNarrow ? Math.ceil(chart.panels.flatMap(({ series }) => series).length / 2) : 1;
  const top = 24 * legendRows + 24;
  const bottom = chart.canZoom === true ? 84 : 48;
  const share = 100 / count;
  const whole = count > 2 ? 560 : 320;
  const inner = whole - top - bottom;
  let index = 0;
  const series = chart.panels.flatMap((panel, at) =>
    panel.series.map((one, k) => seriesOf(one, { panel, at, colours, index: index++, inPanel: k, chart })),
  );
  return {
    tooltip: { ...tooltip(colours), formatter: (items: unknown) => tooltipText(items, chart) },
    legend: legend(colours),
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    grid: chart.panels.map((_, k) => ({
      left: 64,
      right: isNarrow ? 16 : 32,
      top: top + (inner * share * k) / 100 + (k > 0 ? 22 : 0),
      height: (inner * share) / 100 - (k > 0 ? 22 : 0) - (k < count - 1 ? 8 : 0),
    })),
    xAxis: chart.panels.map((_, k) => {
      const isLast = k === count - 1;
      const axis = axisOf(chart.x, colours);
      return {
        ...axis,
        gridIndex: k,
        ...(isLast ? { name: chart.x.name, nameLocation: 'middle', nameGap: 28 } : {}),
        axisLabel: { ...(axis['axisLabel'] as Option), show: isLast },
      };
    }),
    yAxis: chart.panels.map((panel, k) => ({
      ...axisOf(panel.y, colours),
      ...reach(panel),
      gridIndex: k,
      name: panel.y.name,
      nameLocation: 'end',
      nameGap: 8,
      nameTextStyle: { color: colours.dim, align: 'right' },
      splitNumber: count > 2 ? 2 : 4,
    })),
    ...(chart.canZoom === true ? { dataZoom: zooms(colours, { xAxisIndex: chart.panels.map((_, k) => k) }) } : {}),
    series,
  };
}

/** Limits belong in sight, unless they are so far off that nothing else could be seen. */
function reach({ series, limits = [] }: PagePanel): Option {
  const most = Math.max(0, ...series.flatMap(({ points }) => points.map(([, y]) => y ?? 0)));
  const near = limits.map(({ value }) => value).filter((value) => value > most && value <= most * FAR);
  if (near.length === 0) return {};
  const step = 10 ** Math.floor(Math.log10(Math.max(...near)));
  return { max: Math.ceil((Math.max(...near) * 1.1) / step) * step };
}

function zooms(colours: Colours, axes: Option): Option[] {
  const style = { textStyle: { color: colours.dim }, borderColor: colours.line };
  return [
    { type: 'slider', ...axes, bottom: 8, height: 22, showDataShadow: false, filterMode: 'none', ...style },
    // The wheel scrolls the page; with Ctrl it zooms.
    { type: 'inside', ...axes, zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, filterMode: 'none' },
  ];
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
  const color = colours.series[index % colours.series.length] as string;
  const isBars = one.shape === 'bars';
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
        : { name: one.labels[k], label: { show: true, formatter: '{b}', color: colours.dim, position: 'top' } }),
    })),
    itemStyle: { color },
    ...(isBars
      ? { barWidth: 4 }
      : {
          lineStyle: { color, width: one.shape === 'points' ? 0 : 2, type: DASHES[inPanel % DASHES.length] },
          symbol: SYMBOLS[index % SYMBOLS.length],
          symbolSize: one.shape === 'points' ? 5 : 8,
          showSymbol: hasSymbols || one.shape === 'points',
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
    ...(chart.marks ?? []).map(({ x, label }) => ({ xAxis: x, name: label, label: { show: isTop, position: 'end' } })),
    ...(panel.limits ?? []).map(({ value, label }) => ({
      yAxis: value,
      name: label,
      label: { position: 'insideEndTop' },
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

function barOption(chart: BarChart, colours: Colours): Option {
  const isSide = chart.isHorizontal === true;
  const names = {
    type: 'category',
    data: chart.categories,
    inverse: isSide,
    axisLabel: { color: colours.dim, interval: 0, ...(isSide ? {} : { width: 90, overflow: 'break' }) },
    axisLine: { lineStyle: { color: colours.dim } },
  };
  const values = {
    ...axisOf(chart.y, colours),
    name: chart.y.name,
    ...(isSide ? { nameLocation: 'middle', nameGap: 28 } : {}),
  };
  return {
    tooltip: { ...tooltip(colours), axisPointer: { type: 'shadow' } },
    legend: { ...legend(colours), show: chart.series.length > 1, data: chart.series.map(({ name }) => name) },
    grid: isSide
      ? { left: 8, right: 24, top: chart.series.length > 1 ? 32 : 8, bottom: 48, containLabel: true }
      : { left: 64, right: 24, top: 60, bottom: 48 },
    xAxis: isSide ? values : names,
    yAxis: isSide ? names : values,
    series: [
      ...chart.series.map(({ name, values: data }, k) => ({
        name,
        type: 'bar',
        data,
        barMaxWidth: isSide ? 12 : 48,
        itemStyle: {
          color: colours.series[k % colours.series.length],
          borderColor: colours.text,
          borderWidth: k === 0 ? 0 : 1,
          borderType: 'dashed',
        },
      })),
      ...(isSide && chart.ranges !== undefined ? [whiskers(chart.ranges, colours)] : []),
    ],
  };
}

/** Intervals as lines with a stop at each end. */
function whiskers(ranges: NonNullable<BarChart['ranges']>, colours: Colours): Option {
  return {
    name: '95 % interval',
    type: 'custom',
    silent: true,
    encode: { x: [1, 2], y: 0 },
    data: ranges.flatMap((range, k) => (range === null ? [] : [[k, range[0], range[1]]])),
    z: 5,
    renderItem: (_: unknown, api: RowApi) => {
      const [x0, y] = api.coord([api.value(1), api.value(0)]);
      const x1 = api.coord([api.value(2), api.value(0)])[0];
      const style = { stroke: colours.text, lineWidth: 1.5 };
      const stroke = (a: number, b: number, c: number, d: number) => ({
        type: 'line',
        shape: { x1: a, y1: b, x2: c, y2: d },
        style,
      });
      return {
        type: 'group',
        children: [stroke(x0, y, x1, y), stroke(x0, y - 5, x0, y + 5), stroke(x1, y - 5, x1, y + 5)],
      };
    },
  };
}

const PARTS = ['waiting at the client', 'server queue', 'prompt', 'answer', 'failed'] as const;

function waterfallOption({ rows }: WaterfallChart, colours: Colours): Option {
  const fills = [colours.waiting, colours.queue, colours.prefill, colours.decode, colours.failed];
  return {
    tooltip: {
      ...tooltip(colours),
      trigger: 'item',
      formatter: ({ dataIndex }: { dataIndex: number }) => rowText(rows[dataIndex]),
    },
    legend: { ...legend(colours), data: [...PARTS], selectedMode: false },
    grid: { left: 64, right: 44, top: 58, bottom: 84 },
    xAxis: {
      ...axisOf({ name: '', kind: 's', min: 0, max: Math.max(...rows.map((row) => row[5])) }, colours),
      axisLine: { onZero: false, lineStyle: { color: colours.dim } },
      name: 'seconds since the first request was sent',
      nameLocation: 'middle',
      nameGap: 28,
    },
    yAxis: {
      type: 'value',
      inverse: true,
      min: 0,
      max: rows.length,
      axisLabel: { color: colours.dim },
      splitLine: { show: false },
      name: 'requests',
      nameLocation: 'start',
      nameGap: 8,
      nameTextStyle: { color: colours.dim, align: 'right' },
    },
    dataZoom: [
      ...zooms(colours, { xAxisIndex: 0 }),
      {
        type: 'slider',
        yAxisIndex: 0,
        right: 4,
        width: 18,
        showDataShadow: false,
        filterMode: 'none',
        brushSelect: false,
        showDetail: false,
        borderColor: colours.line,
      },
    ],
    series: PARTS.map((name, k) => ({
      name,
      type: 'custom',
      itemStyle: { color: fills[k] },
      encode: { x: [2, 3, 4, 5, 6], y: 0 },
      data: k === 0 ? rows.map((row, at) => [at, ...row]) : [],
      ...(k === 0
        ? { renderItem: renderRow(fills, colours) }
        : { renderItem: () => ({ type: 'group', children: [] }) }),
    })),
  };
}

interface RowApi {
  value(dimension: number): number;
  coord(point: readonly [number, number]): [number, number];
  size(lengths: readonly [number, number]): [number, number];
}

/** Bars of one request; the parts differ in height as well as in colour. */
function renderRow(fills: readonly string[], colours: Colours) {
  return (params: { coordSys: { x: number; y: number; width: number; height: number } }, api: RowApi) => {
    const at = api.value(0);
    const [due, sent, queued, first, end, failed] = [2, 3, 4, 5, 6, 7].map((k) => api.value(k)) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const tall = Math.max(0.6, api.size([0, 1])[1] * 0.86);
    const parts: [number, number, number, number][] =
      failed === 1
        ? [
            [due, sent, 0, 0.4],
            [sent, end, 4, 1],
          ]
        : [
            [due, sent, 0, 0.4],
            [sent, queued, 1, 0.6],
            [queued, first, 2, 0.8],
            [first, end, 3, 1],
          ];
    const { x: left, width } = params.coordSys;
    const children = parts.flatMap(([from, to, fill, share]) => {
      const [x0, y] = api.coord([from, at + 0.5]);
      const x1 = api.coord([to, at + 0.5])[0];
      const [a, b] = [Math.max(left, x0), Math.min(left + width, Math.max(x1, fill === 4 ? x0 + 2 : x1))];
      if (!(b > a)) return [];
      const height = tall * share;
      return [
        {
          type: 'rect',
          shape: { x: a, y: y - height / 2, width: b - a, height },
          style: {
            fill: fills[fill],
            stroke: fill === 4 ? colours.text : undefined,
            lineWidth: fill === 4 && tall > 4 ? 1 : 0,
          },
        },
      ];
    });
    return { type: 'group', children };
  };
}

function rowText(row: WaterfallChart['rows'][number] | undefined): string {
  if (row === undefined) return '';
  const [index, due, sent, queued, first, end, failed] = row;
  const ms = (from: number, to: number): string => `${shown((to - from) * 1000, 'ms')} ms`;
  if (failed === 1) return `Request ${index}: failed after ${ms(sent, end)}\nsent at ${shown(sent, 's')} s`;
  return [
    `Request ${index}, sent at ${shown(sent, 's')} s`,
    `waiting at the client: ${ms(due, sent)}`,
    ...(queued > sent ? [`server queue: ${ms(sent, queued)}`] : []),
    `to the first token: ${ms(sent, first)}`,
    `answer: ${ms(first, end)}`,
  ].join('\n');
}
