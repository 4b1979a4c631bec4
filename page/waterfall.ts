/** Requests as rows of bars over time. */
import type { WaterfallChart } from '../src/report/html-data.ts';
import { axisOf, legend, legendHeight, type Option, type RowApi, shown, tooltip, zooms } from './common.ts';
import type { Colours } from './theme.ts';

/** Height, px. */
export const WATERFALL_HEIGHT = 480;

const WAITS = { late: 'sent late by the client', place: 'waiting for a place at the client' } as const;

/** Parts of a row in the order of time; each has its place in {@link fillsOf} and its share of the row's height. */
const SHARES = [0.35, 0.55, 0.8, 1, 1] as const;

function namesOf({ wait }: WaterfallChart): string[] {
  return [WAITS[wait], 'server queue', 'prompt', 'answer', 'failed'];
}

function fillsOf(colours: Colours): readonly string[] {
  return [colours.waiting, colours.queue, colours.prefill, colours.decode, colours.failed];
}

/** Parts that the rows have. */
function partsOf({ rows }: WaterfallChart, showsWait: boolean): boolean[] {
  return [
    showsWait && rows.some(([, due, sent]) => sent > due),
    rows.some(([, , sent, queued, , , failed]) => failed === 0 && queued > sent),
    rows.some((row) => row[6] === 0),
    rows.some((row) => row[6] === 0),
    rows.some((row) => row[6] === 1),
  ];
}

/** The option. */
export function waterfallOption(chart: WaterfallChart, colours: Colours, width: number, showsWait: boolean): Option {
  const { rows } = chart;
  const fills = fillsOf(colours);
  const all = namesOf(chart);
  const parts = partsOf(chart, showsWait);
  const names = all.filter((_, k) => parts[k]);
  return {
    tooltip: {
      ...tooltip(colours),
      trigger: 'item',
      formatter: ({ dataIndex }: { dataIndex: number }) => rowText(rows[dataIndex], chart),
    },
    legend: { ...legend(colours), data: names, selectedMode: false },
    grid: { left: 64, right: 44, top: legendHeight(names, width) + 30, bottom: 84, outerBoundsMode: 'none' },
    xAxis: {
      ...axisOf({ name: '', kind: 's', min: 0, max: Math.max(...rows.map((row) => row[5])) }, colours),
      axisLine: { onZero: false, lineStyle: { color: colours.dim } },
      name: width < 520 ? 'seconds' : 'seconds since the first request was sent',
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
      nameTextStyle: { color: colours.dim, align: 'left', padding: [0, 0, 0, -56] },
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
      { type: 'inside', yAxisIndex: 0, zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, filterMode: 'none' },
    ],
    // One series draws whole rows; the others are there for the legend.
    series: all.map((name, k) => ({
      name,
      type: 'custom',
      itemStyle: { color: fills[k] },
      encode: { x: [2, 3, 4, 5, 6], y: 0 },
      data: k === 3 ? rows.map((row, at) => [at, ...row]) : [],
      ...(k === 3
        ? { renderItem: renderRow(fills, colours, showsWait) }
        : { renderItem: () => ({ type: 'group', children: [] }) }),
    })),
  };
}

type Part = readonly [from: number, to: number, fill: number];

/** Bars of one request; the parts differ in height as well as in colour. */
function renderRow(fills: readonly string[], colours: Colours, showsWait: boolean) {
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
    const wait: readonly Part[] = showsWait ? [[due, sent, 0]] : [];
    const parts: readonly Part[] =
      failed === 1 ? [...wait, [sent, end, 4]] : [...wait, [sent, queued, 1], [queued, first, 2], [first, end, 3]];
    const tall = Math.max(0.6, Math.min(26, api.size([0, 1])[1] * 0.86));
    const { x: left, width } = params.coordSys;
    const children = parts.flatMap(([from, to, fill], k) => {
      // In a long run a request is narrower than a pixel: it must not vanish.
      const least = fill === 4 ? 2 : k === parts.length - 1 ? 1 : 0;
      const [x0, y] = api.coord([from, at + 0.5]);
      const x1 = api.coord([to, at + 0.5])[0];
      const [a, b] = [Math.max(left, x0), Math.min(left + width, Math.max(x1, x0 + least))];
      if (!(b > a)) return [];
      const height = tall * (SHARES[fill] as number);
      const isEdged = fill === 4;
      return [
        {
          type: 'rect',
          shape: { x: a, y: y - height / 2, width: b - a, height },
          style: {
            fill: fills[fill],
            stroke: isEdged ? colours.text : undefined,
            lineWidth: isEdged && tall > 4 ? 1 : 0,
          },
        },
      ];
    });
    return { type: 'group', children };
  };
}

function rowText(row: WaterfallChart['rows'][number] | undefined, { wait }: WaterfallChart): string {
  if (row === undefined) return '';
  const [index, due, sent, queued, first, end, failed] = row;
  const ms = (from: number, to: number): string => `${shown((to - from) * 1000, 'ms')} ms`;
  const head = [`Request ${index}, sent at ${shown(sent, 's')} s`, `${WAITS[wait]}: ${ms(due, sent)}`];
  if (failed === 1) return [...head, `failed after ${ms(sent, end)}`].join('\n');
  return [
    ...head,
    ...(queued > sent ? [`server queue: ${ms(sent, queued)}`] : []),
    `to the first token: ${ms(sent, first)}`,
    `answer: ${ms(first, end)}`,
  ].join('\n');
}
