/** A comparison as a table and in words. */
import type { Difference, Verdict } from '../aggregate/comparison.ts';
import type { ComparedSweeps } from '../aggregate/sweep-comparison.ts';
import type { SweepAnswer, SweepAxis } from '../record/sweep.ts';
import { printable } from './terminal.ts';

/** Verdicts as tables say them. */
export const VERDICT_WORDS: Readonly<Record<Verdict, string>> = {
  better: 'better',
  worse: 'WORSE',
  same: 'same',
  unclear: 'no difference shown',
  blurred: 'less than a client was late',
  unknown: '',
};

/** The lines, a table and a sentence. `names` are the two files. */
export function comparisonLines(
  names: readonly [string, string],
  all: readonly Difference[],
  margin: number,
): string[] {
  const table = aligned([COLUMNS, ...all.map(cellsOf)], [0, COLUMNS.length - 1]);
  return [`A: ${printable(names[0])}`, `B: ${printable(names[1])}`, '', ...table, '', sentence(all, margin)];
}

const COLUMNS = ['', 'A', 'B', 'difference', '95 % interval', ''];

function cellsOf({ key, a, b, relative, interval, verdict }: Difference): string[] {
  return [
    key,
    figure(a),
    figure(b),
    relative === null ? '' : percent(relative),
    interval === null ? '' : `${percent(interval[0])} to ${percent(interval[1])}`,
    VERDICT_WORDS[verdict],
  ];
}

/** Rows as lines; the columns named stand left, the others right. */
function aligned(rows: readonly (readonly string[])[], left: readonly number[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, k) => (left.includes(k) ? cell.padEnd(widths[k] ?? 0) : cell.padStart(widths[k] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Figures of each level that the table of two sweeps shows; the JSON has all. */
const SHOWN = new Set(['output_throughput', 'mean_ttft_ms', 'p99_ttft_ms', 'mean_tpot_ms', 'mean_e2el_ms']);

/** Two sweeps: a table of the levels that both have, then what the differences come to. */
export function sweepsLines(compared: ComparedSweeps, margin: number): string[] {
  const { a, b, axis, levels } = compared;
  const rows = levels.flatMap(({ level, differences }) =>
    differences.filter(({ key }) => SHOWN.has(key)).map((one, k) => [k === 0 ? String(level) : '', ...cellsOf(one)]),
  );
  const head = [axis === 'concurrency' ? 'streams' : 'req/s', ...COLUMNS];
  return [
    `A: ${printable(a)}`,
    `B: ${printable(b)}`,
    '',
    ...aligned([head, ...rows], [1, head.length - 1]),
    '',
    ...sweepsSentences(compared, margin).map(printable),
  ];
}

/** What two sweeps come to, in sentences: their knees, then where and in what B differs. */
export function sweepsSentences(compared: ComparedSweeps, margin: number): string[] {
  const { axis, levels, answer_a: a, answer_b: b, answers, only_a: onlyA, only_b: onlyB } = compared;
  const change = answers.find(({ key }) => key === 'knee_throughput')?.relative;
  const by = change === undefined || change === null ? '' : ` (${percent(change)})`;
  const alone = (name: string, only: readonly number[]): string[] =>
    only.length === 0 ? [] : [`Only ${name} measured ${only.join(', ')}.`];
  return [
    `A ${kneeWords(a, axis)}; B ${kneeWords(b, axis)}${by}.`,
    ...levelSentences(levels, margin),
    ...alone('A', onlyA),
    ...alone('B', onlyB),
  ];
}

function kneeWords(
  { knee, knee_throughput: throughput, is_saturated: isSaturated }: SweepAnswer,
  axis: SweepAxis,
): string {
  if (knee === null || throughput === null) return 'measured nothing';
  const level = `${knee} ${axis === 'concurrency' ? 'streams' : 'requests/s'}`;
  const rate = `${throughput.toFixed(1)} tokens/s`;
  return isSaturated ? `saturates at ${level} with ${rate}` : `was still growing at ${level} with ${rate}`;
}

function levelSentences(levels: ComparedSweeps['levels'], margin: number): string[] {
  const judged = levels.flatMap(({ differences }) => differences).filter(({ verdict }) => verdict !== 'unknown');
  if (judged.length === 0) return [sentence([], margin)];
  const found = (verdict: Verdict): string[] =>
    [...new Set(judged.filter((one) => one.verdict === verdict).map(({ key }) => key))].map((key) => {
      const at = levels.filter(({ differences }) =>
        differences.some((one) => one.key === key && one.verdict === verdict),
      );
      return `${key} at ${at.map(({ level }) => level).join(', ')}`;
    });
  const [better, worse] = [found('better'), found('worse')];
  if (better.length + worse.length === 0)
    return [`No difference at any level that this data can show (margin ${percent(margin).replace('+', '')}).`];
  return [
    ...(better.length > 0 ? [`B is better in ${better.join('; ')}.`] : []),
    ...(worse.length > 0 ? [`B is worse in ${worse.join('; ')}.`] : []),
  ];
}

/** So small a share of the figures may differ by chance alone: each interval leaves out the truth once in twenty times. */
const FEW = 0.15;

/** What the differences come to. */
export function sentence(all: readonly Difference[], margin: number): string {
  const judged = all.filter(({ verdict }) => verdict !== 'unknown');
  if (judged.length === 0) {
    return 'Whether these differences are more than chance cannot be said: neither file has values per request (--save-records, --save-detailed).';
  }
  const names = (verdict: Verdict): string[] => judged.filter((one) => one.verdict === verdict).map(({ key }) => key);
  const [better, worse] = [names('better'), names('worse')];
  if (better.length + worse.length === 0)
    return `No difference that this data can show (margin ${percent(margin).replace('+', '')}).`;
  const parts = [
    ...(better.length > 0 ? [`B is better in ${better.join(', ')}`] : []),
    ...(worse.length > 0 ? [`B is worse in ${worse.join(', ')}`] : []),
  ];
  const told = better.length + worse.length;
  const chance =
    told <= judged.length * FEW
      ? ` That is ${told} of ${judged.length} figures, and by chance one in twenty looks like this.`
      : '';
  return `${parts.join('; ')}.${chance} Requests of one run share batches: repeat both before you rely on small differences.`;
}

function figure(value: number): string {
  return Math.abs(value) >= 1000 ? value.toFixed(0) : value.toFixed(2);
}

function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(1)} %`;
}
