/**
 * What happened when: requests in flight, tokens per second, time to first token and errors in slices of the run, and the rows of
 * the waterfall. Slices keep their extremes, so that no peak is lost when a long run is drawn narrow.
 */
import type { DetailViews } from '../aggregate/summary.ts';
import { percentileOf, rounded } from './html-curves.ts';
import type { Cell, PageTable, Point, WaterfallRow, XyChart } from './html-data.ts';
import { chosenRows } from './plot-timeline.ts';

/** Slices of the timeline at most. */
const SLICES = 240;
/** Rows of the waterfall at most. */
const ROWS = 600;

/** Figures by slice. Times in ms; NaN where a slice has none. */
export interface Timeline {
  readonly sliceS: number;
  /** Most requests in flight in the slice. */
  readonly inFlight: Float64Array;
  readonly tokensPerS: Float64Array;
  /** Of the requests whose first token came in the slice. */
  readonly medianTtftMs: Float64Array;
  readonly maxTtftMs: Float64Array;
  /** Requests that failed in the slice. */
  readonly errors: Float64Array;
}

/** The time at which the first request was sent, on the clock of the records. */
export function firstStart({ startTimes }: DetailViews): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < startTimes.length; i++) least = Math.min(least, startTimes.at(i));
  return Number.isFinite(least) ? least : 0;
}

function takenOf(detail: DetailViews, i: number): number {
  return Math.max(detail.takenTimes?.at(i) ?? 0, detail.latencies.at(i));
}

/** The figures; null without requests or without time. */
export function timelineOf(detail: DetailViews): Timeline | null {
  const n = detail.startTimes.length;
  const t0 = firstStart(detail);
  let spanS = 0;
  for (let i = 0; i < n; i++) spanS = Math.max(spanS, detail.startTimes.at(i) - t0 + takenOf(detail, i));
  if (n === 0 || !(spanS > 0)) return null;
  const sliceS = spanS / SLICES;
  const sliceAt = (s: number): number => Math.min(SLICES - 1, Math.max(0, Math.floor(s / sliceS)));
  const tokens = new Float64Array(SLICES);
  const errors = new Float64Array(SLICES);
  const ttfts: number[][] = Array.from({ length: SLICES }, () => []);
  for (let i = 0; i < n; i++) {
    const start = detail.startTimes.at(i) - t0;
    if (!detail.successes.at(i)) {
      const slice = sliceAt(start + takenOf(detail, i));
      errors[slice] = (errors[slice] as number) + 1;
      continue;
    }
    ttfts[sliceAt(start + detail.ttfts.at(i))]?.push(detail.ttfts.at(i) * 1000);
    addTokens(tokens, detail, i, start, sliceAt, sliceS);
  }
  const sorted = ttfts.map((values) => Float64Array.from(values).sort());
  return {
    sliceS,
    inFlight: inFlight(detail, t0, sliceAt),
    tokensPerS: tokens.map((count) => count / sliceS),
    medianTtftMs: Float64Array.from(sorted, (values) => percentileOf(values, 50)),
    maxTtftMs: Float64Array.from(sorted, (values) => percentileOf(values, 100)),
    errors,
  };
}

/** Each frame counts as its answer's tokens / its frames; where gaps were not kept, tokens come evenly. */
function addTokens(
  tokens: Float64Array,
  detail: DetailViews,
  i: number,
  start: number,
  sliceAt: (s: number) => number,
  sliceS: number,
): void {
  const count = detail.outputLens.at(i);
  const add = (slice: number, more: number): void => {
    tokens[slice] = (tokens[slice] as number) + more;
  };
  let at = start + detail.ttfts.at(i);
  const gaps = detail.itls?.at(i);
  if (gaps !== undefined) {
    const each = count / (gaps.length + 1);
    add(sliceAt(at), each);
    for (const gap of gaps) {
      at += gap;
      add(sliceAt(at), each);
    }
    return;
  }
  const end = start + detail.latencies.at(i);
  if (!(end > at)) {
    add(sliceAt(at), count);
    return;
  }
  for (let slice = sliceAt(at); slice <= sliceAt(end); slice++) {
    const overlap = Math.min(end, (slice + 1) * sliceS) - Math.max(at, slice * sliceS);
    add(slice, (count * Math.max(0, overlap)) / (end - at));
  }
}

function inFlight(detail: DetailViews, t0: number, sliceAt: (s: number) => number): Float64Array {
  const n = detail.startTimes.length;
  const changes = new Float64Array(n * 2);
  for (let i = 0; i < n; i++) {
    const start = detail.startTimes.at(i) - t0;
    changes[2 * i] = start;
    changes[2 * i + 1] = start + takenOf(detail, i);
  }
  const order = Uint32Array.from(changes, (_, k) => k);
  // At one moment ends come first: a place is taken again as soon as it is free.
  order.sort((a, b) => (changes[a] as number) - (changes[b] as number) || (b & 1) - (a & 1));
  const most = new Float64Array(SLICES);
  let now = 0;
  let slice = 0;
  for (const k of order) {
    const to = sliceAt(changes[k] as number);
    for (; slice < to; slice++) most[slice + 1] = Math.max(0, now);
    now += (k & 1) === 0 ? 1 : -1;
    most[to] = Math.max(most[to] as number, now);
  }
  return most;
}

/** The timeline as a chart of panels, that of the errors where there are any, with the steady windows shaded. */
export function timelineChart(
  line: Timeline,
  windows: readonly { readonly fromS: number; readonly toS: number }[],
): XyChart {
  const points = (values: Float64Array): Point[] =>
    Array.from(
      values,
      (value, k): Point => [rounded((k + 0.5) * line.sliceS), Number.isNaN(value) ? null : rounded(value)],
    );
  return {
    type: 'xy',
    x: { name: 'seconds since the first request was sent', kind: 's', min: 0, max: rounded(line.sliceS * SLICES) },
    canZoom: true,
    bands: windows.map(({ fromS, toS }) => ({ from: fromS, to: toS, label: 'steady' })),
    panels: [
      {
        y: { name: 'in flight', kind: 'count', min: 0 },
        series: [{ name: 'requests in flight (most)', shape: 'step', points: points(line.inFlight) }],
      },
      {
        y: { name: 'tokens/s', kind: 'rate', min: 0 },
        series: [{ name: 'output tokens/s', shape: 'area', points: points(line.tokensPerS) }],
      },
      {
        y: { name: 'TTFT, ms', kind: 'ms', min: 0 },
        series: [
          { name: 'TTFT, median', shape: 'points', points: points(line.medianTtftMs) },
          { name: 'TTFT, longest', shape: 'points', points: points(line.maxTtftMs) },
        ],
      },
      ...(line.errors.some((count) => count > 0)
        ? [
            {
              y: { name: 'errors', kind: 'count' as const, min: 0 },
              series: [{ name: 'failed requests', shape: 'bars' as const, points: points(line.errors) }],
            },
          ]
        : []),
    ],
  };
}

/** The rows of the waterfall in order of sending: all requests, or the extremes and others at equal distances. */
export function waterfallRows(detail: DetailViews): WaterfallRow[] {
  const t0 = firstStart(detail);
  return [...chosenRows(detail, ROWS)]
    .sort((a, b) => detail.startTimes.at(a) - detail.startTimes.at(b) || a - b)
    .map((i) => {
      const sent = detail.startTimes.at(i) - t0;
      const isFailed = !detail.successes.at(i);
      const first = isFailed ? sent : sent + detail.ttfts.at(i);
      const queue = detail.serverQueueTimes?.at(i) ?? 0;
      const queued = Math.min(first, sent + (Number.isNaN(queue) ? 0 : Math.max(0, queue)));
      const times = [sent - Math.max(0, detail.queueTimes.at(i)), sent, queued, first, sent + takenOf(detail, i)];
      return [i, ...(times.map(rounded) as [number, number, number, number, number]), isFailed ? 1 : 0];
    });
}

/** Rows of the table that says what the timeline draws. */
const TABLE_ROWS = 24;

/** The timeline in few rows, each with the extremes of its slices. */
export function timelineTable(line: Timeline): PageTable {
  const each = SLICES / TABLE_ROWS;
  const known = (values: Float64Array): number[] => [...values].filter((value) => !Number.isNaN(value));
  const most = (values: Float64Array): number | null =>
    known(values).length === 0 ? null : Math.max(...known(values));
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
  return {
    caption: 'Timeline in rows',
    columns: ['from, s', 'in flight, most', 'tokens/s', 'TTFT longest, ms', 'failed'],
    rows: Array.from({ length: TABLE_ROWS }, (_, k) => {
      const part = (values: Float64Array): Float64Array => values.subarray(k * each, (k + 1) * each);
      return [
        (k * each * line.sliceS).toFixed(2),
        { value: most(part(line.inFlight)), digits: 0 },
        { value: sum(part(line.tokensPerS)) / each, digits: 1 },
        { value: most(part(line.maxTtftMs)), digits: 1 },
        { value: sum(part(line.errors)), digits: 0 },
      ];
    }),
  };
}

/** Requests in the table that stands for the waterfall. */
const SLOWEST = 25;

/** The requests that took longest. */
export function slowestTable(rows: readonly WaterfallRow[]): PageTable {
  const taken = ([, , sent, , , end]: WaterfallRow): number => end - sent;
  const ms = (seconds: number): Cell => ({ value: seconds * 1000, digits: 1 });
  return {
    caption: rows.length > SLOWEST ? `The ${SLOWEST} slowest requests` : 'All requests, the slowest first',
    columns: ['request', 'sent at, s', 'server queue, ms', 'to first token, ms', 'answer, ms', 'all, ms', ''],
    rows: [...rows]
      .sort((a, b) => taken(b) - taken(a))
      .slice(0, SLOWEST)
      .map((row) => {
        const [index, , sent, queued, first, end, failed] = row;
        const none: Cell = { value: null, digits: 1 };
        return [
          String(index),
          { value: sent, digits: 3 },
          failed === 1 ? none : ms(queued - sent),
          failed === 1 ? none : ms(first - sent),
          failed === 1 ? none : ms(end - first),
          ms(taken(row)),
          failed === 1 ? 'failed' : '',
        ];
      }),
  };
}
