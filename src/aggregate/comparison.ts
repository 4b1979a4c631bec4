/** Two results side by side: what may be compared, and how each figure differs. */
import { LATENCY_METRICS, RATE_METRICS } from '../metrics.ts';
import { relativeInterval, type Sampled, type Taken } from './bootstrap.ts';
import { healthOf } from './quality-input.ts';

/** A figure of two runs. */
export interface Difference {
  /** Key in the result. */
  readonly key: string;
  readonly a: number;
  readonly b: number;
  /** (b − a) / a; null when a is 0. */
  readonly relative: number | null;
  /** 95 % interval of it; null where there are no values per request. */
  readonly interval: readonly [number, number] | null;
  readonly lowerIsBetter: boolean;
  readonly verdict: Verdict;
}

/** `same`: surely within the margin. `unclear`: the interval holds zero. `blurred`: a client was late by as much. `unknown`: there is no interval to judge by. */
export type Verdict = 'better' | 'worse' | 'same' | 'unclear' | 'blurred' | 'unknown';

type Json = Readonly<Record<string, unknown>>;
type SeriesByKey = Readonly<Record<string, Sampled>>;

/** Keys that say what was measured, and how they are called. */
const MUST_AGREE: readonly (readonly [key: string, name: string])[] = [
  ['model_id', 'model'],
  ['max_concurrency', 'concurrency'],
  ['request_rate', 'request rate'],
  ['num_prompts', 'number of prompts'],
];
/** Token counts may differ by this share: answers that end by themselves are never quite as long. */
const LENGTH_TOLERANCE = 0.02;

/** Why two results are not comparable, one reason each. */
export function objections(a: Json, b: Json): string[] {
  const reasons = MUST_AGREE.flatMap(([key, name]) => {
    const [x, y] = [a[key] ?? null, b[key] ?? null];
    return JSON.stringify(x) === JSON.stringify(y) ? [] : [`${name}: ${String(x)} and ${String(y)}`];
  });
  const [samplesA, samplesB] = [a, b].map((result) => (result['tabby_load'] as Json | undefined)?.['samples_sha256']);
  if (samplesA !== undefined && samplesB !== undefined && samplesA !== samplesB)
    reasons.push('samples: other prompts or lengths');
  for (const [key, name] of [
    ['total_input_tokens', 'prompt tokens'],
    ['total_output_tokens', 'output tokens'],
  ] as const) {
    // Failed requests have no tokens: compare what each answered request had.
    const [x, y] = [a, b].map((result) => Number(result[key]) / Math.max(1, Number(result['completed'])));
    if (Math.abs((y as number) - (x as number)) > LENGTH_TOLERANCE * (x as number)) {
      reasons.push(`${name} per request: ${(x as number).toFixed(1)} and ${(y as number).toFixed(1)}`);
    }
  }
  return reasons;
}

/**
 * Share by which two runs of one load differ in what stays the same within a run (timers, the pace of the machine): a bootstrap over the
 * requests of a run cannot see it, and gaps that hardly vary would otherwise have intervals narrower than that.
 */
const BETWEEN_RUNS = 0.001;

/** Latencies that begin at the sending. */
const FROM_SEND = /_(ttft|e2el)_ms$/;

/** Statistics of a latency that have an interval, with their name in the key. */
const STATISTICS: readonly (readonly [name: string, taken: Taken])[] = [
  ['mean', 'mean'],
  ['median', 50],
  ['p99', 99],
];

/**
 * What the clients could tell at all, ms: the 99th percentile of the delay of their loops. Times to the first token are as much too long at
 * worst; gaps are not, as what delays one frame delays the next as well.
 */
function clientDelayMs(results: readonly Json[]): number {
  const delays = results.flatMap((result) =>
    (healthOf((result['tabby_load'] as Json | undefined)?.['client_health'])?.workers ?? []).map(
      ({ loopP99Ms }) => loopP99Ms,
    ),
  );
  return Math.max(0, ...delays);
}

/** All figures that both have, in the order of the catalogue. `margin`: share below which a difference is none. */
export function differences(
  a: { readonly result: Json; readonly series: SeriesByKey | null },
  b: { readonly result: Json; readonly series: SeriesByKey | null },
  margin: number,
): Difference[] {
  const delayMs = clientDelayMs([a.result, b.result]);
  const paired = isPaired(a, b);
  const concurrency = a.result['max_concurrency'];
  const together = typeof concurrency === 'number' ? concurrency : 1;
  const rates = RATE_METRICS.filter(({ key }) => key !== 'duration').map(({ key, lowerIsBetter }) => ({
    key,
    lowerIsBetter,
    interval: null as Difference['interval'],
  }));
  const latencies = LATENCY_METRICS.flatMap(({ key: metric }) =>
    STATISTICS.map(([name, taken]) => {
      const [x, y] = [a.series?.[metric], b.series?.[metric]];
      // Gaps are pooled over requests: only their mean can be drawn again by request.
      const has = x !== undefined && y !== undefined && (x.weights === null || taken === 'mean');
      const isPairedHere = paired && x?.values.length === y?.values.length;
      return {
        key: `${name}_${metric}_ms`,
        lowerIsBetter: true,
        interval: has ? widened(relativeInterval(x, y, taken, isPairedHere, together)) : null,
      };
    }),
  );
  return [...rates, ...latencies].flatMap(({ key, lowerIsBetter, interval }) => {
    const [x, y] = [a.result[key], b.result[key]];
    if (typeof x !== 'number' || typeof y !== 'number') return [];
    const relative = x === 0 ? null : (y - x) / x;
    const verdict = verdictOf(relative, interval, margin, lowerIsBetter);
    // A client that was late by so much cannot tell such a difference.
    const isTold = verdict !== 'better' && verdict !== 'worse';
    const judged = !isTold && FROM_SEND.test(key) && Math.abs(y - x) <= delayMs ? 'blurred' : verdict;
    return [
      {
        key,
        a: x,
        b: y,
        relative,
        interval,
        lowerIsBetter,
        verdict: judged,
      },
    ];
  });
}

/** An interval with the variation between runs added to both sides. */
function widened(interval: Difference['interval']): Difference['interval'] {
  return interval === null ? null : [interval[0] - BETWEEN_RUNS, interval[1] + BETWEEN_RUNS];
}

/** The same samples, all of them answered: request k of both is the same. */
function isPaired(a: { readonly result: Json }, b: { readonly result: Json }): boolean {
  const [x, y] = [a, b].map(({ result }) => (result['tabby_load'] as Json | undefined)?.['samples_sha256']);
  return x !== undefined && x === y && a.result['failed'] === 0 && b.result['failed'] === 0;
}

function verdictOf(
  relative: number | null,
  interval: Difference['interval'],
  margin: number,
  lowerIsBetter: boolean,
): Verdict {
  if (relative === null || interval === null) return 'unknown';
  const [low, high] = interval;
  if (low > -margin && high < margin) return 'same';
  if (low <= 0 && high >= 0) return 'unclear';
  return relative < 0 === lowerIsBetter ? 'better' : 'worse';
}
