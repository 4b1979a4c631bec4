/**
 * The lines of ours below vLLM's table: only those that say something about this run. Text from the server is made printable.
 */
import type { RunSummary, SeriesSummary } from '../aggregate/summary.ts';
import type { RecordHeader } from '../record/record.ts';
import type { LengthFindings } from './lengths.ts';
import type { ReportSettings } from './settings.ts';
import { printable } from './terminal.ts';
import { perSecond } from './vllm-result.ts';
import { warningText } from './warnings.ts';

/** What the lines are made from. */
export interface OwnLineParts {
  readonly summary: RunSummary;
  readonly settings: ReportSettings;
  readonly header: RecordHeader;
  readonly lengths: LengthFindings;
}

const PREFIX = 'tabby-load: ';
/** Continuation of a line above. */
const INDENT = ' '.repeat(PREFIX.length);
/** Longest sample of the server's words. */
const SAMPLE = 200;

/** All lines. */
export function ownLines(parts: OwnLineParts): string[] {
  const lines = [
    ...errorLines(parts.summary),
    ...serverLines(parts.summary),
    ...arrivalLines(parts),
    ...answerLines(parts.summary),
    ...frameLines(parts.summary),
    ...lengthLines(parts),
    ...finishLines(parts.summary),
    ...cacheLines(parts.summary),
    ...connectionLines(parts.summary),
    ...categoryLines(parts),
  ];
  return lines.map((line) => (line.startsWith(INDENT) ? line : PREFIX + line));
}

function errorLines({ failed, completed, errorKinds, failedAfterFirstToken }: RunSummary): string[] {
  if (failed === 0) return [];
  const after = failedAfterFirstToken === 0 ? '' : `, ${number(failedAfterFirstToken)} of them after the first token`;
  return [
    `${number(failed)} of ${number(failed + completed)} requests failed${after}; they are in no latency figure`,
    ...errorKinds.map(({ kind, count, sample, statuses }) => {
      const words = printable(sample.length > SAMPLE ? `${sample.slice(0, SAMPLE)}...` : sample);
      const codes = [...statuses].sort((a, b) => b[1] - a[1]).map(([status, n]) => `${status} (${number(n)})`);
      return `${INDENT}${kind} ${number(count)}${codes.length > 1 ? ` [${codes.join(', ')}]` : ''}: ${words}`;
    }),
  ];
}

/** The server's own times beside what the client saw of the same. */
function serverLines({ own, metrics }: RunSummary): string[] {
  if (own.server_prompt_time.count === 0 && own.server_completion_time.count === 0) return [];
  const parts = [
    times('queue', own.server_queue_time),
    times('prompt', own.server_prompt_time),
    times('generation', own.server_completion_time),
  ].filter((part) => part !== '');
  return [
    `times as the server saw them (mean / median / p99 ms): ${parts.join(', ')}`,
    `${INDENT}as the client saw them: ${times('TTFT', metrics.ttft)}, ${times('end to end', metrics.e2el)}`,
  ];
}

function arrivalLines({ summary, settings }: OwnLineParts): string[] {
  const queue = summary.metrics.client_queue_time;
  const isOpen = settings.requestRate !== Number.POSITIVE_INFINITY || settings.ramp !== null;
  if (!isOpen || queue.count === 0 || queue.maxMs < 1) return [];
  return [
    `since each request was due (mean / median / p99 ms): ${times('TTFT', summary.own.ttft_from_arrival)}, ` +
      `${times('end to end', summary.metrics.e2el_including_client_queue)}, ${times('sent late by', queue)}`,
  ];
}

function answerLines({ own, metrics, frames }: RunSummary): string[] {
  if (own.first_answer.count === 0 && frames.reasoningFrames === 0) return [];
  const share = frames.tokenFrames === 0 ? 0 : frames.reasoningFrames / frames.tokenFrames;
  const never = metrics.ttft.count - own.first_answer.count;
  const first =
    own.first_answer.count === 0 ? '' : ` first answer token (mean / median / p99 ms): ${triple(own.first_answer)};`;
  return [
    `reasoning:${first} TTFT counts reasoning (${triple(metrics.ttft)}); ${(share * 100).toFixed(0)} % of the token frames` +
      (own.first_answer.count > 0 && never > 0 ? `; ${number(never)} requests without` : ''),
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
  if (accepted.requests > 0) {
    lines.push(
      `draft model: ${number(accepted.tokens)} of ${number(accepted.outputTokens)} output tokens were accepted drafts`,
    );
  }
  return lines;
}

function connectionLines({ connections, own }: RunSummary): string[] {
  const { opened, staleReconnects } = connections;
  if (opened === 0 && staleReconnects === 0) return [];
  const connect = own.connect.count === 0 ? '' : ` (${triple(own.connect)} ms, not part of TTFT)`;
  const stale =
    staleReconnects === 0 ? '' : `; ${number(staleReconnects)} kept-alive connections were found closed and replaced`;
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
  const head = ['category', 'done', 'failed', 'tokens', 'TTFT ms', 'TPOT ms', 'E2EL ms', 'tok/s'];
  const widths = head.map((name, k) => Math.max(name.length, ...rows.map((row) => (row[k] as string).length)));
  const line = (cells: readonly string[]) =>
    INDENT +
    cells
      .map((cell, k) => (k === 0 ? cell.padEnd(widths[k] as number) : cell.padStart(widths[k] as number)))
      .join('  ');
  return ['by category (means):', line(head), ...rows.map(line)];
}

function times(name: string, series: SeriesSummary): string {
  return series.count === 0 ? '' : `${name} ${triple(series)}`;
}

function triple(series: SeriesSummary): string {
  return [series.meanMs, series.medianMs, series.percentilesMs.get(99) ?? 0].map(ms).join(' / ');
}

/** Three significant digits are all that a time has here, and no more than two decimals. */
function ms(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
