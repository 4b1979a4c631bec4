/** A comparison as a table and in words. */
import type { Difference, Verdict } from '../aggregate/comparison.ts';
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
  const rows = [
    ['', 'A', 'B', 'difference', '95 % interval', ''],
    ...all.map(({ key, a, b, relative, interval, verdict }) => [
      key,
      figure(a),
      figure(b),
      relative === null ? '' : percent(relative),
      interval === null ? '' : `${percent(interval[0])} to ${percent(interval[1])}`,
      VERDICT_WORDS[verdict],
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const table = rows.map((row) =>
    row
      .map((cell, k) => (k === 0 || k === 5 ? cell.padEnd(widths[k]!) : cell.padStart(widths[k]!)))
      .join('  ')
      .trimEnd(),
  );
  return [`A: ${printable(names[0])}`, `B: ${printable(names[1])}`, '', ...table, '', sentence(all, margin)];
}

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
  return `${parts.join('; ')}. Requests of one run share batches: repeat both before you rely on small differences.`;
}

function figure(value: number): string {
  return Math.abs(value) >= 1000 ? value.toFixed(0) : value.toFixed(2);
}

function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(1)} %`;
}
