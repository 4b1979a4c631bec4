/**
 * What a report needs of a run's options: read from the options in a record header (vLLM's names in snake case), which other programs
 * may have written by hand, so lists may also be comma texts and numbers may be text.
 */
import type { GoodputLimits } from '../aggregate/collect.ts';
import { messageOf, usageError } from '../errors.ts';
import { type Limit, parseLimit } from '../limits.ts';
import { DEFAULT_METRIC_PERCENTILES, DEFAULT_PERCENTILE_METRICS, GOODPUT_KEYS, type GoodputKey } from '../metrics.ts';

/** The options that shape a result. */
export interface ReportSettings {
  readonly backend: string;
  /** Embeddings, pooling and rerank backends: no tokens are generated. */
  readonly pooling: boolean;
  readonly label: string | null;
  readonly modelId: string | null;
  /** Null with `--skip-tokenizer-init`. */
  readonly tokenizerId: string | null;
  /** False with `--skip-tokenizer-init`: no token rates and no ttft, tpot, itl then, as in vLLM. */
  readonly hasTokenizer: boolean;
  /** The flag, not the count; null when not known. */
  readonly numPrompts: number | null;
  readonly metadata: readonly (readonly [string, string])[];
  readonly requestRate: number;
  readonly burstiness: number;
  readonly maxConcurrency: number | null;
  readonly ramp: { readonly strategy: string; readonly startRps: unknown; readonly endRps: unknown } | null;
  /** As asked for, unknown names included. */
  readonly percentileMetrics: readonly string[];
  readonly percentiles: readonly number[];
  /** Null without `--goodput`. */
  readonly goodput: GoodputLimits | null;
  /** Limits of `--slo`. */
  readonly limits: readonly Limit[];
  readonly saveDetailed: boolean;
  readonly exactLength: boolean;
  /** Requests had times at which they were due: a finite rate, a ramp, or a trace. */
  readonly isOpenLoop: boolean;
  /** Null with `--no-steady-state`. */
  readonly steadyState: SteadySettings | null;
}

/** How the steady-state window is found and judged. */
export interface SteadySettings {
  /** `--steady-state-threshold`, 0 to 1. */
  readonly share: number;
  /** `--steady-state-min-window` in seconds; null: by the length of the run. */
  readonly minWindowS: number | null;
}

/** vLLM's backends that generate nothing. */
export const POOLING_BACKENDS: ReadonlySet<string> = new Set([
  'openai-embeddings',
  'openai-embeddings-chat',
  'openai-embeddings-clip',
  'openai-embeddings-vlm2vec',
  'infinity-embeddings',
  'infinity-embeddings-clip',
  'vllm-pooling',
  'vllm-rerank',
]);

/**
 * Reads the settings.
 * @throws usage errors for percentiles and goodput limits that make no sense
 */
export function settingsOf(options: Readonly<Record<string, unknown>>): ReportSettings {
  const backend = text(options['backend']) ?? text(options['endpoint_type']) ?? 'openai-chat';
  const pooling = POOLING_BACKENDS.has(backend);
  const hasTokenizer = options['skip_tokenizer_init'] !== true;
  const modelId = text(options['model']) ?? text(options['model_id']);
  const strategy = text(options['ramp_up_strategy']);
  const requestRate = number(options['request_rate']) ?? Number.POSITIVE_INFINITY;
  return {
    backend,
    pooling,
    label: text(options['label']),
    modelId,
    tokenizerId: hasTokenizer ? (text(options['tokenizer']) ?? text(options['tokenizer_id']) ?? modelId) : null,
    hasTokenizer,
    numPrompts: number(options['num_prompts']),
    metadata: metadataOf(options['metadata']),
    requestRate,
    burstiness: number(options['burstiness']) ?? 1,
    maxConcurrency: number(options['max_concurrency']),
    ramp:
      strategy === null
        ? null
        : { strategy, startRps: options['ramp_up_start_rps'] ?? null, endRps: options['ramp_up_end_rps'] ?? null },
    percentileMetrics: list(
      options['percentile_metrics'] ?? DEFAULT_PERCENTILE_METRICS[pooling ? 'pooling' : 'generation'],
    ),
    percentiles: percentilesOf(options['metric_percentiles'] ?? DEFAULT_METRIC_PERCENTILES),
    goodput: goodputOf(options['goodput']),
    limits: limitsOf(options['slo']),
    saveDetailed: options['save_detailed'] === true,
    exactLength: options['exact_length'] === true,
    isOpenLoop: Number.isFinite(requestRate) || strategy !== null || options['self_timed'] === true,
    steadyState: options['no_steady_state'] === true ? null : steadyOf(options),
  };
}

/** vLLM's Rust client has 0.95 as well. */
const DEFAULT_STEADY_SHARE = 0.95;

function steadyOf(options: Readonly<Record<string, unknown>>): SteadySettings {
  const share = number(options['steady_state_threshold']);
  const minWindowMs = number(options['steady_state_min_window_ms']);
  if (share !== null && !(share > 0 && share <= 1)) {
    throw usageError(`--steady-state-threshold: ${share} is no share`, 'Give one above 0 and up to 1, such as 0.95.');
  }
  return {
    share: share ?? DEFAULT_STEADY_SHARE,
    minWindowS: minWindowMs === null ? null : minWindowMs / 1000,
  };
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A number, or text that Python's float() would take; null for anything else. */
function number(value: unknown): number | null {
  if (typeof value === 'number') return Number.isNaN(value) ? null : value;
  if (typeof value !== 'string' || value.trim() === '') return null;
  const infinity = /^([+-]?)inf(inity)?$/i.exec(value.trim());
  if (infinity !== null) return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const parsed = Number(value);
  return Number.isNaN(parsed) ? null : parsed;
}

/** Words of a comma text as Python's split gives them (spaces stay), or of a list. */
function list(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value).split(',');
}

function percentilesOf(value: unknown): readonly number[] {
  const words = typeof value === 'number' ? [value] : Array.isArray(value) ? value : String(value).split(',');
  return words.map((word) => {
    const p = number(word);
    if (p !== null && p >= 0 && p <= 100) return p;
    throw usageError(
      `--metric-percentiles: ${JSON.stringify(word)} is not a percentile`,
      'Give numbers from 0 to 100, such as 50,90,99.',
    );
  });
}

function limitsOf(value: unknown): readonly Limit[] {
  const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? value.map(String) : [];
  return texts.map((text) => {
    try {
      return parseLimit(text);
    } catch (error) {
      throw usageError(`--slo: ${JSON.stringify(text)}: ${messageOf(error)}`, '', error);
    }
  });
}

function goodputOf(value: unknown): GoodputLimits | null {
  if (value === null || value === undefined) return null;
  const pairs: [string, unknown][] = Array.isArray(value)
    ? value.map((pair) => String(pair).split(':', 2) as [string, unknown])
    : typeof value === 'object'
      ? Object.entries(value)
      : String(value)
          .split(/\s+/)
          .map((pair) => pair.split(':', 2) as [string, unknown]);
  const limits: Partial<Record<GoodputKey, number>> = {};
  for (const [key, limit] of pairs) {
    const ms = number(limit);
    if (!(GOODPUT_KEYS as readonly string[]).includes(key) || ms === null || ms < 0) {
      throw usageError(
        `--goodput: ${JSON.stringify(`${key}:${String(limit)}`)} is no limit`,
        `Give KEY:MILLISECONDS with one of ${GOODPUT_KEYS.join(', ')}, such as ttft:500 tpot:50.`,
      );
    }
    limits[key as GoodputKey] = ms;
  }
  return Object.keys(limits).length === 0 ? null : limits;
}

function metadataOf(value: unknown): readonly (readonly [string, string])[] {
  if (Array.isArray(value)) {
    return value.map(String).map((item) => {
      const at = item.indexOf('=');
      if (at === -1) throw usageError(`--metadata: ${JSON.stringify(item)} is not KEY=VALUE`);
      return [item.slice(0, at).trim(), item.slice(at + 1).trim()];
    });
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([key, item]) => [key, String(item)]);
}
