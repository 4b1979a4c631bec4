/** The self-benchmark in words: two tables and a few sentences; and as JSON. */
import type { ErrorFigures } from '../aggregate/delivery.ts';
import type { OverheadFigures, OverheadReport, SearchResult } from '../aggregate/overhead.ts';
import { printable } from './terminal.ts';

/** Schema name of the JSON. */
export const OVERHEAD_SCHEMA = 'tabby-load.overhead/1';

/** Token rates for which the search says how many streams they allow. */
const COMMON_RATES = [100, 50, 20];

/** Lines for stdout. */
export function overheadLines(report: OverheadReport): string[] {
  const { levels, itlMs, ttftMs, tokens } = report;
  const kind = report.lockstep ? ', all streams in the same instant' : '';
  return [
    `tabby-load ${report.version} on Node ${report.node}, ${report.cores} cores (${report.cpu}), client and server on this machine`,
    `Server: first token after ${plain(ttftMs)} ms, then one each ${plain(itlMs)} ms${kind}; ${tokens} tokens an answer.`,
    ...(levels.length === 0 ? [] : ['', ...errorTable(levels), '', ...costTable(levels), '', ...legend()]),
    ...lossLines(levels),
    ...lateLines(levels, itlMs),
    ...report.skipped.map(({ streams, why }) => `${whole(streams)} streams were left out: ${why}.`),
    ...(report.search === null ? [] : ['', ...searchLines(report.search, report)]),
  ];
}

/** How far each event is off: what the client noted against what the server did. */
function errorTable(levels: readonly OverheadFigures[]): string[] {
  const groups = ['delivery delay, ms', 'TTFT error, ms', 'gap error, ms'];
  const names = ['mean', 'p50', 'p99', 'σ'];
  const rows = levels.map((level) => [
    whole(level.streams),
    ...[level.deliveryMs, level.ttftErrorMs, level.gapErrorMs].flatMap(fourOf),
  ]);
  const widths = widthsOf([['streams', ...names, ...names, ...names], ...rows]);
  const blocks = [1, 5, 9].map((from, k) => {
    const width = widths.slice(from, from + 4).reduce((sum, w) => sum + w + 2, -2);
    return (groups[k] as string).padStart(width);
  });
  return [
    [' '.repeat(widths[0] as number), ...blocks].join('  '),
    row(['streams', ...names, ...names, ...names], widths),
    ...rows.map((cells) => row(cells, widths)),
  ];
}

function fourOf({ mean, p50, p99, std }: ErrorFigures): string[] {
  return [mean, p50, p99, std].map(small);
}

/** What it costs, and the evidence of health. */
function costTable(levels: readonly OverheadFigures[]): string[] {
  const head = ['streams', 'events/s', 'µs/event', 'cores', 'workers', 'busy', 'loop p99', 'loop max', 'server late'];
  const rows = levels.map((level) => [
    whole(level.streams),
    whole(level.eventsPerS),
    level.cpuUsPerEvent.toFixed(1),
    level.cpuCores.toFixed(2),
    String(level.workers),
    `${(level.utilisation * 100).toFixed(0)} %`,
    small(level.loopDelayMs.p99),
    small(level.loopDelayMs.max),
    small(level.server.lateMs.p99),
  ]);
  const widths = widthsOf([head, ...rows]);
  return [row(head, widths), ...rows.map((cells) => row(cells, widths))];
}

function legend(): string[] {
  return [
    'Delivery: event written by the server → its date in the records. TTFT error: that of the first event, whatever the server did.',
    'Gap error: |measured − true gap|. µs/event: CPU time of this whole process. Loop: delay of the event loop, ms.',
    "Server late: the server's own delay (p99, ms), part of no error here: these are counted from what it really wrote.",
  ];
}

function lossLines(levels: readonly OverheadFigures[]): string[] {
  const bad = levels.filter(({ lost, failed, unmatched }) => lost + failed + unmatched > 0);
  if (bad.length === 0) {
    const sent = levels.reduce((sum, level) => sum + level.sent, 0);
    return sent === 0 ? [] : [`All ${whole(sent)} events were seen, each once.`];
  }
  return bad.map(
    ({ streams, lost, sent, failed, firstError }) =>
      `At ${whole(streams)} streams ${whole(lost)} of ${whole(sent)} events were lost, ${whole(failed)} requests failed${firstError === '' ? '' : `: ${printable(firstError)}`}.`,
  );
}

/** Where the server could not do what it was asked for, the load was another one. */
function lateLines(levels: readonly OverheadFigures[], itlMs: number): string[] {
  return levels
    .filter(({ server }) => server.lateMs.p99 > Math.max(10, 2 * itlMs))
    .map(
      ({ streams, server, eventsPerS }) =>
        `At ${whole(streams)} streams the built-in server itself was late (p99 ${small(server.lateMs.p99)} ms): ${whole(eventsPerS)} of ${whole((streams * 1000) / itlMs)} events/s, in bursts.`,
    );
}

function searchLines({ best, limitMs, endedBy, tries }: SearchResult, { itlMs }: OverheadReport): string[] {
  const limit = `${plain(limitMs)} ms`;
  if (best === null) {
    const lowest = tries.reduce<OverheadFigures | null>((a, b) => (a === null || b.streams < a.streams ? b : a), null);
    const seen = lowest === null ? '' : ` (${whole(lowest.streams)} streams: p99 ${small(lowest.deliveryMs.p99)} ms)`;
    return [`No rate was found at which 99 % of the events are seen within ${limit}${seen}.`];
  }
  const rate = best.eventsPerS;
  const streams = [...new Set([1000 / itlMs, ...COMMON_RATES])].map(
    (perS) => `${whole(Math.floor(rate / perS))} at ${plain(Math.round(perS * 10) / 10)} tokens/s`,
  );
  return [
    `Highest rate with 99 % of the events seen within ${limit}: ${endedBy === 'limit' ? '' : 'at least '}${whole(rate)} events/s${ENDS[endedBy]}.`,
    `That is so many streams: ${streams.join(', ')}.`,
    `Measured with ${whole(best.streams)} streams in steady state: p99 ${small(best.deliveryMs.p99)} ms, ${best.cpuUsPerEvent.toFixed(1)} µs CPU per event, ${best.workers === 1 ? '1 worker' : `${best.workers} workers`}; the server takes its share of the same cores.`,
  ];
}

const ENDS: Readonly<Record<SearchResult['endedBy'], string>> = {
  limit: '',
  server: ' (with more, the built-in server itself is late)',
  files: ' (more streams need more open files: ulimit -n)',
  time: ' (the search was ended by its time)',
  most: ' (more streams were not tried)',
};

/** The JSON document. Snake case, times in ms. */
export function overheadJson(report: OverheadReport): Record<string, unknown> {
  const { search } = report;
  return {
    schema: OVERHEAD_SCHEMA,
    version: report.version,
    started_at: report.startedAt,
    machine: { node: report.node, cpu: report.cpu, cores: report.cores },
    server: { ttft_ms: report.ttftMs, itl_ms: report.itlMs, tokens: report.tokens, lockstep: report.lockstep },
    levels: report.levels.map(levelJson),
    skipped: report.skipped.map(({ streams, why }) => ({ concurrency: streams, why })),
    ...(search === null ? {} : { search: searchJson(search, report.itlMs) }),
  };
}

function searchJson({ best, limitMs, endedBy, tries }: SearchResult, itlMs: number): Record<string, unknown> {
  return {
    limit_ms: limitMs,
    ended_by: endedBy,
    is_lower_bound: endedBy !== 'limit',
    events_per_s: best?.eventsPerS ?? 0,
    tokens_per_s_per_stream: 1000 / itlMs,
    streams: best === null ? 0 : Math.floor((best.eventsPerS * itlMs) / 1000),
    tries: tries.map(levelJson),
  };
}

function levelJson(level: OverheadFigures): Record<string, unknown> {
  const { server } = level;
  return {
    concurrency: level.streams,
    requests: level.requests,
    workers: level.workers,
    events: level.sent,
    lost_events: level.lost,
    failed_requests: level.failed,
    ...(level.firstError === '' ? {} : { first_error: level.firstError }),
    unmatched_requests: level.unmatched,
    events_per_s: level.eventsPerS,
    ttft_error_ms: level.ttftErrorMs,
    gap_error_ms: level.gapErrorMs,
    gap_bias_ms: { mean: level.gapBiasMs.mean, std: level.gapBiasMs.std },
    delivery_ms: level.deliveryMs,
    request_path_ms: level.requestPathMs,
    cpu_us_per_event: level.cpuUsPerEvent,
    cpu_cores: level.cpuCores,
    reads_per_event: level.readsPerEvent,
    loop_delay_ms: level.loopDelayMs,
    utilisation: level.utilisation,
    server: { late_ms: server.lateMs, frames: server.frames, cpu_us_per_frame: server.cpuUsPerFrame },
  };
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const [head = []] = rows;
  return head.map((_, k) => Math.max(...rows.map((cells) => (cells[k] as string).length)));
}

function row(cells: readonly string[], widths: readonly number[]): string {
  return cells.map((cell, k) => cell.padStart(widths[k] as number)).join('  ');
}

/** A time in ms: two digits below 10, one below 100. */
function small(ms: number): string {
  const size = Math.abs(ms);
  return ms.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function plain(value: number): string {
  return String(value);
}
