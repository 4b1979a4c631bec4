/**
 * The result JSON of `vllm bench serve` 0.30.0: the same keys in the same order with the same values. Two things differ in writing: whole
 * floats have no ".0" (10, not 10.0: the same number), and an infinite burstiness is the text "inf", since the bare word Infinity
 * that vLLM writes is not JSON.
 */
import type { DiffusionStats, SpecDecodeStats } from '../aggregate/server-counters.ts';
import { median, percentile } from '../aggregate/statistics.ts';
import type { RunSummary, SeriesSummary } from '../aggregate/summary.ts';
import { LATENCY_METRICS, type LatencyMetric } from '../metrics.ts';
import { percentileName } from './python-format.ts';
import type { ReportSettings } from './settings.ts';

/** Latencies of probe requests (`--probe-request-rate`), as the end frame carries them. */
export interface ProbeResult {
  readonly latenciesS: readonly number[];
  readonly failed: number;
}

/** Everything that a result is made from. */
export interface ResultParts {
  readonly settings: ReportSettings;
  readonly summary: RunSummary;
  /** Local start time, `%Y%m%d-%H%M%S`. */
  readonly date: string;
  readonly specDecode: SpecDecodeStats | null;
  readonly diffusion: DiffusionStats | null;
  readonly probe: ProbeResult | null;
  readonly rpsChangeEvents: readonly unknown[];
}

/** A result, key by key in order. Values are JSON values or views (arrays read when they are written). */
export type ResultMap = Map<string, unknown>;

/** Figures of probe requests in milliseconds; null when none succeeded, as vLLM then says nothing. */
export interface ProbeStats {
  readonly completed: number;
  readonly failed: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** vLLM's figures of the probes. */
export function probeStats(probe: ProbeResult | null): ProbeStats | null {
  if (probe === null || probe.latenciesS.length === 0) return null;
  const values = Float64Array.from(probe.latenciesS);
  return {
    completed: values.length,
    failed: probe.failed,
    medianMs: median(values) * 1000,
    p99Ms: percentile(values, 99) * 1000,
    maxMs: values.reduce((a, b) => Math.max(a, b)) * 1000,
  };
}

/** Per second of the run; 0 for a run without duration, where Python would fail. */
export function perSecond(amount: number, summary: RunSummary): number {
  return summary.durationS > 0 ? amount / summary.durationS : 0;
}

/** The metrics that vLLM would report under these settings, in its order. */
export function selectedMetrics(settings: ReportSettings): readonly LatencyMetric[] {
  return LATENCY_METRICS.filter((metric) => {
    if (!settings.percentileMetrics.includes(metric.key)) return false;
    if (metric.present === 'generation') return !settings.pooling && settings.hasTokenizer;
    if (metric.present === 'always') return true;
    if (settings.maxConcurrency === null) return false;
    return metric.present === 'concurrency' || settings.requestRate !== Number.POSITIVE_INFINITY;
  });
}

/** The result without anything of ours. */
export function vllmResult(parts: ResultParts): ResultMap {
  const { settings, summary } = parts;
  const result: ResultMap = new Map();
  addSetup(result, parts);
  if (settings.pooling) addPooling(result, settings, summary);
  else addGeneration(result, settings, summary);
  addExtras(result, parts);
  for (const metric of selectedMetrics(settings)) addMetric(result, metric, summary.metrics[metric.key], settings);
  return result;
}

function addSetup(result: ResultMap, { settings, summary, date }: ResultParts): void {
  result.set('date', date);
  result.set('endpoint_type', settings.backend);
  result.set('backend', settings.backend);
  result.set('label', settings.label);
  result.set('model_id', settings.modelId);
  result.set('tokenizer_id', settings.tokenizerId);
  result.set('num_prompts', settings.numPrompts ?? summary.completed + summary.failed);
  for (const [key, value] of settings.metadata) result.set(key, value);
  result.set('request_rate', finiteOrWord(settings.requestRate));
  result.set('burstiness', finiteOrWord(settings.burstiness));
  result.set('max_concurrency', settings.maxConcurrency);
  if (settings.ramp !== null) {
    result.set('ramp_up_strategy', settings.ramp.strategy);
    result.set('ramp_up_start_rps', settings.ramp.startRps);
    result.set('ramp_up_end_rps', settings.ramp.endRps);
  }
}

function addGeneration(result: ResultMap, settings: ReportSettings, summary: RunSummary): void {
  result.set('duration', summary.durationS);
  result.set('completed', summary.completed);
  result.set('failed', summary.failed);
  result.set('total_input_tokens', summary.inputTokens);
  result.set('total_output_tokens', summary.outputTokens);
  result.set('request_throughput', perSecond(summary.completed, summary));
  result.set('request_goodput', settings.goodput === null ? null : perSecond(summary.goodRequests, summary));
  result.set('output_throughput', perSecond(summary.outputTokens, summary));
  result.set('total_token_throughput', perSecond(summary.inputTokens + summary.outputTokens, summary));
  const detail = summary.detail;
  if (detail !== null) {
    const full = settings.saveDetailed;
    if (full) result.set('input_lens', detail.inputLens);
    if (full) result.set('output_lens', detail.outputLens);
    if (full) result.set('ttfts', detail.ttfts);
    if (full && detail.itls !== null) result.set('itls', detail.itls);
    result.set('latencies', detail.latencies);
    if (full) result.set('start_times', detail.startTimes);
    result.set('queue_times', detail.queueTimes);
    if (full) result.set('generated_texts', detail.generatedTexts);
    if (full) result.set('errors', detail.errors);
  }
  result.set('max_output_tokens_per_s', summary.maxOutputTokensPerS);
  result.set('max_concurrent_requests', summary.maxConcurrentRequests);
  result.set('rtfx', perSecond(summary.inputAudioS, summary));
}

function addPooling(result: ResultMap, settings: ReportSettings, summary: RunSummary): void {
  result.set('duration', summary.durationS);
  result.set('completed', summary.completed);
  result.set('total_input_tokens', summary.inputTokens);
  result.set('total_input_sequences', summary.inputSequences);
  result.set('request_throughput', perSecond(summary.completed, summary));
  result.set('input_sequence_throughput', perSecond(summary.inputSequences, summary));
  result.set('total_token_throughput', perSecond(summary.inputTokens, summary));
  const detail = summary.detail;
  if (detail === null) return;
  if (settings.saveDetailed) result.set('input_lens', detail.inputLens);
  result.set('latencies', detail.latencies);
  result.set('queue_times', detail.queueTimes);
  if (settings.saveDetailed) result.set('errors', detail.errors);
}

function addExtras(result: ResultMap, { probe, rpsChangeEvents, specDecode, diffusion }: ResultParts): void {
  const probes = probeStats(probe);
  if (probes !== null) {
    result.set('probe_completed', probes.completed);
    result.set('probe_failed', probes.failed);
    result.set('probe_median_e2el_ms', probes.medianMs);
    result.set('probe_p99_e2el_ms', probes.p99Ms);
    result.set('probe_max_e2el_ms', probes.maxMs);
  }
  if (rpsChangeEvents.length > 0) result.set('rps_change_events', rpsChangeEvents);
  if (specDecode !== null) {
    result.set('spec_decode_acceptance_rate', specDecode.acceptanceRate);
    result.set('spec_decode_acceptance_length', specDecode.acceptanceLength);
    result.set('spec_decode_num_drafts', specDecode.numDrafts);
    result.set('spec_decode_draft_tokens', specDecode.draftTokens);
    result.set('spec_decode_accepted_tokens', specDecode.acceptedTokens);
    result.set('spec_decode_per_position_acceptance_rates', specDecode.perPositionRates);
  }
  if (diffusion !== null) {
    result.set('diffusion_committed_throughput', diffusion.committedThroughput);
    result.set('diffusion_steps_per_canvas', diffusion.stepsPerCanvas);
    result.set('diffusion_committed_per_step', diffusion.committedPerStep);
    result.set('diffusion_committed_tokens', diffusion.committedTokens);
    result.set('diffusion_denoising_steps', diffusion.denoisingSteps);
    result.set('diffusion_canvas_positions', diffusion.canvasPositions);
  }
}

function addMetric(result: ResultMap, { key }: LatencyMetric, series: SeriesSummary, settings: ReportSettings): void {
  result.set(`mean_${key}_ms`, series.meanMs);
  result.set(`median_${key}_ms`, series.medianMs);
  result.set(`std_${key}_ms`, series.stdMs);
  for (const p of settings.percentiles) result.set(`p${percentileName(p)}_${key}_ms`, series.percentilesMs.get(p) ?? 0);
}

function finiteOrWord(value: number): number | string {
  return Number.isFinite(value) ? value : 'inf';
}
