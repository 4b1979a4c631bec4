/** GPUs of the host on the page: their figures, and what they did over the time of the run. Read from records, which may hold anything. */
import { type Gpu, gpusOf, hostLines } from './gpus.ts';
import { rounded } from './html-curves.ts';
import type { Cell, PageAxis, PagePanel, PageSection, PageSeries, PageTable, Point, XyChart } from './html-data.ts';

/** More GPUs than this are drawn as their mean and their highest: a line each could not be told apart. */
const MOST_LINES = 6;
const MIB_PER_GIB = 1024;

/** Readings of a timeline, their key in the records, the axis, and what they are divided by. */
const PANELS = [
  ['utilisation', 'busy', { name: 'busy, %', kind: 'percent', min: 0, max: 100 }, 1],
  ['power_w', 'power', { name: 'power, W', kind: 'rate', min: 0 }, 1],
  ['memory_mib', 'memory', { name: 'memory, GiB', kind: 'rate', min: 0 }, MIB_PER_GIB],
  ['temperature_c', 'temperature', { name: '°C', kind: 'rate' }, 1],
] as const satisfies readonly (readonly [string, string, PageAxis, number])[];

type PanelKey = (typeof PANELS)[number][0];

/** When the run was, on the clock of the requests. */
export interface RunSpan {
  /** The first request was sent, seconds. */
  readonly firstStart: number;
  readonly lengthS: number;
}

/**
 * The section; none where no GPU was sampled.
 * @param span null where it is not known: then there is no chart
 */
export function gpuSections(value: unknown, outputTokens: number, span: RunSpan | null): PageSection[] {
  const words = hostLines(value, outputTokens);
  if (words.length === 0) return [];
  const gpus = gpusOf(value);
  const chart = span === null ? null : chartOf(gpus, span);
  return [
    {
      id: 'host',
      title: 'GPUs of the host',
      words: chart === null ? words : [...words, 'Over the same time as the timeline above.'],
      ...(chart === null
        ? {}
        : {
            chart,
            chartText: `busy share, power, memory and temperature of ${gpus.length} ${gpus.length === 1 ? 'GPU' : 'GPUs'} over the run`,
            table: tableOf(gpus),
            isTableFolded: true,
          }),
    },
  ];
}

function chartOf(gpus: readonly Gpu[], { firstStart, lengthS }: RunSpan): XyChart | null {
  const panels = PANELS.flatMap(([key, name, y, unit]): PagePanel[] => {
    const lines = gpus.map((gpu) => pointsOf(gpu, key, unit, firstStart).filter(([x]) => x >= 0 && x <= lengthS));
    if (lines.every((points) => points.length === 0)) return [];
    return [{ y, series: seriesOf(gpus, lines, name) }];
  });
  if (panels.length === 0) return null;
  return {
    type: 'xy',
    x: { name: 'seconds since the first request was sent', kind: 's', min: 0, max: rounded(lengthS) },
    canZoom: true,
    panels,
  };
}

function seriesOf(gpus: readonly Gpu[], lines: readonly Point[][], name: string): PageSeries[] {
  if (gpus.length <= MOST_LINES) {
    return lines.map((points, k) => ({
      name: `GPU ${String(gpus[k]?.['index'])} ${name}`,
      shape: 'line',
      points,
      place: k,
      dash: k,
    }));
  }
  // Sampled together: slice by slice the times of the first stand for all.
  const at = (k: number): number[] => lines.flatMap((points) => (points[k]?.[1] == null ? [] : [points[k][1]]));
  const over = (take: (values: number[]) => number): Point[] =>
    (lines[0] ?? []).map(([x], k) => [x, at(k).length === 0 ? null : rounded(take(at(k)))]);
  return [
    {
      name: `${name}, mean of all`,
      shape: 'line',
      place: 0,
      dash: 0,
      points: over((v) => v.reduce((a, b) => a + b, 0) / v.length),
    },
    { name: `${name}, highest`, shape: 'line', place: 1, dash: 1, points: over((v) => Math.max(...v)) },
  ];
}

/** Middle of each slice, and its value; nothing where the records hold no such timeline. */
function pointsOf(gpu: Gpu, key: PanelKey, unit: number, firstStart: number): Point[] {
  const line = gpu['timeline'] as Readonly<Record<string, unknown>> | null | undefined;
  const [start, step, values] = [line?.['start_time'], line?.['step_s'], line?.[key]];
  if (typeof start !== 'number' || typeof step !== 'number' || !Array.isArray(values)) return [];
  return values.flatMap((value: unknown, k): Point[] =>
    typeof value === 'number' && Number.isFinite(value)
      ? [[rounded(start - firstStart + (k + 0.5) * step), rounded(value / unit)]]
      : [],
  );
}

function tableOf(gpus: readonly Gpu[]): PageTable {
  const read = (gpu: Gpu, key: string, part: 'mean' | 'max'): Cell => {
    const value = (gpu[key] as Readonly<Record<string, unknown>> | null | undefined)?.[part];
    return { value: typeof value === 'number' ? value : null, digits: 1 };
  };
  return {
    caption: 'Each GPU over the run',
    columns: ['', 'busy mean, %', 'busy max, %', 'power mean, W', 'power max, W', 'memory max, MiB', 'max, °C'],
    rows: gpus.map((gpu) => [
      `GPU ${String(gpu['index'])}`,
      read(gpu, 'utilisation', 'mean'),
      read(gpu, 'utilisation', 'max'),
      read(gpu, 'power_w', 'mean'),
      read(gpu, 'power_w', 'max'),
      read(gpu, 'memory_mib', 'max'),
      read(gpu, 'temperature_c', 'max'),
    ]),
  };
}
