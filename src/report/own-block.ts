/**
 * The key `tabby_load` of the result JSON: everything that vLLM does not report. Snake case, times in ms, absent rather than null where a
 * run has nothing to say. A reader goes by `schema`; the number grows when a reader of the old form would go wrong.
 */
import type { LimitResult } from '../aggregate/limits.ts';
import type { ClientVerdict } from '../aggregate/quality.ts';
import type { PercentileSource, RunSummary } from '../aggregate/summary.ts';
import { LATENCY_METRICS } from '../metrics.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import { hostBlock } from './gpus.ts';
import type { LengthFindings } from './lengths.ts';
import { planBlock } from './plan.ts';
import { seriesBlock } from './series-block.ts';
import type { ReportSettings } from './settings.ts';
import { steadyBlock } from './steady.ts';
import { perSecond } from './vllm-result.ts';
import { type Warning, warningText } from './warnings.ts';

/** Schema name of the block. */
export const RESULT_SCHEMA = 'tabby-load.result/1';

/** What the block is made from. */
export interface OwnParts {
  readonly summary: RunSummary;
  readonly settings: ReportSettings;
  readonly header: RecordHeader;
  readonly end: RecordEnd;
  readonly limits: readonly LimitResult[];
  readonly lengths: LengthFindings;
  readonly warnings: readonly Warning[];
  /** Null when nothing is known of the client's health. */
  readonly verdict: ClientVerdict | null;
  /** Told apart only when there are several files. */
  readonly sources: readonly Readonly<Record<string, unknown>>[];
}

type Block = Record<string, unknown>;

/** The block, key by key. */
export function ownBlock(parts: OwnParts): Block {
  const { summary, header, end } = parts;
  const hdr = histogramMetrics(summary);
  const source: PercentileSource = hdr.length > 0 ? 'hdr' : 'exact';
  return present({
    schema: RESULT_SCHEMA,
    version: header['version'],
    started_at: header.started_at || undefined,
    interrupted: end.interrupted,
    interrupted_by: end['interrupted_by'],
    samples_sha256: header.samples_sha256,
    percentile_source: source,
    hdr_metrics: hdr.length > 0 ? hdr : undefined,
    requests: present({
      planned: end['planned'],
      recorded: summary.completed + summary.failed,
      completed: summary.completed,
      failed: summary.failed,
    }),
    outages: end['outages'],
    lost_workers: end['lost_workers'],
    limits: limitsBlock(parts.limits),
    host: hostBlock(end['gpus'], summary.outputTokens),
    errors: errorsBlock(summary),
    retried: retriedBlock(summary),
    odd_answers: oddBlock(summary),
    finish_reasons: nonEmpty(Object.fromEntries(summary.finishReasons)),
    latency: latencyBlock(summary),
    steady_state: steadyBlock(summary, parts.settings),
    plan: planBlock(summary, parts.settings, end),
    server_times: serverBlock(summary),
    token_counts: present({
      told: summary.tokenCounts.told,
      counted: summary.tokenCounts.counted,
      by_logprobs: summary.tokenCounts.byLogprobs > 0 ? summary.tokenCounts.byLogprobs : undefined,
      by_frames: summary.tokenCounts.byFrames > 0 ? summary.tokenCounts.byFrames : undefined,
      assumed_one: summary.tokenCounts.assumedOne,
      usage_corrected: correctedBlock(summary),
      usage_doubted: summary.tokenCounts.doubted > 0 ? summary.tokenCounts.doubted : undefined,
    }),
    token_frames: framesBlock(summary),
    output_length: lengthBlock(summary, parts.lengths),
    prompt_cache: cacheBlock(summary),
    accepted_draft_tokens: acceptedBlock(summary),
    categories: nonEmpty(categoriesBlock(summary)),
    connections: connectionsBlock(summary),
    client_was_limit: parts.verdict?.wasLimit,
    client_limit_reasons: parts.verdict?.wasLimit === true ? parts.verdict.reasons.map(({ code }) => code) : undefined,
    client_health: end['client_health'],
    sources: parts.sources.length > 1 ? parts.sources : undefined,
    server: header.server,
    options: header.options,
    warnings: parts.warnings.map((warning) => ({ ...warning, text: warningText(warning) })),
  });
}

/** Metrics whose percentiles come from histograms. */
export function histogramMetrics(summary: RunSummary): readonly string[] {
  return LATENCY_METRICS.filter(({ key }) => summary.metrics[key].source === 'hdr').map(({ key }) => key);
}

/** Two latencies that must not be mixed: since the request was sent, and since it was due. */
function latencyBlock({ metrics, ownMetrics, own }: RunSummary): Block {
  return {
    from_send: present({
      first_byte: seriesBlock(own.first_byte),
      ttft: seriesBlock(metrics.ttft),
      first_answer_token: seriesBlock(own.first_answer),
      tpot: seriesBlock(metrics.tpot),
      ntpot: seriesBlock(ownMetrics.ntpot),
      itl: seriesBlock(metrics.itl),
      e2el: seriesBlock(metrics.e2el),
    }),
    from_arrival: present({
      client_queue_time: seriesBlock(metrics.client_queue_time),
      ttft: seriesBlock(own.ttft_from_arrival),
      e2el: seriesBlock(metrics.e2el_including_client_queue),
    }),
  };
}

function serverBlock({ own }: RunSummary): Block | undefined {
  return nonEmpty(
    present({
      prompt_time: seriesBlock(own.server_prompt_time),
      completion_time: seriesBlock(own.server_completion_time),
      queue_time: seriesBlock(own.server_queue_time),
      total_time: seriesBlock(own.server_total_time),
    }),
  );
}

function errorsBlock({ errorKinds, failed, failedAfterFirstToken }: RunSummary): Block | undefined {
  if (failed === 0) return undefined;
  const kinds = errorKinds.map(({ kind, count, sample, statuses }) => [
    kind,
    present({ count, sample, statuses: nonEmpty(Object.fromEntries(statuses)) }),
  ]);
  return { kinds: Object.fromEntries(kinds), after_first_token: failedAfterFirstToken };
}

function retriedBlock({ retried }: RunSummary): Block | undefined {
  if (retried.requests === 0) return undefined;
  return { requests: retried.requests, retries: retried.retries, waited_s: retried.waitS };
}

/** Answers that were complete, and yet not as they should be. */
function oddBlock({ trailingGarbage, compressed }: RunSummary): Block | undefined {
  return nonEmpty(
    present({
      trailing_garbage: trailingGarbage > 0 ? trailingGarbage : undefined,
      compressed: compressed.answers > 0 ? compressed : undefined,
    }),
  );
}

function framesBlock({ frames }: RunSummary): Block {
  return present({
    frames: frames.tokenFrames,
    tokens_per_frame: frames.tokensPerFrame ?? undefined,
    merged_frames: frames.mergedFrames,
    merged_share: frames.tokenFrames === 0 ? 0 : frames.mergedFrames / frames.tokenFrames,
    reads: frames.reads,
    reasoning_frames: frames.reasoningFrames,
  });
}

function lengthBlock({ lengths }: RunSummary, { remarks }: LengthFindings): Block | undefined {
  if (lengths.requests === 0) return undefined;
  return present({
    requests: lengths.requests,
    asked_tokens: lengths.askedTokens,
    made_tokens: lengths.madeTokens,
    exact: lengths.exact,
    short: lengths.short,
    long: lengths.long,
    missing_at_length_end: nonEmpty(Object.fromEntries(lengths.missingAtLengthEnd)),
    short_by_own_end: lengths.shortByOwnEnd,
    why: remarks.length === 0 ? undefined : remarks.map(warningText),
  });
}

function limitsBlock(limits: readonly LimitResult[]): readonly Block[] | undefined {
  if (limits.length === 0) return undefined;
  return limits.map(({ limit, value, isKept }) => ({
    limit: limit.text,
    metric: limit.metric,
    statistic: typeof limit.statistic === 'number' ? `p${limit.statistic}` : limit.statistic,
    bound: limit.bound,
    unit: limit.unit,
    value,
    kept: isKept,
  }));
}

function correctedBlock({ tokenCounts }: RunSummary): Block | undefined {
  return nonEmpty(Object.fromEntries(Object.entries(tokenCounts.corrected).filter(([, requests]) => requests > 0)));
}

function cacheBlock({ cached }: RunSummary): Block | undefined {
  if (cached.requests === 0) return undefined;
  return {
    requests: cached.requests,
    cached_tokens: cached.tokens,
    prompt_tokens: cached.promptTokens,
    hit_rate: cached.promptTokens === 0 ? 0 : cached.tokens / cached.promptTokens,
  };
}

function acceptedBlock({ accepted }: RunSummary): Block | undefined {
  if (accepted.requests === 0) return undefined;
  const drafted = accepted.tokens + accepted.rejected;
  return present({
    requests: accepted.requests,
    accepted_tokens: accepted.tokens,
    rejected_tokens: accepted.rejected > 0 ? accepted.rejected : undefined,
    output_tokens: accepted.outputTokens,
    // Only where the rejected ones are told.
    acceptance_rate: accepted.rejected > 0 ? accepted.tokens / drafted : undefined,
    share_of_output: accepted.outputTokens === 0 ? 0 : accepted.tokens / accepted.outputTokens,
  });
}

function categoriesBlock(summary: RunSummary): Block {
  return Object.fromEntries(
    summary.categories.map((c) => [
      c.category,
      {
        completed: c.completed,
        failed: c.failed,
        input_tokens: c.inputTokens,
        output_tokens: c.outputTokens,
        output_throughput: perSecond(c.outputTokens, summary),
        mean_ttft_ms: c.meanTtftMs,
        mean_tpot_ms: c.meanTpotMs,
        mean_e2el_ms: c.meanE2elMs,
      },
    ]),
  );
}

function connectionsBlock({ connections, own }: RunSummary): Block {
  return present({
    opened_during_run: connections.opened,
    connect: seriesBlock(own.connect),
    stale_reconnects: connections.staleReconnects,
  });
}

/** The object without keys whose value is undefined. */
function present(block: Block): Block {
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== undefined));
}

function nonEmpty(block: Block): Block | undefined {
  return Object.keys(block).length === 0 ? undefined : block;
}
