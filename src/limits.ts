/**
 * Limits of `--slo`: their grammar. `METRIC [STATISTIC] OPERATOR VALUE`, e.g. `ttft p99 < 500ms`, `tpot p95 < 40ms`, `errors < 1%`,
 * `output_throughput > 2000`. Metrics are those of the catalogue, latencies with a statistic, and the keys of vLLM's result that join the
 * two (`p99_ttft_ms < 500`).
 */
import { LATENCY_METRICS, OWN_METRICS, OWN_SERIES_KEYS, RATE_METRICS } from './metrics.ts';

/** What is taken over the values of a latency metric; a number is a percentile. */
export type Statistic = 'mean' | 'median' | 'std' | 'min' | 'max' | number;

/** One limit. Bounds of latencies in ms, of shares 0 to 1. */
export interface Limit {
  /** As the user wrote it, with single spaces. */
  readonly text: string;
  /** Key in the catalogue. */
  readonly metric: string;
  /** Null for figures of the whole run. */
  readonly statistic: Statistic | null;
  readonly operator: '<' | '<=' | '>' | '>=';
  readonly bound: number;
  readonly unit: 'ms' | 'share' | 'plain';
}

/** A limit that cannot be read: the text after the limit itself. */
export class BadLimit extends Error {}

const LATENCIES: readonly string[] = [
  ...[...LATENCY_METRICS, ...OWN_METRICS].map(({ key }) => key),
  ...OWN_SERIES_KEYS,
];
const RATES: readonly string[] = RATE_METRICS.map(({ key }) => key);
/** Short names. */
const ALIASES: Readonly<Record<string, string>> = {
  errors: 'error_rate',
  goodput: 'request_goodput',
  throughput: 'output_throughput',
  queue: 'client_queue_time',
  server_queue: 'server_queue_time',
  e2e: 'e2el',
  latency: 'e2el',
};
const NAMED: Readonly<Record<string, Statistic>> = {
  mean: 'mean',
  avg: 'mean',
  median: 'median',
  std: 'std',
  min: 'min',
  max: 'max',
};
const SHAPE = /^\s*([a-z0-9_.]+)(?:\s+([a-z0-9.]+))?\s*(<=|>=|<|>)\s*([0-9.]+(?:e[+-]?\d+)?)\s*(us|µs|ms|s|%)?\s*$/i;
const MS: Readonly<Record<string, number>> = { us: 0.001, µs: 0.001, ms: 1, s: 1000 };

/** All names that a limit may have. */
export const LIMIT_METRICS: readonly string[] = [...LATENCIES, ...RATES, ...Object.keys(ALIASES)];

/**
 * Reads a limit.
 * @throws BadLimit
 */
export function parseLimit(text: string): Limit {
  const [, name, word, operator, digits, suffix] = SHAPE.exec(text) ?? [];
  if (name === undefined || operator === undefined || digits === undefined) {
    throw new BadLimit('is not METRIC [STATISTIC] < VALUE, such as "ttft p99 < 500ms" or "errors < 1%"');
  }
  const { metric, statistic } = target(name.toLowerCase().replaceAll('-', '_'), word?.toLowerCase());
  const value = Number(digits);
  if (!Number.isFinite(value)) throw new BadLimit(`has no number: ${digits}`);
  const unit = statistic !== null || metric === 'duration' ? 'ms' : metric === 'error_rate' ? 'share' : 'plain';
  return {
    text: text.trim().replace(/\s+/g, ' '),
    metric,
    statistic,
    operator: operator as Limit['operator'],
    bound: inUnit(value, suffix?.toLowerCase(), unit),
    unit,
  };
}

/** `ttft p99`, or `p99_ttft_ms` as in vLLM's result, or a figure of the whole run. */
function target(name: string, word: string | undefined): Pick<Limit, 'metric' | 'statistic'> {
  const joined = /^(mean|median|std|p\d+(?:\.\d+)?)_(.+)_ms$/.exec(name);
  if (joined !== null && word === undefined) return target(joined[2] as string, joined[1]);
  const metric = ALIASES[name] ?? name;
  if (RATES.includes(metric)) {
    if (word !== undefined) throw new BadLimit(`${metric} is one figure of the whole run: leave "${word}" out`);
    return { metric, statistic: null };
  }
  if (!LATENCIES.includes(metric)) throw new UnknownMetric(name);
  if (word === undefined)
    throw new BadLimit(`which one of all values? Say ${metric} p99, ${metric} mean or ${metric} max`);
  const percentile = /^p(\d+(?:\.\d+)?)$/.exec(word)?.[1];
  if (percentile === undefined && NAMED[word] === undefined) {
    throw new BadLimit(`"${word}" is no statistic; there are ${Object.keys(NAMED).join(', ')} and p0 to p100`);
  }
  const statistic = percentile === undefined ? (NAMED[word] as Statistic) : Number(percentile);
  if (typeof statistic === 'number' && statistic > 100) throw new BadLimit(`there is no percentile ${statistic}`);
  return { metric, statistic };
}

/** A metric that is not in the catalogue. */
export class UnknownMetric extends BadLimit {
  readonly metric: string;

  constructor(metric: string) {
    super(`"${metric}" is no metric`);
    this.metric = metric;
  }
}

function inUnit(value: number, suffix: string | undefined, unit: Limit['unit']): number {
  if (unit === 'ms') {
    if (suffix === '%') throw new BadLimit('a time cannot be given in %');
    return value * (MS[suffix ?? 'ms'] as number);
  }
  if (suffix === '%' && unit === 'share') return value / 100;
  if (suffix !== undefined) throw new BadLimit(`a value in ${suffix} makes no sense here`);
  return value;
}

/** Is the limit kept by this value? */
export function isKept({ operator, bound }: Limit, value: number): boolean {
  if (operator === '<') return value < bound;
  if (operator === '<=') return value <= bound;
  return operator === '>' ? value > bound : value >= bound;
}

/** A value or a bound as people read it. */
export function shownValue({ unit }: Pick<Limit, 'unit'>, value: number): string {
  if (unit === 'share') return `${Number((value * 100).toPrecision(4))} %`;
  const digits = Number(value.toPrecision(value >= 1000 ? 6 : 4));
  return unit === 'ms' ? `${digits} ms` : `${digits}`;
}
