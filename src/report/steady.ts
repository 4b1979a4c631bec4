/**
 * The steady-state window in the report: block, lines and warnings. Throughput is told twice. By time: each answer counts by the share of
 * its time in flight that lies within the window, so that `request_throughput` is concurrency / mean E2EL whatever happens to
 * end at its edges. By count: answers that ended within, as vLLM's Rust client has it (`completed_throughput`), which in a
 * short window is too low by up to a round of answers.
 */
import type { RunSummary, SeriesSummary, SteadyFigures } from '../aggregate/summary.ts';
import { seriesBlock } from './series-block.ts';
import type { ReportSettings } from './settings.ts';
import type { Warning } from './warnings.ts';

/** Shortest window that says something, where nothing else was asked for, as in vLLM's Rust client: so long, or this share of the run. */
const MIN_WINDOW_S = 10;
const MIN_WINDOW_SHARE = 0.1;

/** The block `steady_state`; undefined where it was not asked for or nothing was in flight. */
export function steadyBlock(summary: RunSummary, settings: ReportSettings): Record<string, unknown> | undefined {
  const { steady } = summary;
  if (steady === null) return undefined;
  const { figures } = steady;
  return {
    reached: figures !== null,
    threshold: steady.share,
    concurrency: steady.concurrency,
    concurrency_is: steady.isObserved ? 'observed' : 'asked',
    min_in_flight: steady.level,
    peak_in_flight: steady.peak,
    ...(figures === null ? {} : figuresBlock(figures, summary, settings)),
  };
}

function figuresBlock(figures: SteadyFigures, summary: RunSummary, settings: ReportSettings): Record<string, unknown> {
  const { lengthS, windows, series, precision } = figures;
  const places = windows.map(({ fromS, toS }) => ({ start_s: fromS, end_s: toS }));
  const minS = minWindowS(summary, settings);
  return {
    ...(places.length === 1 ? places[0] : { windows: places }),
    duration_s: lengthS,
    share_of_run: shareOfRun(figures, summary),
    share_at_level: figures.atLevelS / lengthS,
    min_window_s: minS,
    short: lengthS < minS,
    requests_started: figures.started,
    requests_completed: figures.completed,
    requests_failed: figures.failed,
    request_throughput: figures.requests / lengthS,
    completed_throughput: figures.completed / lengthS,
    input_throughput: figures.inputTokens / lengthS,
    output_throughput: figures.outputTokens / lengthS,
    total_token_throughput: (figures.inputTokens + figures.outputTokens) / lengthS,
    output_tokens: figures.outputTokens,
    ...Object.fromEntries(
      Object.entries(series).flatMap(([key, of]) => (of.count === 0 ? [] : [[key, seriesBlock(of)]])),
    ),
    ...(precision === null
      ? {}
      : {
          precision: {
            ...(precision.sliceS === null ? {} : { slice_s: precision.sliceS }),
            segment_s: precision.segmentS,
          },
        }),
  };
}

/** Lines for the terminal: where a concurrency was asked for and reached. */
export function steadyLines(summary: RunSummary): string[] {
  const { steady } = summary;
  if (steady === null || steady.isObserved || steady.figures === null) return [];
  const { figures, level, concurrency } = steady;
  const { lengthS, series } = figures;
  const share = percent(shareOfRun(figures, summary));
  const atLevel = figures.atLevelS / lengthS;
  const inFlight =
    level >= concurrency ? `all ${whole(concurrency)}` : `${whole(level)} or more of ${whole(concurrency)} requests`;
  const sagged = atLevel < 0.9 ? ` (${percent(atLevel)} of that time)` : '';
  const of = (label: string, { meanMs, percentilesMs }: SeriesSummary, digits: number) =>
    `${label} mean ${meanMs.toFixed(digits)}, p99 ${(percentilesMs.get(99) ?? 0).toFixed(digits)} ms`;
  const latencies = [
    ['TTFT', series.ttft, 1],
    ['TPOT', series.tpot, 2],
    ['E2EL', series.e2el, 1],
  ] as const;
  const told = latencies.filter(([, { count }]) => count > 0).map(([label, one, digits]) => of(label, one, digits));
  return [
    `steady state: ${lengthS.toFixed(1)} s (${share} of the run) with ${inFlight} in flight${sagged}: ` +
      `${(figures.requests / lengthS).toFixed(2)} req/s, ${(figures.outputTokens / lengthS).toFixed(1)} output tok/s` +
      told.map((words) => `; ${words}`).join(''),
  ];
}

/**
 * Warnings, for closed loops alone: in an open loop the number in flight is the server's doing, and without a concurrency nobody meant
 * it to last.
 * @param known codes of other warnings, one of which may say the same
 */
export function steadyFindings(summary: RunSummary, settings: ReportSettings, known: readonly string[]): Warning[] {
  const { steady, completed } = summary;
  if (steady === null || steady.isObserved || settings.isOpenLoop || completed === 0) return [];
  const { figures, level, concurrency, peak } = steady;
  if (figures === null) {
    // Of a killed run those in flight at its end have no records: how many there were is not known.
    if (known.includes('client_in_flight_low') || known.includes('record_no_end')) return [];
    return [{ code: 'steady_state_none', facts: { peak, concurrency, level, requests: completed + summary.failed } }];
  }
  const minS = minWindowS(summary, settings);
  if (figures.lengthS >= minS) return [];
  const facts = { duration_s: figures.lengthS, min_window_s: minS, share_of_run: shareOfRun(figures, summary) };
  return [{ code: 'steady_state_short', facts }];
}

function minWindowS({ durationS }: RunSummary, { steadyState }: ReportSettings): number {
  return steadyState?.minWindowS ?? Math.max(MIN_WINDOW_S, MIN_WINDOW_SHARE * durationS);
}

function shareOfRun({ lengthS }: SteadyFigures, { durationS }: RunSummary): number {
  return durationS > 0 ? Math.min(1, lengthS / durationS) : 0;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function whole(value: number): string {
  return value.toLocaleString('en-US');
}
