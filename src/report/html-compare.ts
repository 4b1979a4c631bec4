/** The page of a comparison of runs. */
import type { Sampled } from '../aggregate/bootstrap.ts';
import type { Difference, Verdict } from '../aggregate/comparison.ts';
import { VERDICT_WORDS as WORDS } from './comparison.ts';
import { typedLine } from './html-command.ts';
import { overlaySections } from './html-compare-curves.ts';
import { rounded } from './html-curves.ts';
import type { Cell, DotChart, PageData, PageSection, PageTable } from './html-data.ts';
import { signedPercent } from './html-figure.ts';

/** Values per request, ms, where a file has them. */
export interface ComparedValues {
  readonly ttft: Sampled;
  readonly tpot: Sampled;
  readonly e2el: Sampled;
}

/** One file against the first. */
export interface Compared {
  readonly a: string;
  readonly b: string;
  /** Why the two are not comparable; empty when they are. */
  readonly not_comparable: readonly string[];
  readonly differences: readonly Difference[];
  /** The comparison in a sentence. */
  readonly words: string;
  /** Of both, where both have them: for the curves. */
  readonly values: { readonly a: ComparedValues; readonly b: ComparedValues } | null;
}

/**
 * The document.
 * @param typed words of the command, without secrets
 */
export function comparePage(all: readonly Compared[], margin: number, typed: readonly string[]): PageData {
  return {
    title: 'Comparison of runs',
    facts: [
      `A: ${all[0]?.a ?? ''}`,
      ...all.map(({ b }, k) => `B${all.length > 1 ? k + 1 : ''}: ${b}`),
      marginWords(margin),
    ],
    answer: all.map(({ b, words }) => (all.length === 1 ? words : `${b}: ${words}`)),
    figures: [],
    alerts: all.flatMap(({ b, not_comparable: reasons }) => reasons.map((reason) => `${b}: not comparable: ${reason}`)),
    sections: [
      ...all.flatMap((one, k) => [differenceSection(one, k, margin), ...overlaySections(one, k, all.length > 1)]),
      compareCommand(typed),
    ],
  };
}

/** The margin, for the head of a page. */
export function marginWords(margin: number): string {
  return `differences below ${(margin * 100).toFixed(1)} % count as none`;
}

/** How the page came about. */
export function compareCommand(typed: readonly string[]): PageSection {
  const { line, words } = typedLine(typed);
  return { id: 'command', title: 'How it was compared', words: [words], code: line };
}

/** A row of {@link differencesChart}. */
export interface NamedDifference {
  readonly name: string;
  readonly difference: Difference;
}

/** What verdicts come to in a picture; the order gives colour and symbol. */
const KINDS: readonly (readonly [name: string, verdicts: readonly Verdict[]])[] = [
  ['no difference shown', ['same', 'unclear', 'blurred']],
  ['B is worse', ['worse']],
  ['B is better', ['better']],
  ['no values to judge by', ['unknown']],
];

/** Differences as dots with their intervals, and the margin shaded; those without a share are left out. */
export function differencesChart(rows: readonly NamedDifference[], margin: number): DotChart {
  const shown = rows.filter(({ difference }) => difference.relative !== null);
  return {
    type: 'dots',
    categories: shown.map(({ name }) => name),
    x: { name: 'difference of B from A, %', kind: 'percent' },
    series: KINDS.map(([name, verdicts], place) => ({
      name,
      place,
      points: shown.flatMap(({ difference: { relative, verdict } }, k) =>
        verdicts.includes(verdict) ? [[rounded((relative ?? 0) * 100), k] as const] : [],
      ),
    })).filter(({ points }) => points.length > 0),
    ranges: shown.map(({ difference: { interval } }) =>
      interval === null ? null : [rounded(interval[0] * 100), rounded(interval[1] * 100)],
    ),
    rangeName: '95 % interval',
    ...(margin > 0 ? { band: { from: -margin * 100, to: margin * 100, label: 'margin' } } : {}),
  };
}

/** Differences in words and numbers. `first` is the heading of the names. */
export function differencesTable(rows: readonly NamedDifference[], first = ''): PageTable {
  return {
    caption: 'A, B, and the difference with its 95 % interval',
    columns: [first, 'A', 'B', 'difference', '95 % interval', ''],
    rows: rows.map(({ name, difference: { a, b, relative, interval, verdict } }): Cell[] => [
      name,
      { value: a, digits: 2 },
      { value: b, digits: 2 },
      relative === null ? '' : signedPercent(relative),
      interval === null ? '' : `${signedPercent(interval[0])} to ${signedPercent(interval[1])}`,
      WORDS[verdict],
    ]),
  };
}

function differenceSection({ a, b, differences }: Compared, k: number, margin: number): PageSection {
  const rows = differences.map((difference) => ({ name: difference.key, difference }));
  return {
    id: `comparison-${k + 1}`,
    title: k === 0 ? 'Differences' : `Differences, B${k + 1}`,
    words: [`B: ${b} against A: ${a}. A dot left of 0 is less, right of it more; of latencies less is better.`],
    chart: differencesChart(rows, margin),
    chartText: differences
      .filter(({ relative }) => relative !== null)
      .map(({ key, relative, verdict }) => `${key} ${signedPercent(relative ?? 0)} ${WORDS[verdict]}`.trim())
      .join(', '),
    table: differencesTable(rows),
  };
}
