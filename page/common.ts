/** What all kinds of charts have in common: numbers, axes, tooltips, legends, zooms. */
import type { AxisKind, PageAxis } from '../src/report/html-data.ts';
import type { Colours } from './theme.ts';

/** ECharts takes plain objects; its own types of them are no help to those who build them bit by bit. */
export type Option = Record<string, unknown>;

/** What a custom series is handed to draw with. */
export interface RowApi {
  value(dimension: number): number;
  coord(point: readonly [number, number]): [number, number];
  size(lengths: readonly [number, number]): [number, number];
}

/** A value as an axis or tooltip writes it. */
export function shown(value: number, kind: AxisKind): string {
  if (kind === 'percentile') {
    const percent = 100 * (1 - 1 / value);
    const digits = Math.max(0, Math.ceil(Math.log10(value)) - 2);
    return `${value >= 1e7 ? percent : Number(percent.toFixed(digits + 1))} %`;
  }
  if (kind === 'percent') return `${Number(value.toFixed(2))} %`;
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 1 ? 2 : 4;
  return Number(value.toFixed(digits)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}

/** Behind a value in a tooltip. */
export const UNITS: Readonly<Record<AxisKind, string>> = {
  ms: ' ms',
  s: ' s',
  count: '',
  percentile: '',
  percent: '',
  rate: '',
};

/** An axis of numbers. */
export function axisOf(axis: PageAxis, colours: Colours): Option {
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

/** A tooltip that is drawn: no text in it can be HTML. */
export function tooltip(colours: Colours): Option {
  return {
    trigger: 'axis',
    renderMode: 'richText',
    confine: true,
    backgroundColor: colours.background,
    borderColor: colours.line,
    textStyle: { color: colours.text, fontSize: 12 },
  };
}

/** Width of a legend entry without its text, and of a letter, px. */
const ENTRY = 52;
const LETTER = 7.2;
const ROW = 24;

/** Height of a legend that breaks into rows. */
export function legendHeight(names: readonly string[], width: number): number {
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const own = Math.min(width, ENTRY + name.length * LETTER);
    if (used > 0 && used + own > width) {
      rows++;
      used = 0;
    }
    used += own;
  }
  return names.length === 0 ? 0 : rows * ROW;
}

/** Names of the series, in rows from the upper left. */
export function legend(colours: Colours): Option {
  return { top: 0, left: 0, textStyle: { color: colours.text }, itemWidth: 34, icon: undefined, type: 'plain' };
}

/** Sliders, and moving and zooming by the mouse. */
export function zooms(colours: Colours, axes: Option): Option[] {
  const style = { textStyle: { color: colours.dim }, borderColor: colours.line };
  return [
    { type: 'slider', ...axes, bottom: 8, height: 22, showDataShadow: false, filterMode: 'none', ...style },
    // The wheel scrolls the page; with Ctrl it zooms.
    { type: 'inside', ...axes, zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, filterMode: 'none' },
  ];
}
