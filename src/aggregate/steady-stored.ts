/** The steady-state window of a run whose requests are kept: exact, but for what hangs on gaps that are not. */
import { HistogramSet } from './histogram.ts';
import { RunningSeries } from './running.ts';
import { exactSeries, runningSeries } from './series.ts';
import type { SteadySegments } from './steady-segments.ts';
import { findWindow, type InFlight, type Level, partsOf, type SteadyWindow } from './steady-window.ts';
import type { RequestStore } from './store.ts';
import type { SeriesSummary, SteadyFigures, SteadySeriesKey, SteadySummary } from './summary.ts';

/** What counts as the same moment, in seconds: sums of doubles that should be equal differ in their last digits. */
const SAME_S = 1e-6;

/** Positions [from, to) of the requests of one run. */
type Range = readonly [from: number, to: number];

/** A window and the requests it is of. */
interface Part {
  readonly range: Range;
  readonly level: number;
  readonly originS: number;
  readonly window: SteadyWindow;
}

/**
 * The windows and their figures.
 * @param ranges the run, or its repeats, each of which has a window of its own; their figures are pooled
 * @param segments of the gaps, when those are not kept
 * @returns null when nothing was in flight
 */
export function steadyStored(
  store: RequestStore,
  ranges: readonly Range[],
  level: Level,
  segments: SteadySegments | null,
  percentiles: readonly number[],
): SteadySummary | null {
  const found = ranges.map((range) => windowIn(store, range, level)).filter(({ peak }) => peak > 0);
  if (found.length === 0) return null;
  const peak = Math.max(...found.map((each) => each.peak));
  const parts = found.flatMap(({ range, originS, level: requests, window }) =>
    window === null ? [] : [{ range, originS, level: requests, window }],
  );
  return {
    share: level.share,
    concurrency: level.of ?? peak,
    isObserved: level.of === null,
    level: Math.max(...found.map((each) => each.level)),
    peak,
    figures: parts.length === 0 ? null : figuresOf(store, parts, segments, percentiles),
  };
}

function windowIn(store: RequestStore, range: Range, level: Level): InFlight & Omit<Part, 'window' | 'level'> {
  const [from, to] = range;
  const starts = new Float64Array(to - from);
  const ends = new Float64Array(to - from);
  for (let at = from; at < to; at++) {
    starts[at - from] = store.row(at).start;
    ends[at - from] = store.overAt(at);
  }
  const found = findWindow(starts, ends, level);
  return { ...found, range, originS: starts[0] ?? 0 };
}

function figuresOf(
  store: RequestStore,
  parts: readonly Part[],
  segments: SteadySegments | null,
  percentiles: readonly number[],
): SteadyFigures {
  const sums = { lengthS: 0, atLevelS: 0, completed: 0, failed: 0, requests: 0, inputTokens: 0, outputTokens: 0 };
  const sent: number[] = [];
  const partTokens: number[] = [];
  for (const part of parts) {
    const before = sums.completed + sums.failed;
    sums.lengthS += part.window.toS - part.window.fromS;
    sums.atLevelS += part.window.atLevelS;
    for (let at = part.range[0]; at < part.range[1]; at++) {
      addRequest(store, at, part.window, sums);
      const { start } = store.row(at);
      const isIn = start >= part.window.fromS - SAME_S && start < part.window.toS - SAME_S;
      if (isIn && store.isSuccess(at)) sent.push(at);
    }
    partTokens.push(...tokensByPart(store, part, partsOf(sums.completed + sums.failed - before, part.level)));
  }
  return {
    ...sums,
    windows: parts.map(({ window, originS }) => ({ fromS: window.fromS - originS, toS: window.toS - originS })),
    started: sent.length,
    partTokens,
    series: seriesOf(store, sent, parts, segments, percentiles),
    precision: store.gapsKept || segments === null ? null : { sliceS: null, segmentS: segments.segmentS },
  };
}

type Sums = { completed: number; failed: number; requests: number; inputTokens: number; outputTokens: number };

/** What one request adds to the amounts of a window. */
function addRequest(store: RequestStore, at: number, { fromS, toS }: SteadyWindow, sums: Sums): void {
  const { start } = store.row(at);
  const over = store.overAt(at);
  if (over <= fromS || start >= toS || over <= start) return;
  const endsWithin = over <= toS + SAME_S;
  if (!store.isSuccess(at)) {
    if (endsWithin) sums.failed++;
    return;
  }
  if (endsWithin) sums.completed++;
  const share = (Math.min(over, toS) - Math.max(start, fromS)) / (over - start);
  sums.requests += share;
  sums.inputTokens += share * store.promptLen(at);
  sums.outputTokens += tokensWithin(store, at, fromS, toS);
}

/** Output tokens of a request that came in (fromS, toS]: by its frames, or evenly over its time where those are not kept. */
function tokensWithin(store: RequestStore, at: number, fromS: number, toS: number): number {
  const { start, ttft, latency, tokens } = store.row(at);
  const [first, last] = [start + ttft, start + latency];
  if (first > fromS && last <= toS + SAME_S) return tokens;
  if (!store.gapsKept) {
    if (last <= first) return first > fromS && first <= toS + SAME_S ? tokens : 0;
    return (tokens * Math.max(0, Math.min(last, toS) - Math.max(first, fromS))) / (last - first);
  }
  const gaps = store.gapsOf(at);
  let frames = 0;
  let time = first;
  for (let k = 0; k <= gaps.length; k++) {
    if (k > 0) time += gaps[k - 1] as number;
    if (time > fromS && time <= toS + SAME_S) frames++;
  }
  return (tokens * frames) / (gaps.length + 1);
}

/** Output tokens in so many equal parts of a window, each answer's spread evenly over its time in flight without the server's queue. */
function tokensByPart(store: RequestStore, { range, window }: Part, count: number): number[] {
  const lengthS = (window.toS - window.fromS) / count;
  const sums = new Array<number>(count).fill(0);
  for (let at = range[0]; at < range[1]; at++) {
    const { start, tokens } = store.row(at);
    const over = store.overAt(at);
    if (!store.isSuccess(at) || Number.isNaN(tokens) || over <= start) continue;
    const queued = store.own('server_queue_time', at);
    const begun = queued > 0 && start + queued < over ? start + queued : start;
    const [from, to] = [(begun - window.fromS) / lengthS, (over - window.fromS) / lengthS];
    for (let k = Math.max(0, Math.floor(from)); k < Math.min(count, to); k++) {
      const share = (Math.min(to, k + 1) - Math.max(from, k)) / (to - from);
      sums[k] = (sums[k] as number) + tokens * share;
    }
  }
  return sums;
}

function seriesOf(
  store: RequestStore,
  sent: readonly number[],
  parts: readonly Part[],
  segments: SteadySegments | null,
  percentiles: readonly number[],
): Record<SteadySeriesKey, SeriesSummary> {
  const of = (read: (row: ReturnType<RequestStore['row']>) => number): SeriesSummary => {
    const values = new Float64Array(sent.length);
    let filled = 0;
    for (const at of sent) {
      const value = read(store.row(at));
      if (!Number.isNaN(value)) values[filled++] = value;
    }
    return exactSeries(values.subarray(0, filled), percentiles);
  };
  return {
    ttft: of((r) => r.ttft),
    tpot: of((r) => (r.tokens > 1 ? (r.latency - r.ttft) / (r.tokens - 1) : Number.NaN)),
    ntpot: of((r) => (r.tokens > 0 ? r.latency / r.tokens : Number.NaN)),
    itl: store.gapsKept ? exactSeries(store.gapsAt(sent), percentiles) : segmentGaps(parts, segments, percentiles),
    e2el: of((r) => r.latency),
  };
}

function segmentGaps(
  parts: readonly Part[],
  segments: SteadySegments | null,
  percentiles: readonly number[],
): SeriesSummary {
  const within = new RunningSeries(new HistogramSet());
  for (const { window } of parts) segments?.collect(window.fromS, window.toS, within);
  const series = runningSeries('itl', within, percentiles);
  within.histograms.destroy();
  return series;
}
