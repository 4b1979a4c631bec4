/**
 * The script of a report page: draws the charts that stand in the page as data, follows the colour scheme, and lets charts be zoomed by
 * buttons, keys and wheel. Bundled into dist/report-page.js at build time. Texts from outside only ever become text nodes of SVG:
 * tooltips are drawn, not written as HTML.
 */
import { BarChart as Bars, CustomChart, LineChart } from 'echarts/charts';
import {
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from 'echarts/components';
import { type ECharts, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { PageChart } from '../src/report/html-data.ts';
import { heightOf, optionOf } from './options.ts';
import { colours, isDark } from './theme.ts';

use([
  Bars,
  CustomChart,
  LineChart,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
  SVGRenderer,
]);

interface Drawn {
  readonly element: HTMLElement;
  readonly chart: PageChart;
  readonly instance: ECharts;
}

const charts = JSON.parse(document.getElementById('charts')?.textContent ?? '{}') as Readonly<
  Record<string, PageChart>
>;
const drawn: Drawn[] = [];

function drawAll(): void {
  for (const element of document.querySelectorAll<HTMLElement>('[data-chart]')) {
    const chart = charts[element.dataset['chart'] ?? ''];
    if (chart === undefined) continue;
    element.style.height = `${heightOf(chart, element.clientWidth)}px`;
    const instance = init(element, null, { renderer: 'svg' });
    const one = { element, chart, instance };
    drawn.push(one);
    makeZoomable(element, instance);
    makeSwitchable(one);
  }
  for (const one of drawn) paint(one);
}

/** Draws a chart anew as the switches stand; what was zoomed into stays in sight. */
function paint({ element, chart, instance }: Drawn): void {
  const { dataZoom = [] } = instance.getOption() === undefined ? {} : (instance.getOption() as Zoomed);
  const switches = { showsWait: chart.type === 'waterfall' && (chart.wait === 'late' || isPressed(element)) };
  instance.setOption(optionOf(chart, colours(), element.clientWidth, switches), { notMerge: true });
  for (const [dataZoomIndex, { start, end }] of dataZoom.entries())
    instance.dispatchAction({ type: 'dataZoom', dataZoomIndex, start, end });
}

interface Zoomed {
  readonly dataZoom?: readonly { readonly start?: number; readonly end?: number }[];
}

/** The button that shows the wait for a place; charts without one have none. */
function waitButton(element: HTMLElement): HTMLElement | null {
  return element.parentElement?.querySelector<HTMLElement>('[data-wait]') ?? null;
}

function isPressed(element: HTMLElement): boolean {
  return waitButton(element)?.getAttribute('aria-pressed') === 'true';
}

/** Names of a legend, in order. */
function lineNames(chart: PageChart): string[] {
  if (chart.type === 'xy') return chart.panels.flatMap(({ series }) => series.map(({ name }) => name));
  return chart.type === 'bars' ? chart.series.map(({ name }) => name) : [];
}

/** What a click on a name of the legend does, the keys 1 to 9 do too. */
function makeSwitchable(one: Drawn): void {
  const names = lineNames(one.chart);
  one.element.addEventListener('keydown', (event) => {
    const name = names.length > 1 && /^[1-9]$/.test(event.key) ? names[Number(event.key) - 1] : undefined;
    if (name === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    one.instance.dispatchAction({ type: 'legendToggleSelect', name });
    const { legend } = one.instance.getOption() as { legend: { selected: Record<string, boolean> }[] };
    const hidden = names.filter((each) => legend[0]?.selected[each] === false);
    one.element.dataset['hidden'] = hidden.join(', ');
  });
  const button = waitButton(one.element);
  button?.addEventListener('click', () => {
    button.setAttribute('aria-pressed', String(!isPressed(one.element)));
    paint(one);
  });
}

/** One step of a zoom: both ends in percent of the whole. */
function zoomed(action: string, start: number, end: number): [number, number] {
  const width = end - start;
  if (action === 'all') return [0, 100];
  if (action === 'in') return [start + width / 4, end - width / 4];
  if (action === 'out') return [Math.max(0, start - width / 2), Math.min(100, end + width / 2)];
  const step = action === 'left' ? -Math.min(width / 2, start) : Math.min(width / 2, 100 - end);
  return [start + step, end + step];
}

const KEYS: Readonly<Record<string, string>> = {
  '+': 'in',
  '=': 'in',
  '-': 'out',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  '0': 'all',
};

/**
 * Buttons and keys. In a waterfall rows are moved with time, as they are in the order of sending: else a zoom into time would show rows
 * that have nothing there.
 */
function makeZoomable(element: HTMLElement, instance: ECharts): void {
  const buttons = element.parentElement?.querySelectorAll<HTMLElement>('[data-zoom]') ?? [];
  if (buttons.length === 0) return;
  const act = (action: string): void => {
    const { dataZoom = [] } = instance.getOption() as Zoomed;
    const [start, end] = zoomed(action, dataZoom[0]?.start ?? 0, dataZoom[0]?.end ?? 100);
    for (const dataZoomIndex of dataZoom.keys())
      instance.dispatchAction({ type: 'dataZoom', dataZoomIndex, start, end });
  };
  instance.on('datazoom', () => {
    const { start = 0, end = 100 } = (instance.getOption() as Zoomed).dataZoom?.[0] ?? {};
    element.dataset['shown'] = `${Math.round(start)}-${Math.round(end)}`;
  });
  for (const button of buttons) button.addEventListener('click', () => act(button.dataset['zoom'] ?? 'all'));
  element.addEventListener('keydown', (event) => {
    const action = KEYS[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(action);
  });
}

function setUpTheme(): void {
  const button = document.getElementById('theme');
  const show = (): void => {
    button?.setAttribute('aria-pressed', String(isDark()));
    for (const one of drawn) paint(one);
  };
  button?.addEventListener('click', () => {
    document.documentElement.dataset['theme'] = isDark() ? 'light' : 'dark';
    show();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  button?.setAttribute('aria-pressed', String(isDark()));
}

// Tables that are folded would be missing on paper.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
let timer = 0;
addEventListener('resize', () => {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    for (const one of drawn) {
      one.element.style.height = `${heightOf(one.chart, one.element.clientWidth)}px`;
      one.instance.resize();
      paint(one);
    }
  }, 100);
});

drawAll();
setUpTheme();
