/**
 * `--plot-timeline`: one row per request, from its sending to its last token, coloured by the gaps between token frames. A page of
 * its own, well below 2 MB whatever the run: rows and stretches are thinned out in such a way that the worst stay in sight.
 */
import type { DetailViews } from '../aggregate/summary.ts';
import { htmlText, type PlotHead, page, px, ticks, whole } from './plot-html.ts';

/** Classes of a stretch, from good to bad; their order is that in which they are drawn. */
const CLASSES = ['t', 'g', 'm', 'b'] as const;
type Class = (typeof CLASSES)[number];
const COLOURS: Readonly<Record<Class | 'n' | 'f', string>> = {
  t: '#4c78a8',
  g: '#54a24b',
  m: '#eeb22c',
  b: '#d1372c',
  n: '#9c9c9c',
  f: '#444',
};

/** Rows and stretches drawn at most: about 500 KB of each. */
const MAX_ROWS = 1500;
const MAX_STRETCHES = 40_000;
/** Of each kind of extreme so many rows stay whatever is left out. */
const EXTREMES = 50;
/** Narrowest stretch of a class that must not vanish, px. */
const VISIBLE = 0.8;

const LEFT = 64;
const WIDTH = 1100;
const TOP = 8;

/** A stretch of a request's row: seconds from its start, and its class. */
export interface Stretch {
  readonly fromS: number;
  readonly toS: number;
  readonly kind: Class;
}

/**
 * The page.
 * @param thresholdsMs the two limits of a gap: below the first good, from the second on bad
 */
export function timelinePage(detail: DetailViews, thresholdsMs: readonly [number, number], head: PlotHead): string {
  const rows = chosenRows(detail);
  const t0 = least(detail);
  const spanS = rows.reduce((most, i) => Math.max(most, detail.startTimes.at(i) - t0 + detail.latencies.at(i)), 0);
  const rowHeight = Math.max(1, Math.min(14, Math.floor(12_000 / Math.max(1, rows.length)) / 10));
  const height = rows.length * rowHeight;
  const toPx = (s: number) => (spanS > 0 ? (s / spanS) * WIDTH : 0);
  const most = Math.max(16, Math.floor(MAX_STRETCHES / Math.max(1, rows.length)));
  const body = rows.map((i, row) => {
    const y = px(TOP + (row + 0.5) * rowHeight);
    return rowOf(detail, i, { t0, toPx, y, stretches: stretchesOf(detail, i, thresholdsMs, most) });
  });
  const svg = [
    `<svg role="img" aria-label="Timeline of the requests" viewBox="0 0 ${LEFT + WIDTH + 20} ${px(TOP + height + 40)}" width="${LEFT + WIDTH + 20}">`,
    ...axes(rows, spanS, toPx, rowHeight),
    `<g transform="translate(${LEFT},0)">`,
    ...body,
    '</g></svg>',
  ];
  const style = [
    `path{fill:none;stroke-width:${px(Math.max(0.8, rowHeight * 0.8))}}`,
    ...Object.entries(COLOURS).map(([kind, colour]) => `.${kind}{stroke:${colour}}`),
    '.key{display:inline-block;width:12px;height:12px;margin:0 4px 0 14px;vertical-align:-1px}',
  ];
  return page('Request timeline', head, aboutRows(detail, rows), style.join('\n'), [
    legend(detail, thresholdsMs),
    ...svg,
  ]);
}

/**
 * The stretches of a request: first its wait for the first token, then runs of gaps of one class. Where there would be more than `most`,
 * the time is cut into equal parts, each with the worst class that it holds.
 */
export function stretchesOf(
  detail: Pick<DetailViews, 'ttfts' | 'itls'>,
  i: number,
  [good, bad]: readonly [number, number],
  most: number,
): Stretch[] {
  const ttft = detail.ttfts.at(i);
  const gaps = detail.itls?.at(i) ?? new Float64Array(0);
  const kindOf = (gap: number): Class => (gap * 1000 < good ? 'g' : gap * 1000 < bad ? 'm' : 'b');
  const runs: Stretch[] = [{ fromS: 0, toS: ttft, kind: 't' }];
  let at = ttft;
  for (const gap of gaps) {
    extend(runs, at, at + gap, kindOf(gap));
    at += gap;
  }
  if (runs.length <= most) return runs;
  const parts = most - 1;
  const worst = new Uint8Array(parts);
  let from = ttft;
  for (const gap of gaps) {
    const kind = CLASSES.indexOf(kindOf(gap));
    const first = Math.min(parts - 1, Math.floor(((from - ttft) / (at - ttft)) * parts));
    const last = Math.min(parts - 1, Math.max(first, Math.ceil(((from + gap - ttft) / (at - ttft)) * parts) - 1));
    for (let part = first; part <= last; part++) worst[part] = Math.max(worst[part] as number, kind);
    from += gap;
  }
  const cut: Stretch[] = [runs[0] as Stretch];
  const partS = (at - ttft) / parts;
  worst.forEach((kind, part) => {
    extend(cut, ttft + part * partS, ttft + (part + 1) * partS, CLASSES[Math.max(1, kind)] as Class);
  });
  return cut;
}

/** Adds a stretch, or lengthens the last one when it is of the same class. */
function extend(stretches: Stretch[], fromS: number, toS: number, kind: Class): void {
  const last = stretches[stretches.length - 1];
  if (last !== undefined && last.kind === kind && kind !== 't') stretches[stretches.length - 1] = { ...last, toS };
  else stretches.push({ fromS, toS, kind });
}

/**
 * The requests to draw, in sample order: all of them, or the slowest by first token, by end and by longest gap, the first and the
 * last, and others at equal distances.
 */
export function chosenRows(detail: DetailViews, maxRows = MAX_ROWS): readonly number[] {
  const n = detail.startTimes.length;
  const all = Array.from({ length: n }, (_, i) => i);
  if (n <= maxRows) return all;
  const chosen = new Set<number>([0, n - 1]);
  const extremes = Math.min(EXTREMES, Math.floor(maxRows / 6));
  for (const read of [detail.ttfts, detail.latencies].map((view) => (i: number) => view.at(i))) {
    for (const i of largest(all, read, extremes)) chosen.add(i);
  }
  const { itls } = detail;
  if (itls !== null) {
    for (const i of largest(all, (at) => longest(itls.at(at)), extremes)) chosen.add(i);
  }
  const step = n / (maxRows - chosen.size);
  for (let k = 0; chosen.size < maxRows && k * step < n; k++) chosen.add(Math.floor(k * step));
  return [...chosen].sort((a, b) => a - b);
}

function largest(items: readonly number[], read: (item: number) => number, count: number): number[] {
  const values = Float64Array.from(items, read);
  return [...items].sort((a, b) => (values[b] as number) - (values[a] as number)).slice(0, count);
}

function longest(gaps: Float64Array): number {
  let most = 0;
  for (const gap of gaps) if (gap > most) most = gap;
  return most;
}

function least({ startTimes }: DetailViews): number {
  let t0 = Number.POSITIVE_INFINITY;
  for (let i = 0; i < startTimes.length; i++) t0 = Math.min(t0, startTimes.at(i));
  return Number.isFinite(t0) ? t0 : 0;
}

interface RowPlace {
  readonly t0: number;
  toPx(seconds: number): number;
  readonly y: string;
  readonly stretches: readonly Stretch[];
}

/** One path per class; what the pointer shows is the title. */
function rowOf(detail: DetailViews, i: number, { t0, toPx, y, stretches }: RowPlace): string {
  const start = detail.startTimes.at(i) - t0;
  const title = titleOf(detail, i, start);
  if (!detail.successes.at(i)) return `<g><title>${title}</title><path class="f" d="M${px(toPx(start))} ${y}h2"/></g>`;
  const paths = new Map<string, string>();
  for (const { fromS, toS, kind } of stretches) {
    const x = toPx(start + fromS);
    const width = toPx(start + toS) - x;
    const shown = kind === 'm' || kind === 'b' ? Math.max(VISIBLE, width) : width;
    paths.set(kind, `${paths.get(kind) ?? ''}M${px(x)} ${y}h${px(shown)}`);
  }
  const last = stretches[stretches.length - 1]?.toS ?? 0;
  if (detail.itls === null && detail.latencies.at(i) > last) {
    const x = toPx(start + last);
    paths.set('n', `M${px(x)} ${y}h${px(toPx(start + detail.latencies.at(i)) - x)}`);
  }
  const drawn = [...CLASSES, 'n'].flatMap((kind) => {
    const path = paths.get(kind);
    return path === undefined ? [] : [`<path class="${kind}" d="${path}"/>`];
  });
  return `<g><title>${title}</title>${drawn.join('')}</g>`;
}

function titleOf(detail: DetailViews, i: number, start: number): string {
  const ms = (s: number) => `${(s * 1000).toFixed(1)} ms`;
  const lengths = `${whole(detail.inputLens.at(i))} prompt, ${whole(detail.outputLens.at(i))} output tokens`;
  if (!detail.successes.at(i)) return htmlText(`Request ${i}: failed; sent at ${start.toFixed(3)} s; ${lengths}`);
  const gaps = detail.itls?.at(i);
  const gap = gaps === undefined || gaps.length === 0 ? '' : `, longest gap ${ms(longest(gaps))}`;
  const end = start + detail.latencies.at(i);
  return htmlText(
    `Request ${i}: ${start.toFixed(3)} s to ${end.toFixed(3)} s; first token after ${ms(detail.ttfts.at(i))}${gap}; ${lengths}`,
  );
}

function axes(rows: readonly number[], spanS: number, toPx: (s: number) => number, rowHeight: number): string[] {
  const bottom = TOP + rows.length * rowHeight;
  const out: string[] = [];
  for (const s of ticks(0, spanS, 10)) {
    const x = px(LEFT + toPx(s));
    out.push(`<path class="grid" style="stroke-width:1" d="M${x} ${TOP}V${px(bottom)}"/>`);
    out.push(`<text class="mid" x="${x}" y="${px(bottom + 16)}">${s} s</text>`);
  }
  const every = Math.max(1, Math.ceil(16 / rowHeight));
  for (let row = 0; row < rows.length; row += every) {
    const y = px(TOP + (row + 0.5) * rowHeight + 4);
    out.push(`<text class="end" x="${LEFT - 6}" y="${y}">${whole(rows[row] as number)}</text>`);
  }
  out.push(`<text x="${LEFT}" y="${px(bottom + 34)}">time since the first request was sent; rows: requests</text>`);
  return out;
}

function legend(detail: DetailViews, [good, bad]: readonly [number, number]): string {
  const keys: [kind: keyof typeof COLOURS, text: string][] = [['t', 'wait for the first token']];
  if (detail.itls === null) keys.push(['n', 'tokens (there were too many gaps to keep them: --max-exact-values)']);
  else {
    keys.push(['g', `gaps below ${good} ms`], ['m', `${good} ms to below ${bad} ms`], ['b', `${bad} ms and more`]);
  }
  keys.push(['f', 'failed']);
  return `<p>${keys
    .map(([kind, text]) => `<span class="key" style="background:${COLOURS[kind]}"></span>${htmlText(text)}`)
    .join('')}</p>`;
}

function aboutRows(detail: DetailViews, rows: readonly number[]): string[] {
  const n = detail.startTimes.length;
  if (rows.length === n) return [`${whole(n)} requests`];
  return [
    `${whole(rows.length)} of ${whole(n)} requests: the slowest by first token, by end and by longest gap, and others at equal distances`,
  ];
}
