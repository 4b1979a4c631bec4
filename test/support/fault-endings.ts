/** Runs of endings on open connections: each request ends in its own way. */
import { ENDING_LIMITS, ENDINGS, type Ending, MADE } from './endings.ts';
import { type FaultRow, type FaultRun, valueRow } from './fault-rows.ts';
import { type Played, type PlayedRun, playEndings } from './play-endings.ts';

const WHOLE = `head; ${MADE} tokens; finish ${MADE}; done; last`;

/** `--retries 2`. */
export const RETRIED: readonly Ending[] = [
  {
    name: '503 with Retry-After, then an answer',
    server: ['status 503 Busy, retry-after: 1: {"detail": "busy"}', WHOLE],
    expected: { kind: null, hits: 2, record: { retries: 1, retry_wait_s: 1 } },
    told: 'counted as sent again, with the time waited',
  },
  {
    name: '429 as often as it is tried',
    server: 'status 429 Too Many Requests, retry-after: 0: {"detail": "slow down"}',
    expected: { kind: 'http', status: 429, words: /slow down/, hits: 3, record: { retries: 2 } },
  },
  {
    name: '500 is not tried again',
    server: 'status 500 Internal Server Error: no',
    expected: { kind: 'http', status: 500, hits: 1 },
  },
  {
    name: 'an error event in a 200 is not tried again',
    server: 'head; chunk data: {"error": {"message": "overloaded"}}\\r\\n\\r\\n; last',
    expected: { kind: 'stream_error', hits: 1 },
  },
];

/** One after the other on one connection, which each finds in the state that the former left. */
export const REUSED: readonly Ending[] = [
  { name: 'first on its connection', server: WHOLE, expected: { kind: null } },
  {
    name: 'closed when it is used again (idle time was over)',
    server: ['wait 60; close', WHOLE],
    expected: { kind: null, hits: 2, record: { stale_reconnect: true } },
    told: 'sent again on a fresh connection; counted as `stale_reconnects`, its clock goes on',
  },
  {
    name: 'reset when it is used again',
    server: ['reset', WHOLE],
    expected: { kind: null, hits: 2, record: { stale_reconnect: true } },
    told: 'sent again on a fresh connection; counted as `stale_reconnects`, its clock goes on',
  },
  { name: 'reset on the fresh connection as well', server: 'reset', expected: { kind: 'reset', hits: 2 } },
  { name: 'after a failure, on a fresh connection', server: 'reset', expected: { kind: 'reset', hits: 1 } },
  { name: 'complete', server: WHOLE, expected: { kind: null } },
  {
    name: 'dies within the headers, on a kept connection',
    server: 'raw HTTP/1.1 200 OK\\r\\ncontent-; close',
    expected: { kind: 'reset', hits: 1 },
  },
  { name: 'complete once more', server: WHOLE, expected: { kind: null } },
  {
    name: 'dies after the headers, on a kept connection',
    server: 'head; wait 20; reset',
    expected: { kind: 'reset', hits: 1 },
  },
  {
    name: 'complete, with the hint to use it again within a second',
    server: WHOLE.replace('head', 'head keep-alive: timeout=1'),
    expected: { kind: null },
  },
  {
    name: 'on the same connection',
    server: WHOLE,
    expected: { kind: null, record: { stale_reconnect: undefined, connect_s: undefined } },
  },
  {
    name: 'complete, and the connection is closed as announced',
    server: WHOLE.replace('head', 'head connection: close'),
    expected: { kind: null },
  },
  {
    name: 'on a fresh connection, not a stale one',
    server: WHOLE,
    expected: { kind: null, record: { stale_reconnect: undefined } },
  },
];

/** All of them. */
export const ENDING_RUNS: readonly FaultRun[] = [
  { title: 'endings of a request', run: async () => rowsOf(await playEndings(ENDINGS, ENDING_LIMITS)) },
  { title: 'with --retries 2', run: async () => retriedRows(await playEndings(RETRIED, ['--retries', '2'])) },
  { title: 'kept connections', run: async () => reusedRows(await playEndings(REUSED, ['--concurrency', '1'])) },
];

function rowOf({ ending, record, problems, hits }: Played): FaultRow {
  const { expected } = ending;
  const partial = record?.partial === undefined ? '' : ` (${record.partial.frames} token frames kept apart)`;
  return {
    name: ending.name,
    expected: `${expected.kind ?? 'success'}${expected.words === undefined ? '' : ` ${expected.words.source}`}, requests ${expected.hits ?? 1}`,
    reported: `${record?.error_kind ?? 'success'}${record?.error ? `: ${record.error}` : ''}${partial}, requests ${hits}`,
    problems,
  };
}

/** The requests one by one, and then whether the report as a whole says the same. */
function rowsOf(run: PlayedRun): FaultRow[] {
  return [...run.played.map(rowOf), ...reportRows(run)];
}

function reportRows({ played, result, cli }: PlayedRun): FaultRow[] {
  const kinds = new Map<string, number>();
  for (const { ending } of played) {
    const { kind } = ending.expected;
    if (kind !== null) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const errors = result.tabby_load.errors?.kinds ?? {};
  const sorted = (entries: Iterable<readonly [string, number]>) => Object.fromEntries([...entries].sort());
  const counts = Object.entries(errors).map(([kind, { count }]) => [kind, count] as const);
  const words = new Set(played.map(({ record }) => record?.error));
  const strange = Object.values(errors).filter(({ sample }) => sample === '' || !words.has(sample));
  const good = played.filter(({ ending }) => ending.expected.kind === null).length;
  const partial = played.filter(({ ending }) => (ending.expected.partial ?? 0) !== 0).length;
  const { ttft, e2el } = result.tabby_load.latency.from_send;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.exec(cli.stdout + cli.stderr);
  return [
    valueRow('the report counts each kind', sorted(counts), sorted(kinds)),
    valueRow('with one sample of the words of each', strange, []),
    valueRow('completed, failed', [result.completed, result.failed], [good, played.length - good]),
    valueRow('latencies are of the completed alone', [ttft?.count, e2el?.count], [good, good]),
    valueRow('failed after the first token', result.tabby_load.errors?.after_first_token ?? 0, partial),
    valueRow('no control character on the terminal', control, null),
    valueRow('exit code', cli.code, 0),
  ];
}

function retriedRows(run: PlayedRun): FaultRow[] {
  const retried = run.result.tabby_load['retried'] as { requests: number; retries: number } | undefined;
  const slow = run.played[0]?.record;
  return [
    ...run.played.map(rowOf),
    valueRow('retries are reported apart', [retried?.requests, retried?.retries], [2, 3]),
    valueRow('the clock counts from the first sending', (slow?.ttft ?? 0) >= 1, true),
    valueRow(
      'on the terminal',
      /2 requests were sent again after 429 or 503 \(--retries\), 3 retries/.test(run.cli.stdout),
      true,
    ),
  ];
}

function reusedRows(run: PlayedRun): FaultRow[] {
  const late = run.played[1]?.record;
  return [
    ...run.played.map(rowOf),
    valueRow('stale_reconnects', run.result.tabby_load.connections.stale_reconnects, 3),
    valueRow('the clock holds the lost try', (late?.ttft ?? 0) >= 0.06, true),
  ];
}
