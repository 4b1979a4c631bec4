/** The page of a comparison. */
import type { Difference } from '../aggregate/comparison.ts';
import { VERDICT_WORDS as WORDS } from './comparison.ts';
import { rounded } from './html-curves.ts';
import type { Cell, PageData, PageSection } from './html-data.ts';

/** One file against the first. */
export interface Compared {
  readonly a: string;
  readonly b: string;
  /** Why the two are not comparable; empty when they are. */
  readonly not_comparable: readonly string[];
  readonly differences: readonly Difference[];
  /** The comparison in a sentence. */
  readonly words: string;
}

/** The document. */
export function comparePage(all: readonly Compared[], margin: number): PageData {
  return {
    title: 'Comparison of runs',
    facts: [`compared with ${all[0]?.a ?? ''}`, `margin ${percent(margin)}`],
    answer: all.map(({ b, words }) => (all.length === 1 ? words : `${b}: ${words}`)),
    figures: [],
    alerts: all.flatMap(({ b, not_comparable: reasons }) => reasons.map((reason) => `${b}: not comparable: ${reason}`)),
    sections: all.map(sectionOf),
  };
}

function sectionOf({ a, b, differences }: Compared, k: number): PageSection {
  const shown = differences.filter(({ relative }) => relative !== null);
  return {
    id: `comparison-${k + 1}`,
    title: `${b} against ${a}`,
    chart: {
      type: 'bars',
      categories: shown.map(({ key }) => key),
      y: { name: 'difference of B from A; lines: 95 % interval', kind: 'percent' },
      isHorizontal: true,
      ranges: shown.map(({ interval }) =>
        interval === null ? null : [rounded(interval[0] * 100), rounded(interval[1] * 100)],
      ),
      series: [
        { name: 'difference of B from A, %', values: shown.map(({ relative }) => rounded((relative ?? 0) * 100)) },
      ],
    },
    chartText: shown
      .map(({ key, relative, verdict }) => `${key} ${percent(relative ?? 0)} ${WORDS[verdict]}`.trim())
      .join(', '),
    table: {
      caption: 'A, B, and the difference with its 95 % interval',
      columns: ['', 'A', 'B', 'difference', '95 % interval', ''],
      rows: differences.map(({ key, a: first, b: other, relative, interval, verdict }): Cell[] => [
        key,
        { value: first, digits: 2 },
        { value: other, digits: 2 },
        relative === null ? '' : percent(relative),
        interval === null ? '' : `${percent(interval[0])} to ${percent(interval[1])}`,
        WORDS[verdict],
      ]),
    },
  };
}

function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(1)} %`;
}
