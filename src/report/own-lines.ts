/**
 * The lines of ours below vLLM's table: only those that say something about this run. Text from the server is made printable.
 */
import type { LimitResult } from '../aggregate/limits.ts';
import type { ClientVerdict } from '../aggregate/quality.ts';
import type { RunSummary, SeriesSummary } from '../aggregate/summary.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import { hostLines } from './gpus.ts';
import type { LengthFindings } from './lengths.ts';
import { limitLines } from './limits.ts';
import { planLines } from './plan.ts';
import type { ReportSettings } from './settings.ts';
import { steadyLines } from './steady.ts';
import { printable } from './terminal.ts';
import { perSecond } from './vllm-result.ts';
import { verdictLine, warningText } from './warnings.ts';

/** What the lines are made from. */
export interface OwnLineParts {
  readonly summary: RunSummary;
  readonly settings: ReportSettings;
  readonly header: RecordHeader;
  readonly end: RecordEnd;
  readonly lengths: LengthFindings;
  readonly limits: readonly LimitResult[];
  /** Null when nothing is known of the client's health. */
  readonly verdict: ClientVerdict | null;
}

const PREFIX = 'tabby-load: ';
/** Continuation of a line above. */
const INDENT = ' '.repeat(PREFIX.length);
/** Further indent of a sentence's second line. */
const CONTINUED = '  ';
/** Longest sample of the server's words. */
const SAMPLE = 200;

/** Sentences are broken at this width; rows of tables are as wide as they are. */
const WIDTH = 110;

/** All lines. */
export function ownLines(parts: OwnLineParts): string[] {
  const remarks = [
    ...errorLines(parts.summary),
    ...retryLines(parts.summary),
    ...oddLines(parts.summary),
    ...steadyLines(parts.summary),
    ...planLines(parts.summary),
    ...timeLines(parts),
    ...reasoningLines(parts.summary),
    ...frameLines(parts.summary),
    ...lengthLines(parts),
    ...finishLines(parts.summary),
    ...cacheLines(parts.summary),
    ...connectionLines(parts.summary),
    ...categoryLines(parts),
    ...limitLines(parts.limits),
    ...hostLines(parts.end['gpus'], parts.summary.outputTokens),
  ].flatMap(laidOut);
  // One line whatever its length, at the end: scripts look for it.
  return [...remarks, ...(parts.verdict === null ? [] : [PREFIX + verdictLine(parts.verdict)])];
}

/** A remark with the prefix, or a line that belongs to one, indented; sentences broken at words. */
function laidOut(remark: string): string[] {
  const isOwn = !remark.startsWith(INDENT);
  const text = isOwn ? remark : remark.slice(INDENT.length);
  // Rows of tables hold several spaces in a row and stay as they are.
  if (text.length + PREFIX.length <= WIDTH || /\s{2}/.test(text)) return [(isOwn ? PREFIX : INDENT) + text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const room = WIDTH - PREFIX.length - (lines.length > 0 ? CONTINUED.length : 0);
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((part, k) => (k > 0 ? INDENT + CONTINUED : isOwn ? PREFIX : INDENT) + part);
}

function errorLines({ failed, completed, errorKinds, failedAfterFirstToken }: RunSummary): string[] {
  if (failed === 0) return [];
  const after = failedAfterFirstToken === 0 ? '' : `, ${number(failedAfterFirstToken)} of them after the first token`;
  return [
    `${number(failed)} of ${number(failed + completed)} requests failed${after}; they are in no latency figure`,
    ...errorKinds.flatMap(({ kind, count, sample, statuses }) => {
      const byStatus = [...statuses].sort((a, b) => b[1].count - a[1].count);
      if (byStatus.length === 0) return [`${INDENT}${printable(kind)}, ${often(count)}: ${words(sample)}`];
      return byStatus.map(([status, of]) => `${INDENT}${kind} ${status}, ${often(of.count)}: ${words(of.sample)}`);
    }),
  ];
}

function retryLines({ retried }: RunSummary): string[] {
  if (retried.requests === 0) return [];
  return [
    `${requests(retried.requests)} sent again after 429 or 503 (--retries), ${number(retried.retries)} retries in all, ` +
      `after ${retried.waitS.toFixed(1)} s of waiting: their times count from the first sending`,
  ];
}

/** Answers that are complete, and yet not as they should be. */
function oddLines({ trailingGarbage, compressed }: RunSummary): string[] {
  const lines: string[] = [];
  if (trailingGarbage > 0)
    lines.push(`${answers(trailingGarbage)} bytes behind [DONE] that are no event; counted as complete`);
  if (compressed.answers > 0) {
    lines.push(
      `${answers(compressed.answers)} a compressed body (${printable(compressed.encoding)}) although identity was asked for: frames may have been held back`,
    );
  }
  return lines;
}

function requests(count: number): string {
  return count === 1 ? '1 request was' : `${number(count)} requests were`;
}

function answers(count: number): string {
  return count === 1 ? '1 answer had' : `${number(count)} answers had`;
}

/** What a server said, on one line and not too long. */
function words(sample: string): string {
  return printable(sample.length > SAMPLE ? `${sample.slice(0, SAMPLE)}...` : sample).replace(/\s{2,}/g, ' ');
}

/** The times that vLLM's table does not have: the server's own, to the first answer token, since the request was due. */
function timeLines({ summary: { own, metrics, ownMetrics }, settings }: OwnLineParts): string[] {
  const server: Row[] = [
    ['server: queue', own.server_queue_time],
    ['server: prompt', own.server_prompt_time],
    ['server: generation', own.server_completion_time],
  ];
  const answer: Row[] = [['client: first answer token', own.first_answer]];
  const due: Row[] = [
    ['since due: wait before sending', metrics.client_queue_time],
    ['since due: first token', own.ttft_from_arrival],
    ['since due: end to end', metrics.e2el_including_client_queue],
  ];
  const hasDue = settings.isOpenLoop && metrics.client_queue_time.maxMs >= 1;
  const rows = [...server, ...answer, ...(hasDue ? due : [])].filter(([, series]) => series.count > 0);
  if (rows.length === 0) return [];
  rows.splice(rows.filter(([name]) => name.startsWith('server')).length, 0, [
    'client: first token (TTFT)',
    metrics.ttft,
  ]);
  rows.splice(
    rows.findLastIndex(([name]) => name.startsWith('client')) + 1,
    0,
    ['client: end to end', metrics.e2el],
    ['client: end to end per token (NTPOT)', ownMetrics.ntpot],
  );
  const cells = rows.map(([name, { meanMs, medianMs, percentilesMs }]) => [
    name,
    ...[meanMs, medianMs, percentilesMs.get(99) ?? 0].map((value) => value.toFixed(1)),
  ]);
  return aligned(['times in ms', 'mean', 'median', 'p99'], cells);
}

type Row = readonly [name: string, series: SeriesSummary];

function reasoningLines({ own, metrics, frames }: RunSummary): string[] {
  if (own.first_answer.count === 0 && frames.reasoningFrames === 0) return [];
  const share = frames.tokenFrames === 0 ? 0 : frames.reasoningFrames / frames.tokenFrames;
  const without = metrics.ttft.count - own.first_answer.count;
  return [
    `reasoning: ${(share * 100).toFixed(0)} % of the token frames; TTFT is the first token of any kind` +
      (without > 0 ? `; ${number(without)} requests have no first answer token` : ''),
  ];
}

function frameLines({ frames }: RunSummary): string[] {
  const perFrame = frames.tokensPerFrame;
  const merged = frames.tokenFrames === 0 ? 0 : frames.mergedFrames / frames.tokenFrames;
  const isUneven = perFrame !== null && (perFrame >= 1.02 || perFrame <= 0.98);
  if (!isUneven && merged < 0.01) return [];
  const share = merged < 0.01 ? '' : `; ${(merged * 100).toFixed(0)} % of the frames arrived together with another`;
  return [
    `${perFrame === null ? '?' : perFrame.toFixed(2)} tokens per frame (${number(frames.tokenFrames)} frames)${share}: ` +
      'ITL is per frame, TPOT per token',
  ];
}

function lengthLines({ summary: { lengths }, lengths: { remarks } }: OwnLineParts): string[] {
  if (remarks.length === 0) return [];
  return [
    `output length: asked ${number(lengths.askedTokens)}, made ${number(lengths.madeTokens)} tokens ` +
      `(${number(lengths.exact)} exact, ${number(lengths.short)} short, ${number(lengths.long)} long)`,
    ...remarks.map((remark) => `${INDENT}${warningText(remark)}`),
  ];
}

function finishLines({ finishReasons, completed }: RunSummary): string[] {
  if (finishReasons.size === 0 || (finishReasons.size === 1 && finishReasons.get('length') === completed)) return [];
  const reasons = [...finishReasons]
    .sort((a, b) => b[1] - a[1])
    .map(([reason, n]) => `${printable(reason)} ${number(n)}`);
  return [`finish reasons: ${reasons.join(', ')}`];
}

function cacheLines({ cached, accepted }: RunSummary): string[] {
  const lines: string[] = [];
  if (cached.requests > 0) {
    const share = cached.promptTokens === 0 ? 0 : cached.tokens / cached.promptTokens;
    lines.push(
      `prompt cache: ${number(cached.tokens)} of ${number(cached.promptTokens)} prompt tokens (${(share * 100).toFixed(1)} %)`,
    );
  }
  const drafted = accepted.tokens + accepted.rejected;
  if (drafted > 0) {
    const rate =
      accepted.rejected === 0
        ? ''
        : `; ${((accepted.tokens / drafted) * 100).toFixed(1)} % of ${number(drafted)} drafted tokens were accepted`;
    lines.push(
      `draft model: ${number(accepted.tokens)} of ${number(accepted.outputTokens)} output tokens were accepted drafts${rate}`,
    );
  }
  return lines;
}

function connectionLines({ connections, own }: RunSummary): string[] {
  const { opened, staleReconnects } = connections;
  if (opened === 0 && staleReconnects === 0) return [];
  const connect = own.connect.count === 0 ? '' : `, ${own.connect.meanMs.toFixed(1)} ms each (not part of TTFT)`;
  const stale =
    staleReconnects === 0
      ? ''
      : `; ${number(staleReconnects)} ${staleReconnects === 1 ? 'request was' : 'requests were'} sent again on a new connection, because the kept one was closed or reset before any answer`;
  return [`connections opened during the run: ${number(opened)}${connect}${stale}`];
}

function categoryLines({ summary }: OwnLineParts): string[] {
  if (summary.categories.length === 0) return [];
  const rows = summary.categories.map((c) => [
    printable(c.category),
    number(c.completed),
    number(c.failed),
    number(c.outputTokens),
    c.meanTtftMs.toFixed(1),
    c.meanTpotMs.toFixed(2),
    c.meanE2elMs.toFixed(1),
    perSecond(c.outputTokens, summary).toFixed(1),
  ]);
  return aligned(['category (means)', 'done', 'failed', 'tokens', 'TTFT ms', 'TPOT ms', 'E2EL ms', 'tok/s'], rows);
}

/** A small table: the heading behind the prefix, names to the left, figures to the right. */
function aligned(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((name, k) => Math.max(name.length, ...rows.map((row) => (row[k] as string).length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, k) => (k === 0 ? cell.padEnd(widths[k] as number) : cell.padStart(widths[k] as number)))
      .join('  ');
  return [line(head), ...rows.map((row) => INDENT + line(row))];
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function often(times: number): string {
  return times === 1 ? 'once' : `${number(times)} times`;
}
