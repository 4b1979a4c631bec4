/**
 * The one catalogue of metrics: each is declared once, and console table, result JSON, histograms, comparisons and limits
 * (`--slo`, `--goodput`) take key, label, unit and direction from here. Formulas are those of `vllm bench serve` 0.30.0, so that
 * figures can be laid side by side.
 */

/** Keys of the latency metrics, in the order in which vLLM prints them. */
export type LatencyKey = 'ttft' | 'tpot' | 'itl' | 'e2el' | 'client_queue_time' | 'e2el_including_client_queue';

/** A latency metric: one series of values in seconds, reported in milliseconds. Lower is better. */
export interface LatencyMetric {
  readonly key: LatencyKey;
  /** Short name in tables, as vLLM prints it. */
  readonly label: string;
  /** Heading of its block in vLLM's table. */
  readonly header: string;
  readonly unit: 'ms';
  readonly lowerIsBetter: true;
  /** How each value is made, for `--help` and reports. */
  readonly formula: string;
  /** One value per what. */
  readonly per: 'request' | 'gap';
  /**
   * When vLLM reports it, beyond being selected by `--percentile-metrics`: always; only for generation with a tokenizer; only with
   * `--max-concurrency`; only with `--max-concurrency` and a finite `--request-rate`.
   */
  readonly present: 'always' | 'generation' | 'concurrency' | 'concurrency_and_rate';
}

/**
 * All latency metrics in vLLM's order. The series hold successful requests only.
 *
 * - `ttft`: first token frame − send.
 * - `tpot`: (latency − ttft) / (tokens − 1), requests with more than one token only.
 * - `itl`: gap between two token frames, all gaps of all requests pooled. A frame is not a token: see `tokens_per_frame`.
 * - `e2el`: last token frame − send.
 * - `client_queue_time`: send − arrival, the wait for a free place under `--max-concurrency`.
 * - `e2el_including_client_queue`: e2el + client_queue_time.
 */
export const LATENCY_METRICS: readonly LatencyMetric[] = [
  latency('ttft', 'TTFT', 'Time to First Token', 'first token frame - send', 'request', 'generation'),
  latency(
    'tpot',
    'TPOT',
    'Time per Output Token (excl. 1st token)',
    '(last - first token frame) / (tokens - 1)',
    'request',
    'generation',
  ),
  latency('itl', 'ITL', 'Inter-token Latency', 'gap between two token frames', 'gap', 'generation'),
  latency('e2el', 'E2EL', 'End-to-end Latency', 'last token frame - send', 'request', 'always'),
  latency('client_queue_time', 'Client Queue Time', 'Client-side Queueing', 'send - arrival', 'request', 'concurrency'),
  latency(
    'e2el_including_client_queue',
    'E2EL incl. Client Queue',
    'Queue-inclusive End-to-end Latency',
    'last token frame - arrival',
    'request',
    'concurrency_and_rate',
  ),
];

/** Keys of the latency metrics that only tabby-load reports. */
export type OwnMetricKey = 'ntpot';

/** A latency metric of ours: reported under `tabby_load`, never among vLLM's keys. Lower is better. */
export interface OwnMetric {
  readonly key: OwnMetricKey;
  readonly label: string;
  readonly header: string;
  readonly unit: 'ms';
  readonly lowerIsBetter: true;
  readonly formula: string;
  readonly per: 'request';
}

/**
 * Latency metrics of ours. `ntpot`: e2el / output tokens, requests with at least one token. Unlike TPOT it holds the wait for the
 * first token, spread over the answer: what a token costs from the user's side, comparable between answers of any length.
 */
export const OWN_METRICS: readonly OwnMetric[] = [
  {
    key: 'ntpot',
    label: 'NTPOT',
    header: 'Normalised Time per Output Token',
    unit: 'ms',
    lowerIsBetter: true,
    formula: '(last token frame - send) / output tokens',
    per: 'request',
  },
];

/**
 * Further times of each request that the report shows: from usage (`server_…`), from when a request was due, to the first byte of any
 * kind, to the first token behind the reasoning, and the opening of a connection within a request.
 */
export const OWN_SERIES_KEYS = [
  'ttft_from_arrival',
  'first_byte',
  'first_answer',
  'server_prompt_time',
  'server_completion_time',
  'server_queue_time',
  'server_total_time',
  'connect',
] as const;

/** One of {@link OWN_SERIES_KEYS}. */
export type OwnSeriesKey = (typeof OWN_SERIES_KEYS)[number];

/** Metrics that a goodput limit (`--goodput KEY:MS`) may name, as in vLLM. */
export const GOODPUT_KEYS = ['ttft', 'tpot', 'e2el'] as const;

/** One of {@link GOODPUT_KEYS}. */
export type GoodputKey = (typeof GOODPUT_KEYS)[number];

/** vLLM's default of `--percentile-metrics` for generation and for pooling backends. */
export const DEFAULT_PERCENTILE_METRICS = { generation: 'ttft,tpot,itl', pooling: 'e2el' } as const;

/** vLLM's default of `--metric-percentiles`. */
export const DEFAULT_METRIC_PERCENTILES = '99';

/** A figure of the whole run that stands by itself in the result JSON. */
export interface RateMetric {
  /** Key in the result JSON. */
  readonly key: string;
  readonly label: string;
  readonly unit: 'req/s' | 'tok/s' | 'requests' | 's' | 'tokens' | 'ratio';
  readonly lowerIsBetter: boolean;
  readonly formula: string;
}

/** Throughput and counts of a run, under their keys in the result JSON. */
export const RATE_METRICS: readonly RateMetric[] = [
  rate('request_throughput', 'Request throughput', 'req/s', false, 'completed requests / duration'),
  rate('request_goodput', 'Request goodput', 'req/s', false, 'requests within every --goodput limit / duration'),
  rate(
    'output_throughput',
    'Output token throughput',
    'tok/s',
    false,
    'output tokens of completed requests / duration',
  ),
  rate('total_token_throughput', 'Total token throughput', 'tok/s', false, '(input + output tokens) / duration'),
  rate(
    'max_output_tokens_per_s',
    'Peak output token throughput',
    'tok/s',
    false,
    'most token frames in one second, counted from the earliest start',
  ),
  rate(
    'max_concurrent_requests',
    'Peak concurrent requests',
    'requests',
    false,
    'most requests that touch one second, counted from the earliest start',
  ),
  rate('error_rate', 'Failed requests', 'ratio', true, 'failed / (completed + failed)'),
  rate('duration', 'Benchmark duration', 's', true, 'first release to last end'),
];

const byKey = new Map(LATENCY_METRICS.map((metric) => [metric.key as string, metric]));

/** The latency metric of that key, or undefined. */
export function latencyMetric(key: string): LatencyMetric | undefined {
  return byKey.get(key);
}

function latency(
  key: LatencyKey,
  label: string,
  header: string,
  formula: string,
  per: LatencyMetric['per'],
  present: LatencyMetric['present'],
): LatencyMetric {
  return { key, label, header, unit: 'ms', lowerIsBetter: true, formula, per, present };
}

function rate(
  key: string,
  label: string,
  unit: RateMetric['unit'],
  lowerIsBetter: boolean,
  formula: string,
): RateMetric {
  return { key, label, unit, lowerIsBetter, formula };
}
