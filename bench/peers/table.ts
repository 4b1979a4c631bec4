/** From the runs of all clients to the table that compares them. */
import type { Said } from './clients.ts';
import type { Cost } from './process.ts';
import type { Lateness, ServerKind } from './server.ts';

/** One run of one client. */
export interface PeerRun {
  readonly client: string;
  readonly streams: number;
  readonly lineEnd: ServerKind['lineEnd'];
  readonly round: number;
  /** Events that the server had to send. */
  readonly sent: number;
  readonly said: Said;
  readonly cost: Cost;
  readonly server: Lateness | null;
}

/** What was true, ms. */
export interface Truth {
  readonly ttftMs: number;
  readonly itlMs: number;
}

/** Medians of a client's runs at one level. */
export interface PeerRow {
  readonly client: string;
  readonly streams: number;
  readonly lineEnd: ServerKind['lineEnd'];
  readonly rounds: number;
  readonly cpuUsPerEvent: number;
  readonly ttftMeanErrorMs: number;
  readonly ttftP99ErrorMs: number;
  readonly gapP99ErrorMs: number;
  readonly rssMb: number | null;
  readonly eventsPerS: number;
  /** Seen less sent: below 0 events were lost, above it something was taken for a token that was none. The worst round. */
  readonly eventsOff: number;
  readonly failed: number;
  readonly serverLateMeanMs: number | null;
  readonly serverLateP99Ms: number | null;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** Medians by level, line end and client, in the order of first appearance. */
export function rowsOf(runs: readonly PeerRun[], truth: Truth): PeerRow[] {
  const groups = new Map<string, PeerRun[]>();
  for (const run of runs) {
    const key = `${run.streams} ${run.lineEnd} ${run.client}`;
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups.values()].map((group) => rowOf(group, truth));
}

function rowOf(group: readonly PeerRun[], truth: Truth): PeerRow {
  const first = group[0] as PeerRun;
  const of = (figure: (run: PeerRun) => number): number => median(group.map(figure));
  const known = (figure: (run: PeerRun) => number | null): number | null => {
    const values = group.map(figure).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  const off = group.map(({ said, sent }) => said.events - sent);
  return {
    client: first.client,
    streams: first.streams,
    lineEnd: first.lineEnd,
    rounds: group.length,
    cpuUsPerEvent: of(({ cost, sent }) => (cost.cpuS * 1e6) / sent),
    ttftMeanErrorMs: of(({ said }) => said.ttftMeanMs - truth.ttftMs),
    ttftP99ErrorMs: of(({ said }) => said.ttftP99Ms - truth.ttftMs),
    gapP99ErrorMs: of(({ said }) => said.gapP99Ms - truth.itlMs),
    rssMb: known(({ cost }) => cost.rssMb),
    eventsPerS: of(({ said }) => said.events / said.durationS),
    eventsOff: off.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)),
    failed: Math.max(...group.map(({ said }) => said.failed)),
    serverLateMeanMs: known(({ server }) => server?.mean ?? null),
    serverLateP99Ms: known(({ server }) => server?.p99 ?? null),
  };
}

const HEAD = [
  'streams',
  'client',
  'CPU µs/event',
  'TTFT error mean / p99, ms',
  'gap p99 error, ms',
  'RSS MB',
  'events/s',
  'events off',
  'server late mean / p99, ms',
];

/**
 * A Markdown table.
 * @param reference name of the client that the ratios are taken to; those of others stand behind their figures
 */
export function markdown(rows: readonly PeerRow[], reference: string): string[] {
  const cells = rows.map((row) => {
    const peer = rows.find(
      (one) => one.client === reference && one.streams === row.streams && one.lineEnd === row.lineEnd,
    );
    return [
      `${row.streams.toLocaleString('en-US')} ${row.lineEnd.toUpperCase()}`,
      row.client,
      `${row.cpuUsPerEvent.toFixed(1)}${ratio(row.cpuUsPerEvent, peer?.cpuUsPerEvent, row === peer)}`,
      `${signed(row.ttftMeanErrorMs)} / ${signed(row.ttftP99ErrorMs)}`,
      signed(row.gapP99ErrorMs),
      row.rssMb === null ? '?' : `${row.rssMb.toFixed(0)}${ratio(row.rssMb, peer?.rssMb, row === peer)}`,
      Math.round(row.eventsPerS).toLocaleString('en-US'),
      `${row.eventsOff === 0 ? '0' : whole(row.eventsOff)}${row.failed > 0 ? ` (${row.failed} requests failed)` : ''}`,
      row.serverLateMeanMs === null
        ? '?'
        : `${row.serverLateMeanMs.toFixed(2)} / ${row.serverLateP99Ms?.toFixed(2) ?? '?'}`,
    ];
  });
  const line = (row: readonly string[]) => `| ${row.join(' | ')} |`;
  return [line(HEAD), line(HEAD.map((_, k) => (k < 2 ? '---' : '---:'))), ...cells.map(line)];
}

/** Says so when the server was too late for its clients to be judged by its set times. */
export function lateNote(rows: readonly PeerRow[], { itlMs }: Truth): string[] {
  const late = rows.filter((row) => (row.serverLateP99Ms ?? row.serverLateMeanMs ?? 0) > itlMs / 2);
  if (late.length === 0) return [];
  const levels = [...new Set(late.map((row) => `${row.streams} ${row.lineEnd.toUpperCase()}`))].join(', ');
  return [
    `**Not to be relied on: the server itself was late (${levels}).** Something else was using the machine, or it is too slow for this load.`,
  ];
}

const START = '<!-- peers: made by npm run bench:peers -- --readme -->';
const END = '<!-- /peers -->';

/** The document with these lines between its markers. @throws Error when it has none */
export function between(document: string, lines: readonly string[]): string {
  const from = document.indexOf(START);
  const to = document.indexOf(END);
  if (from < 0 || to < from) throw new Error(`README.md lacks the markers ${START} and ${END}`);
  return `${document.slice(0, from + START.length)}\n\n${lines.join('\n')}\n\n${document.slice(to)}`;
}

/** ` (0.72×)` for everyone but the reference itself. */
function ratio(value: number, reference: number | null | undefined, isReference: boolean): string {
  return isReference || reference === null || reference === undefined ? '' : ` (${(value / reference).toFixed(2)}×)`;
}

function signed(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${Math.abs(ms).toFixed(1)}`;
}

function whole(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toLocaleString('en-US')}`;
}
