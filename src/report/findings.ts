/** What a run must be warned about, as data. */
import { type ClientVerdict, judgeClient } from '../aggregate/quality.ts';
import type { RunSummary } from '../aggregate/summary.ts';
import { LATENCY_METRICS } from '../metrics.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import { histogramMetrics } from './own-block.ts';
import { planFindings } from './plan.ts';
import type { ReportSettings } from './settings.ts';
import { steadyFindings } from './steady.ts';
import { selectedMetrics } from './vllm-result.ts';
import type { Warning } from './warnings.ts';

/** Share of frames that arrived with another one from which a reader should know. */
const MANY_SHARED = 0.25;

/** Share of the prompt tokens from the server's cache from which TTFT says something else than it seems to. */
const MUCH_CACHED = 0.25;

/** Was the client the limit? Null when the end says nothing of its health. */
export function clientVerdict(summary: RunSummary, end: RecordEnd): ClientVerdict | null {
  const { completed, failed, durationS, metrics } = summary;
  return judgeClient(end['client_health'], end['lost_workers'], {
    durationS,
    completed,
    failed,
    interrupted: end.interrupted,
    ttft: { medianMs: metrics.ttft.medianMs, p99Ms: metrics.ttft.percentilesMs.get(99) ?? 0 },
    gaps: { medianMs: metrics.itl.medianMs, p99Ms: metrics.itl.percentilesMs.get(99) ?? 0 },
  });
}

/**
 * Warnings that follow from the figures and the settings.
 * @param verdict on the client, null when nothing is known of it
 * @param before warnings that are known already, of the record files
 */
export function findings(
  summary: RunSummary,
  settings: ReportSettings,
  { header, end }: { readonly header: RecordHeader; readonly end: RecordEnd },
  verdict: ClientVerdict | null,
  before: readonly Warning[] = [],
): Warning[] {
  // A killed run is said once, with its file.
  const isSaid = before.some(({ code }) => code === 'record_no_end');
  return [
    ...before,
    ...runFindings(summary, isSaid ? { ...end, interrupted: false } : end, verdict),
    ...planFindings(summary, settings),
    ...(verdict?.findings ?? []),
    ...steadyFindings(
      summary,
      settings,
      [...(verdict?.findings ?? []), ...before].map(({ code }) => code),
    ),
    ...cacheFindings(summary, header),
    ...metricFindings(settings),
    ...countFindings(summary, settings),
    ...(Array.isArray(end['warnings']) ? end['warnings'].filter(isWarning) : []),
  ];
}

/** Requests that we gave up ourselves, when the run was ended. */
function abortedOf({ errorKinds }: RunSummary): number {
  return errorKinds.find(({ kind }) => kind === 'aborted')?.count ?? 0;
}

function runFindings(summary: RunSummary, end: RecordEnd, verdict: ClientVerdict | null): Warning[] {
  const recorded = summary.completed + summary.failed;
  const out: Warning[] = [];
  if (recorded === 0) out.push({ code: 'no_requests', facts: {} });
  // What we gave up ourselves says nothing of the server.
  else if (summary.completed === 0 && summary.errorKinds.some(({ kind }) => kind !== 'aborted')) {
    out.push({ code: 'all_failed', facts: { failed: summary.failed, first: summary.firstErrors[0] ?? '' } });
  }
  // A file with a header alone is one of a run that was killed early: that nothing is in it says enough.
  if (end.interrupted && (recorded > 0 || typeof end['interrupted_by'] === 'string')) {
    const by = end['interrupted_by'];
    out.push({ code: 'interrupted', facts: { recorded, ...(typeof by === 'string' ? { by } : {}) } });
  }
  // One frame may be one token: then there is nothing between tokens to be missed.
  if (summary.completed > 0 && summary.metrics.itl.count === 0 && summary.outputTokens > summary.completed) {
    out.push({ code: 'answers_in_one_piece', facts: {} });
  }
  const aborted = abortedOf(summary);
  // What had not ended are the longest answers: without them the others look better than the load was.
  if (aborted > 0 && summary.completed > 0) {
    out.push({ code: 'longest_left_out', facts: { aborted, of: recorded } });
  }
  if (summary.repeatedIndices > 0) {
    const code = summary.sources.length > 1 ? 'records_repeat' : 'indices_repeat';
    out.push({ code, facts: { repeated: summary.repeatedIndices } });
  }
  const { mergedFrames, tokenFrames } = summary.frames;
  if (tokenFrames > 0 && mergedFrames / tokenFrames >= MANY_SHARED) {
    const facts = { share: mergedFrames / tokenFrames, ...(verdict === null ? {} : { client_late: verdict.wasLimit }) };
    out.push({ code: 'frames_share_reads', facts });
  }
  const hdr = histogramMetrics(summary);
  if (hdr.length > 0) out.push({ code: 'percentiles_from_histograms', facts: { metrics: hdr } });
  return out;
}

/** Prompts that the server had seen before: their TTFT is that of a cache. */
function cacheFindings({ cached, completed, failed }: RunSummary, header: RecordHeader): Warning[] {
  const unique = header.options['unique_prompts'] === true;
  const recorded = completed + failed;
  const repeated = repeatedOf(header, recorded);
  const out: Warning[] = [];
  if (repeated > 0) out.push({ code: 'prompts_repeat', facts: { repeated, of: recorded } });
  const share = cached.promptTokens === 0 ? 0 : cached.tokens / cached.promptTokens;
  if (share >= MUCH_CACHED) out.push({ code: 'prompts_cached', facts: { share, unique } });
  return out;
}

/**
 * How many of the requests that were sent had a prompt that had been sent before. Requests start in order, and repeats follow one another
 * (rows are taken anew when the data set is used up), so that of a run that was ended early those from the first repeat on count.
 */
function repeatedOf(header: RecordHeader, recorded: number): number {
  const { repeated_prompts: repeated, first_repeat: first, prompts } = header;
  if (typeof repeated !== 'number' || repeated <= 0) return 0;
  if (typeof prompts !== 'number' || recorded >= prompts) return repeated;
  return Math.max(0, Math.min(repeated, recorded - (typeof first === 'number' ? first : 1)));
}

/** Selected metrics that are not reported, and why: vLLM leaves them out in silence. */
function metricFindings(settings: ReportSettings): Warning[] {
  const shown = new Set(selectedMetrics(settings).map(({ key }) => key as string));
  const out: Warning[] = [];
  for (const name of settings.percentileMetrics) {
    if (shown.has(name)) continue;
    const metric = LATENCY_METRICS.find(({ key }) => key === name);
    if (metric === undefined) {
      const meant = LATENCY_METRICS.find(({ key }) => key === name.trim().toLowerCase().replaceAll('-', '_'))?.key;
      out.push({ code: 'unknown_percentile_metric', facts: meant === undefined ? { name } : { name, meant } });
    } else if (metric.present === 'generation') {
      if (!settings.pooling) out.push({ code: 'metric_needs_tokenizer', facts: { metric: name } });
    } else if (settings.maxConcurrency === null) {
      out.push({ code: 'metric_needs_concurrency', facts: { metric: name } });
    } else {
      out.push({ code: 'metric_needs_rate', facts: { metric: name } });
    }
  }
  return out;
}

function countFindings(summary: RunSummary, settings: ReportSettings): Warning[] {
  const { counted, assumedOne, byLogprobs, byFrames } = summary.tokenCounts;
  const out: Warning[] = [];
  if (settings.pooling) return out;
  if (assumedOne > 0) out.push({ code: 'tokens_assumed_one', facts: { requests: assumedOne } });
  if (counted > 0) out.push({ code: 'tokens_counted', facts: { requests: counted } });
  if (byLogprobs > 0) out.push({ code: 'tokens_by_logprobs', facts: { requests: byLogprobs } });
  if (byFrames > 0) out.push({ code: 'tokens_by_frames', facts: { requests: byFrames } });
  const { corrected, doubted } = summary.tokenCounts;
  const by = Object.entries(corrected).filter(([, requests]) => requests > 0);
  if (by.length > 0) out.push({ code: 'usage_corrected', facts: { by: Object.fromEntries(by) } });
  if (doubted > 0) out.push({ code: 'usage_suspect', facts: { requests: doubted } });
  const detailGone = summary.detail === null || summary.detail.itls === null;
  if (detailGone && (settings.saveDetailed || summary.detail === null))
    out.push({ code: 'detail_left_out', facts: {} });
  return out;
}

function isWarning(value: unknown): value is Warning {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { code?: unknown }).code === 'string' &&
    typeof (value as { facts?: unknown }).facts === 'object' &&
    (value as { facts?: unknown }).facts !== null
  );
}
