/**
 * `--plot-dataset-stats`: distributions of prompt, output and total tokens, and the tokens of each request, as a page of its own. The
 * lengths are those of the result (`input_lens`, `output_lens`): what the server counted.
 */
import type { DetailViews, View } from '../aggregate/summary.ts';
import { htmlText, type PlotHead, page, px, ticks, whole } from './plot-html.ts';

const PROMPT = '#4c78a8';
const OUTPUT = '#f58518';
const TOTAL = '#54a24b';
/** As in vLLM's plot. */
const BINS = 30;
/** Bars of requests drawn at most; each stands for the largest of its neighbours beyond that. */
const MAX_BARS = 400;

const WIDTH = 520;
const HEIGHT = 220;
const LEFT = 56;
const TOP = 26;
const BOTTOM = 34;

/** The page. */
export function datasetPage(detail: Pick<DetailViews, 'inputLens' | 'outputLens'>, head: PlotHead): string {
  const prompt = valuesOf(detail.inputLens);
  const output = valuesOf(detail.outputLens);
  const total = prompt.map((tokens, i) => tokens + (output[i] as number));
  const parts = [
    histogramPlot('Prompt tokens', prompt, PROMPT),
    histogramPlot('Output tokens', output, OUTPUT),
    histogramPlot('Prompt and output tokens', total, TOTAL),
    barPlot(prompt, output),
  ];
  return page(
    'Token lengths',
    head,
    [`${whole(prompt.length)} requests`],
    'svg{display:inline-block;margin-right:16px}',
    parts,
  );
}

function valuesOf(view: View<number>): Float64Array {
  return Float64Array.from({ length: view.length }, (_, i) => view.at(i));
}

/** Equal bins from the smallest to the largest value, the last with its upper end, as numpy.histogram has them. */
export function binned(
  values: ArrayLike<number>,
  bins: number,
): { readonly from: number; readonly to: number; readonly counts: number[] } {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    from = Math.min(from, values[i] as number);
    to = Math.max(to, values[i] as number);
  }
  if (values.length === 0) [from, to] = [0, 1];
  else if (from === to) [from, to] = [from - 0.5, to + 0.5];
  const counts = new Array<number>(bins).fill(0);
  for (let i = 0; i < values.length; i++) {
    const bin = Math.min(bins - 1, Math.floor((((values[i] as number) - from) / (to - from)) * bins));
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { from, to, counts };
}

function histogramPlot(title: string, values: Float64Array, colour: string): string {
  const { from, to, counts } = binned(values, BINS);
  const highest = Math.max(1, ...counts);
  const barWidth = WIDTH / BINS;
  const bars = counts.map((count, bin) => {
    const height = (count / highest) * HEIGHT;
    const [low, high] = [bin, bin + 1].map((edge) => from + ((to - from) * edge) / BINS) as [number, number];
    const words = htmlText(`${low.toFixed(1)} to ${high.toFixed(1)} tokens: ${whole(count)} requests`);
    const box = `x="${px(LEFT + bin * barWidth)}" y="${px(TOP + HEIGHT - height)}" width="${px(barWidth - 1)}" height="${px(height)}"`;
    return count === 0 ? '' : `<rect ${box} fill="${colour}"><title>${words}</title></rect>`;
  });
  const mean = values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
  const about =
    values.length === 0
      ? ''
      : `: ${whole(Math.min(...extremes(values)))} to ${whole(Math.max(...extremes(values)))}, mean ${mean.toFixed(1)}`;
  return plot(`${title}${about}`, { from, to, unit: 'tokens' }, highest, 'requests', bars);
}

/** Smallest and largest value; spreading a long array over arguments would overflow the stack. */
function extremes(values: Float64Array): [number, number] {
  return values.reduce<[number, number]>(
    ([a, b], v) => [Math.min(a, v), Math.max(b, v)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
}

function barPlot(prompt: Float64Array, output: Float64Array): string {
  const chosen = tallest(prompt, output, MAX_BARS);
  const totals = chosen.map((i) => (prompt[i] as number) + (output[i] as number));
  const highest = Math.max(1, ...totals);
  const barWidth = WIDTH / Math.max(1, chosen.length);
  const bars = chosen.map((i, k) => {
    const [a, b] = [prompt[i] as number, output[i] as number];
    const [low, high] = [(a / highest) * HEIGHT, (b / highest) * HEIGHT];
    const x = `x="${px(LEFT + k * barWidth)}" width="${px(Math.max(0.5, barWidth * 0.9))}"`;
    const words = htmlText(`Request ${i}: ${whole(a)} prompt, ${whole(b)} output tokens`);
    return (
      `<g><title>${words}</title><rect ${x} y="${px(TOP + HEIGHT - low)}" height="${px(low)}" fill="${PROMPT}"/>` +
      `<rect ${x} y="${px(TOP + HEIGHT - low - high)}" height="${px(high)}" fill="${OUTPUT}"/></g>`
    );
  });
  const thinned = chosen.length < prompt.length ? ` (the largest of each ${whole(prompt.length / chosen.length)})` : '';
  const span = { from: 0, to: Math.max(1, prompt.length), unit: 'request' };
  return plot(`Tokens per request${thinned}: prompt below, output above`, span, highest, 'tokens', bars);
}

/** At most `most` requests in order: of each stretch of neighbours the one with the most tokens. */
export function tallest(prompt: ArrayLike<number>, output: ArrayLike<number>, most: number): number[] {
  const n = prompt.length;
  const bars = Math.min(n, most);
  return Array.from({ length: bars }, (_, bar) => {
    const from = Math.floor((bar * n) / bars);
    let best = from;
    for (let i = from; i < Math.floor(((bar + 1) * n) / bars); i++) {
      const total = (prompt[i] as number) + (output[i] as number);
      if (total > (prompt[best] as number) + (output[best] as number)) best = i;
    }
    return best;
  });
}

function plot(
  title: string,
  x: { readonly from: number; readonly to: number; readonly unit: string },
  highest: number,
  yUnit: string,
  bars: readonly string[],
): string {
  const toX = (value: number) => LEFT + ((value - x.from) / (x.to - x.from)) * WIDTH;
  const toY = (value: number) => TOP + HEIGHT - (value / highest) * HEIGHT;
  const xTicks = ticks(x.from, x.to, 6).map(
    (value) =>
      `<text class="mid" x="${px(toX(value))}" y="${TOP + HEIGHT + 15}">${value.toLocaleString('en-US')}</text>`,
  );
  const yTicks = ticks(0, highest, 4).flatMap((value) => [
    `<path class="grid" d="M${LEFT} ${px(toY(value))}h${WIDTH}"/>`,
    `<text class="end" x="${LEFT - 6}" y="${px(toY(value) + 4)}">${value.toLocaleString('en-US')}</text>`,
  ]);
  return [
    `<svg role="img" aria-label="${htmlText(title)}" viewBox="0 0 ${LEFT + WIDTH + 12} ${TOP + HEIGHT + BOTTOM}" width="${LEFT + WIDTH + 12}">`,
    `<text x="${LEFT}" y="14" style="font-weight:600">${htmlText(title)}</text>`,
    ...yTicks,
    ...bars,
    ...xTicks,
    `<text class="end" x="${LEFT + WIDTH}" y="${TOP + HEIGHT + 30}">${x.unit}; height: ${yUnit}</text>`,
    '</svg>',
  ].join('\n');
}
