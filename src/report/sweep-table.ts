/** The levels of a sweep as a table for the terminal and as CSV. */
import { triedOf } from '../aggregate/sweep-answer.ts';
import type { SweepAxis, SweepDocument, SweepLatency, SweepLevel } from '../record/sweep.ts';
import { printable } from './terminal.ts';

/** Title, then one line per level in order of the level, then the answer in words. */
export function sweepLines({ axis, levels, answer }: SweepDocument): string[] {
  const sorted = levels.toSorted((a, b) => a.level - b.level);
  const columns = columnsOf(axis, sorted);
  const rows = [columns.map(([title]) => title), ...sorted.map((level) => columns.map(([, cell]) => cell(level)))];
  const widths = columns.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padStart(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const reasons = sorted.flatMap(({ level, reason, tries }) => [
    ...(reason === '' ? [] : [`${level}: ${printable(reason)}`]),
    ...(tries === undefined
      ? []
      : [`${level}: measured ${tries.length} times, the median of ${triedWords(tries)} tok/s`]),
  ]);
  const isSteady = levels.some(({ throughput_from: from }) => from === 'steady_state');
  const bases = isSteady ? ['tok/s in steady state, where that is long enough; the rest of the whole level'] : [];
  return [...(levels.length === 0 ? [] : [...lines, ...bases, ...reasons, '']), ...answer.words.map(printable)];
}

function triedWords(tries: readonly SweepLevel[]): string {
  return tries.map(({ output_throughput: rate }) => rate.toFixed(1)).join(', ');
}

type Column = readonly [title: string, cell: (level: SweepLevel) => string];

function columnsOf(axis: SweepAxis, levels: readonly SweepLevel[]): readonly Column[] {
  const has = (test: (level: SweepLevel) => boolean): boolean => levels.some(test);
  const ms = (value: number | undefined): string => (value === undefined ? '-' : value.toFixed(1));
  return [
    [axis === 'concurrency' ? 'streams' : 'req/s', ({ level }) => `${level}`],
    ...optional(axis === 'concurrency' && has(({ in_flight_mean: mean }) => mean != null), [
      'in flight',
      ({ in_flight_mean: mean }) => (mean == null ? '-' : mean.toFixed(1)),
    ]),
    ['tok/s', (level) => level.output_throughput.toFixed(1)],
    ['done/s', (level) => level.request_throughput.toFixed(2)],
    ['TTFT p50', ({ ttft }) => ms(ttft?.median_ms)],
    ['p99 ms', ({ ttft }) => ms(ttft?.p99_ms)],
    ['TPOT p50', ({ tpot }) => ms(tpot?.median_ms)],
    ['p99 ms', ({ tpot }) => ms(tpot?.p99_ms)],
    ...optional(
      has(({ server_queue: queue }) => queue !== null),
      ['queue ms', ({ server_queue: queue }) => ms(queue?.mean_ms)],
    ),
    ['failed', ({ failed }) => `${failed}`],
    ...optional(
      has(({ goodput }) => goodput !== null),
      ['good', ({ goodput }) => (goodput === null ? '-' : `${(goodput.share * 100).toFixed(1)} %`)],
    ),
    ...optional(
      has(({ limits }) => limits.length > 0),
      ['limits', (level) => (triedOf(level, null).isKept ? 'kept' : 'MISSED')],
    ),
    ['client', ({ client_was_limit: was }) => (was === null ? '-' : was ? 'LIMIT' : 'ok')],
    ...optional(
      has(({ status }) => status !== 'done'),
      ['', ({ status }) => (status === 'done' ? '' : status)],
    ),
  ];
}

function optional(isShown: boolean, column: Column): readonly Column[] {
  return isShown ? [column] : [];
}

const PARTS = [
  'mean_ms',
  'median_ms',
  'p90_ms',
  'p95_ms',
  'p99_ms',
  'max_ms',
] as const satisfies (keyof SweepLatency)[];
const SERIES = ['ttft', 'tpot', 'itl', 'e2el', 'server_queue'] as const;

/** CSV (RFC 4180) with a line per level in order of the level; empty where there is no value. */
export function sweepCsv({ axis, levels }: SweepDocument): string {
  const plain = ['requests', 'completed', 'failed', 'duration_s', 'request_throughput', 'output_throughput'] as const;
  const head = [
    axis,
    'status',
    ...plain,
    ...SERIES.flatMap((series) => PARTS.map((part) => `${series}_${part}`)),
    'goodput_share',
    'limits_kept',
    'client_was_limit',
    'samples_sha256',
    'result_file',
    'throughput_noise',
    'in_flight_mean',
    'measurements',
  ];
  const rows = levels
    .toSorted((a, b) => a.level - b.level)
    .map((level) => [
      level.level,
      level.status,
      ...plain.map((key) => level[key]),
      ...SERIES.flatMap((series) => PARTS.map((part) => level[series]?.[part] ?? '')),
      level.goodput?.share ?? '',
      level.limits.length === 0 ? '' : triedOf(level, null).isKept,
      level.client_was_limit ?? '',
      level.samples_sha256,
      level.result_file,
      level.throughput_noise ?? '',
      level.in_flight_mean ?? '',
      level.tries?.length ?? 1,
    ]);
  return [head, ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}
