/**
 * The end of a run and of `report`, the same code for both: figures → result JSON, console lines and warnings. It reads the aggregate,
 * the header and the end of the records, and nothing else, so reporting a saved file gives what the run gave.
 */
import type { CountTokens, RunAggregate } from '../aggregate/collect.ts';
import { judgeLimits, type LimitResult, limitPercentiles } from '../aggregate/limits.ts';
import { diffusionStats, specDecodeStats } from '../aggregate/server-counters.ts';
import type { DetailViews, RunSummary } from '../aggregate/summary.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import { clientVerdict, findings } from './findings.ts';
import { lengthFindings } from './lengths.ts';
import { ownBlock } from './own-block.ts';
import { ownLines } from './own-lines.ts';
import { type ReportSettings, settingsOf } from './settings.ts';
import { printable } from './terminal.ts';
import { type ProbeResult, type ResultMap, type ResultParts, vllmResult } from './vllm-result.ts';
import { vllmTable } from './vllm-table.ts';
import { type Warning, warningText } from './warnings.ts';

export type { Warning } from './warnings.ts';

/** What the end of a run needs. */
export interface FinishInput {
  /** All requests of the run. It is spent afterwards. */
  readonly aggregate: RunAggregate;
  /** Header as written to the record file: options (vLLM's names, snake case), server, hash of the samples. */
  readonly header: RecordHeader;
  /**
   * End as written to the record file. Beside `duration_s` and `interrupted` these are read: `interrupted_by` (text), `planned`,
   * `client_health` (passed through), `warnings` ({@link Warning}[], added to those found here), `rps_change_events`,
   * `spec_decode_before_after` and `diffusion_before_after` (pairs of counters), `probe` ({latencies_s: number[], failed}).
   */
  readonly end: RecordEnd;
  /** Counts tokens (no special tokens) where the server told none; not called when every server count is there. */
  readonly countTokens?: CountTokens;
  /** Warnings found before, such as damage of record files. */
  readonly warnings?: readonly Warning[];
  /** The files that were merged, for the block `sources`; left out for a single one. */
  readonly sources?: readonly Readonly<Record<string, unknown>>[];
}

/** A finished report. Nothing was printed or written yet. */
export interface FinishedReport {
  /** The result JSON, key by key in vLLM's order, `tabby_load` last. Write it with `resultChunks` or `writeResult`. */
  readonly result: ResultMap;
  /** Failure lines, vLLM's table, and the lines of ours: what goes to stdout, line by line. */
  readonly consoleLines: readonly string[];
  /** The last of them: those of ours alone. */
  readonly ownLines: readonly string[];
  /** Warnings in words, for stderr: each a line that begins with "tabby-load: warning: ". */
  readonly warningLines: readonly string[];
  readonly warnings: readonly Warning[];
  readonly settings: ReportSettings;
  /** Local start time as in file names, `%Y%m%d-%H%M%S`. */
  readonly date: string;
  readonly completed: number;
  readonly failed: number;
  /** Values of every request, for plots; null when there were too many to keep them. */
  readonly detail: DetailViews | null;
  readonly summary: RunSummary;
  /** What came of `--slo`, limit by limit. */
  readonly limits: readonly LimitResult[];
}

/**
 * Makes the report of a run.
 * @throws usage errors for percentiles or goodput limits in the options that make no sense, and whatever `countTokens` throws
 */
export async function finishReport(input: FinishInput): Promise<FinishedReport> {
  const { aggregate, header, end } = input;
  const settings = settingsOf(header.options);
  const summary = await aggregate.summarize({
    percentiles: [...settings.percentiles, ...limitPercentiles(settings.limits)],
    durationS: end.duration_s,
    maxConcurrency: settings.maxConcurrency,
    ...(settings.steadyState === null ? {} : { steadyShare: settings.steadyState.share }),
    isOpenLoop: settings.isOpenLoop,
    ...(input.countTokens === undefined || !settings.hasTokenizer ? {} : { countTokens: input.countTokens }),
  });
  const parts: ResultParts = {
    settings,
    summary,
    date: localStamp(header.started_at),
    specDecode: specDecodeStats(end['spec_decode_before_after']),
    diffusion: diffusionStats(end['diffusion_before_after'], end.duration_s),
    probe: probeOf(end['probe']),
    rpsChangeEvents: Array.isArray(end['rps_change_events']) ? end['rps_change_events'] : [],
  };
  const lengths = lengthFindings(summary, {
    isTabby: header.server?.['kind'] === 'tabbyapi',
    exactLength: settings.exactLength,
    // Not given means on for TabbyAPI.
    forced:
      header.options['force_length'] === true ||
      (header.options['force_length'] == null && header.server?.['kind'] === 'tabbyapi'),
  });
  const limits = judgeLimits(settings.limits, summary);
  const verdict = clientVerdict(summary, end);
  const warnings = findings(summary, settings, input, verdict, input.warnings);
  const own = ownLines({ summary, settings, header, end, lengths, limits, verdict });
  const result = vllmResult(parts);
  // Whatever --metadata put there: the key is ours, and it stands last.
  result.delete('tabby_load');
  result.set(
    'tabby_load',
    ownBlock({ summary, settings, header, end, lengths, limits, warnings, verdict, sources: input.sources ?? [] }),
  );
  return {
    result,
    consoleLines: [...vllmTable(parts), ...own],
    ownLines: own,
    warningLines: warnings.map((warning) => `tabby-load: warning: ${printable(warningText(warning))}`),
    warnings,
    settings,
    date: parts.date,
    completed: summary.completed,
    failed: summary.failed,
    detail: summary.detail,
    summary,
    limits,
  };
}

/** `%Y%m%d-%H%M%S` in local time, as vLLM names its files; zeros when the time is not known. */
export function localStamp(startedAt: string): string {
  const at = new Date(startedAt);
  if (Number.isNaN(at.getTime())) return '00000000-000000';
  const two = (value: number) => `${value}`.padStart(2, '0');
  const day = `${at.getFullYear()}`.padStart(4, '0') + two(at.getMonth() + 1) + two(at.getDate());
  return `${day}-${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`;
}

function probeOf(value: unknown): ProbeResult | null {
  if (typeof value !== 'object' || value === null) return null;
  const { latencies_s: latencies, failed } = value as { latencies_s?: unknown; failed?: unknown };
  if (!Array.isArray(latencies)) return null;
  return {
    latenciesS: latencies.filter((s): s is number => typeof s === 'number' && Number.isFinite(s)),
    failed: typeof failed === 'number' ? failed : 0,
  };
}
