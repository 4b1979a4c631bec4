/**
 * The steady-state window of a run whose values are not kept: found at the borders of {@link SteadySlices}, with the series of
 * {@link SteadySegments}. Output tokens count as if they came evenly between the first and the last token frame of their answer.
 */
import { OWN_METRICS } from '../metrics.ts';
import { HistogramSet } from './histogram.ts';
import { RunningSeries } from './running.ts';
import { runningSeries } from './series.ts';
import { SteadySegments } from './steady-segments.ts';
import { SteadySlices, type Stretch } from './steady-slices.ts';
import { type Level, levelOf, partsOf } from './steady-window.ts';
import type { SeriesSummary, SteadySeriesKey, SteadySummary } from './summary.ts';

/** Series of a window, in the order in which they are reported. */
export const STEADY_KEYS: readonly SteadySeriesKey[] = [
  'ttft',
  'tpot',
  ...OWN_METRICS.map(({ key }) => key),
  'itl',
  'e2el',
];

/** A successful request whose tokens are known. Seconds. */
export interface TokensOf {
  readonly start: number;
  readonly ttft: number;
  readonly latency: number;
  readonly tokens: number;
}

export class SteadyRunning {
  readonly #slices = new SteadySlices();
  readonly segments = new SteadySegments();

  /** Gaps of a successful request. */
  addGaps(startS: number, gaps: ArrayLike<number>): void {
    if (gaps.length > 0) this.segments.at(startS).addAll('itl', gaps);
  }

  /**
   * A request, as far as its tokens do not matter.
   * @param overS when it was no longer in flight
   */
  addRequest(
    { start, ttft, latency }: Omit<TokensOf, 'tokens'>,
    overS: number,
    success: boolean,
    promptLen: number,
  ): void {
    this.#slices.addRequest(start, overS, success, promptLen);
    if (!success) return;
    const segment = this.segments.at(start);
    segment.add('ttft', ttft);
    segment.add('e2el', latency);
  }

  addTokens({ start, ttft, latency, tokens }: TokensOf): void {
    if (tokens <= 0) return;
    this.#slices.addTokens(start + ttft, start + latency, tokens);
    const segment = this.segments.at(start);
    if (tokens > 1) segment.add('tpot', (latency - ttft) / (tokens - 1));
    segment.add('ntpot', latency / tokens);
  }

  /**
   * The window and its figures.
   * @param originS start of the first request
   */
  summary(level: Level, originS: number, percentiles: readonly number[]): SteadySummary | null {
    const stretches = [...this.#slices.stretches()];
    const peak = stretches.reduce((most, { inFlight }) => Math.max(most, inFlight), 0);
    if (peak === 0) return null;
    const requests = levelOf(level, peak);
    const base = { share: level.share, concurrency: level.of ?? peak, isObserved: level.of === null, level: requests };
    const window = windowOf(stretches, requests);
    if (window === null) return { ...base, peak, figures: null };
    const [before, after] = [this.#slices.upTo(window.fromS), this.#slices.upTo(window.toS)];
    const grown = (key: keyof typeof after) => after[key] - before[key];
    return {
      ...base,
      peak,
      figures: {
        windows: [{ fromS: window.fromS - originS, toS: window.toS - originS }],
        lengthS: window.toS - window.fromS,
        atLevelS: window.atLevelS,
        started: grown('started'),
        completed: grown('completed'),
        failed: grown('failed'),
        requests: grown('requests'),
        inputTokens: grown('inputTokens'),
        outputTokens: grown('tokens'),
        partTokens: this.#parts(window, partsOf(grown('completed') + grown('failed'), requests)),
        series: this.#series(window, percentiles),
        precision: { sliceS: this.#slices.sliceS, segmentS: this.segments.segmentS },
      },
    };
  }

  /** In so many equal parts of the window, each to the next border of a slice; of an answer only first and last frame are known here. */
  #parts({ fromS, toS }: Stretches, count: number): number[] {
    const upTo = Array.from(
      { length: count + 1 },
      (_, k) => this.#slices.upTo(fromS + ((toS - fromS) * k) / count).tokens,
    );
    return upTo.slice(1).map((tokens, k) => tokens - (upTo[k] as number));
  }

  #series(window: Stretches, percentiles: readonly number[]): Record<SteadySeriesKey, SeriesSummary> {
    const within = new RunningSeries(new HistogramSet());
    this.segments.collect(window.fromS, window.toS, within);
    const series = STEADY_KEYS.map((key) => [key, runningSeries(key, within, percentiles)]);
    within.histograms.destroy();
    return Object.fromEntries(series) as Record<SteadySeriesKey, SeriesSummary>;
  }
}

/** From the first border at the level to the last. */
interface Stretches {
  readonly fromS: number;
  readonly toS: number;
  readonly atLevelS: number;
}

function windowOf(stretches: readonly Stretch[], level: number): Stretches | null {
  let fromS = Number.NaN;
  let toS = Number.NaN;
  let atLevelS = 0;
  let wasAtLevel = false;
  for (const stretch of stretches) {
    const isAtLevel = stretch.inFlight >= level;
    if (isAtLevel) {
      if (Number.isNaN(fromS)) fromS = stretch.fromS;
      // The slice between two borders at the level belongs to them.
      atLevelS += stretch.toS - (wasAtLevel ? toS : stretch.fromS);
      toS = stretch.toS;
    }
    wasAtLevel = isAtLevel;
  }
  return toS > fromS ? { fromS, toS, atLevelS } : null;
}
