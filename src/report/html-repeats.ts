/** Repeated runs (`--num-runs`) on the page: what each run came to, and how far they lie apart. */
import { type Repeated, WIDE_CV } from '../aggregate/repeats.ts';
import { rounded } from './html-curves.ts';
import type { Cell, PageSection } from './html-data.ts';
import { figure } from './html-figure.ts';

/** The section; none for a single run. */
export function repeatSections(figures: readonly Repeated[]): PageSection[] {
  const runs = figures[0]?.values.length ?? 0;
  if (runs < 2) return [];
  const drawn = figures.filter(({ mean }) => mean !== 0);
  const share = (value: number, { mean }: Repeated): number => rounded(((value - mean) / Math.abs(mean)) * 100);
  const wide = figures.filter(({ cv }) => cv > WIDE_CV);
  return [
    {
      id: 'repeats',
      title: `The ${runs} runs side by side`,
      words: [
        'A dot is a run, as a difference from the mean of all; the line is the 95 % interval of the mean (Student’s t).',
        wide.length === 0
          ? `No figure spreads by more than ${WIDE_CV * 100} % from run to run.`
          : `Spread by more than ${WIDE_CV * 100} % from run to run, so that such differences may be chance: ${wide.map(({ key }) => key).join(', ')}.`,
        'All else on this page is of the last run.',
      ],
      chart: {
        type: 'dots',
        categories: drawn.map(({ key }) => key),
        x: { name: 'difference from the mean, %', kind: 'percent' },
        series: [
          {
            name: 'run',
            points: drawn.flatMap((one, k) => one.values.map((value) => [share(value, one), k] as const)),
          },
        ],
        ranges: drawn.map((one) => [share(one.low, one), share(one.high, one)]),
        rangeName: '95 % interval of the mean',
      },
      chartText: figures
        .map(({ key, mean, cv }) => `${key} ${figure(mean, 2)}, coefficient of variation ${figure(cv * 100)} %`)
        .join('; '),
      table: {
        caption: 'Each run, mean, standard deviation, coefficient of variation, and 95 % interval of the mean',
        columns: ['', ...Array.from({ length: runs }, (_, k) => `run ${k + 1}`), 'mean', 'std', 'CV, %', 'from', 'to'],
        rows: figures.map(({ key, values, mean, std, cv, low, high }): Cell[] => [
          key,
          ...[...values, mean, std].map((value) => ({ value, digits: 2 })),
          { value: cv * 100, digits: 1 },
          ...[low, high].map((value) => ({ value, digits: 2 })),
        ]),
      },
    },
  ];
}
