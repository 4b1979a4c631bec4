/** The page of a comparison of whole sweeps: their curves in one picture, then the differences level by level. */
import type { Difference } from '../aggregate/comparison.ts';
import type { ComparedSweeps } from '../aggregate/sweep-comparison.ts';
import type { SweepAxis, SweepDocument, SweepLevel } from '../record/sweep.ts';
import {
  compareCommand,
  differencesChart,
  differencesTable,
  marginWords,
  type NamedDifference,
} from './html-compare.ts';
import { rounded } from './html-curves.ts';
import type { Cell, PageData, PageFigure, PagePanel, PageSection, PageSeries, PageTable, Point } from './html-data.ts';
import { figure, signedPercent } from './html-figure.ts';
import { loadAxis, unitOf } from './html-sweep.ts';

/** A sweep as the page shows it. */
export interface SweepSide {
  /** As it was named on the command line. */
  readonly name: string;
  readonly document: SweepDocument;
}

/** One sweep against the first. */
export interface SweepsCompared {
  readonly compared: ComparedSweeps;
  /** What it comes to, in sentences. */
  readonly words: readonly string[];
}

/** Figures of a level that are drawn; the table has all. */
const DRAWN: ReadonlySet<string> = new Set(['output_throughput', 'mean_ttft_ms', 'p99_ttft_ms', 'mean_tpot_ms']);

/**
 * The document.
 * @param sides the sweeps, the one to compare with first
 * @param all each further one against the first
 * @param typed words of the command, without secrets
 */
export function sweepsComparePage(
  sides: readonly SweepSide[],
  all: readonly SweepsCompared[],
  margin: number,
  typed: readonly string[],
): PageData {
  return {
    title: 'Comparison of sweeps',
    facts: [...sides.map(({ name }, k) => `${letter(k)}: ${name}`), marginWords(margin)],
    answer: all.flatMap(({ compared: { b }, words }) =>
      all.length === 1 ? words : words.map((text, k) => (k === 0 ? `${b}: ${text}` : text)),
    ),
    figures: sides.flatMap(kneeFigures),
    alerts: all.flatMap(({ compared }) => objectionsOf(compared)),
    sections: [
      ...sweepsSections(sides),
      ...all.map(({ compared }, k) => levelSection(compared, k, all.length > 1, margin)),
      compareCommand(typed),
    ],
  };
}

/** A, B, C, … */
function letter(k: number): string {
  return String.fromCharCode(65 + k);
}

function objectionsOf({ b, not_comparable: reasons, levels }: ComparedSweeps): string[] {
  return [
    ...reasons.map((reason) => `${b}: not comparable: ${reason}`),
    ...levels.flatMap(({ level, not_comparable: own }) =>
      own.map((reason) => `${b}, level ${level}: not comparable: ${reason}`),
    ),
  ];
}

function kneeFigures({ document }: SweepSide, k: number): PageFigure[] {
  const { answer, axis } = document;
  if (answer.knee === null) return [];
  return [
    {
      name: answer.is_saturated ? `Knee of ${letter(k)}` : `Best so far of ${letter(k)}`,
      value: figure(answer.knee, Number.isInteger(answer.knee) ? 0 : 2),
      unit: unitOf(axis),
      note: `${figure(answer.knee_throughput ?? Number.NaN)} tokens/s`,
    },
  ];
}

/** Levels measured to the end, in rising order. */
function measured({ levels }: SweepDocument): SweepLevel[] {
  return levels.filter(({ status }) => status === 'done').sort((a, b) => a.level - b.level);
}

/**
 * Throughput and latencies of all sweeps against the load, and latency against throughput. A function of the documents alone; nothing
 * where no level was measured.
 */
export function sweepsSections(sides: readonly SweepSide[]): PageSection[] {
  const known = sides.map(({ document }) => ({ document, levels: measured(document) }));
  const levels = known.flatMap((one) => one.levels);
  const axis: SweepAxis = sides[0]?.document.axis ?? 'concurrency';
  if (levels.length === 0) return [];
  const lines = (name: string, dash: number, read: (level: SweepLevel) => number | null | undefined): PageSeries[] =>
    known.map(({ levels: own }, k) => ({
      name: `${name} ${letter(k)}`,
      shape: 'line',
      points: own.map((level): Point => [level.level, roundedOrNull(read(level))]),
      place: k,
      dash,
    }));
  const latency = (name: string, key: 'ttft' | 'tpot' | 'e2el'): PagePanel => ({
    y: { name: `${name}, ms`, kind: 'ms', min: 0 },
    series: [
      ...lines(`${name} median`, 0, (level) => level[key]?.median_ms),
      ...lines(`${name} p99`, 1, (level) => level[key]?.p99_ms),
    ],
  });
  return [
    {
      id: 'curves',
      title: 'Throughput and latency by load',
      words: ['Medians are full lines, p99 dashed; each sweep has its colour and symbol in all plots.'],
      chart: {
        type: 'xy',
        x: loadAxis(unitOf(axis), levels),
        marks: kneeMarks(sides),
        panels: [
          {
            y: { name: 'tokens/s', kind: 'rate', min: 0 },
            series: lines('tokens/s', 0, ({ output_throughput: rate }) => rate),
          },
          latency('TTFT', 'ttft'),
          latency('TPOT', 'tpot'),
        ],
      },
      chartText: known
        .map(
          ({ levels: own }, k) =>
            `${letter(k)}: ${own.map(({ level, output_throughput: rate }) => `${level}: ${figure(rate)}`).join(', ')} tokens/s`,
        )
        .join('; '),
      table: levelsTable(
        known.map((one) => one.levels),
        unitOf(axis),
      ),
      isTableFolded: true,
    },
    paretoSection(
      known.map((one) => one.levels),
      unitOf(axis),
    ),
  ];
}

function roundedOrNull(value: number | null | undefined): number | null {
  return value == null ? null : rounded(value);
}

/** Sweeps with the same knee share a line. */
function kneeMarks(sides: readonly SweepSide[]): { x: number; label: string }[] {
  const byKnee = new Map<number, string[]>();
  for (const [k, { document }] of sides.entries()) {
    const { knee } = document.answer;
    if (knee !== null) byKnee.set(knee, [...(byKnee.get(knee) ?? []), letter(k)]);
  }
  return [...byKnee].map(([x, names]) => ({ x, label: `knee ${names.join(', ')}: ${x}` }));
}

function levelsTable(known: readonly (readonly SweepLevel[])[], unit: string): PageTable {
  const all = [...new Set(known.flat().map(({ level }) => level))].sort((a, b) => a - b);
  const cells = (own: readonly SweepLevel[], level: number): Cell[] => {
    const found = own.find((one) => one.level === level);
    return [found?.output_throughput, found?.ttft?.median_ms, found?.ttft?.p99_ms, found?.tpot?.median_ms].map(
      (value) => ({ value: value ?? null, digits: 1 }),
    );
  };
  return {
    caption: 'Levels of all sweeps; latencies in ms',
    columns: [
      unit,
      ...known.flatMap((_, k) =>
        ['tokens/s', 'TTFT median', 'TTFT p99', 'TPOT median'].map((name) => `${name} ${letter(k)}`),
      ),
    ],
    rows: all.map((level) => [String(level), ...known.flatMap((own) => cells(own, level))]),
  };
}

function paretoSection(known: readonly (readonly SweepLevel[])[], unit: string): PageSection {
  const points = known.map((own) => own.filter(({ e2el }) => e2el !== null));
  return {
    id: 'pareto',
    title: 'Latency against throughput',
    words: [
      'Each point is a level: right is better, down is better. The curve farther down on the right is the better server.',
    ],
    chart: {
      type: 'xy',
      x: { name: 'output tokens/s', kind: 'rate' },
      panels: [
        {
          y: { name: 'E2EL median, ms', kind: 'ms', min: 0 },
          series: points.map((own, k) => ({
            name: `${letter(k)} (${unit})`,
            shape: 'line',
            points: own.map(
              ({ output_throughput: rate, e2el }): Point => [rounded(rate), rounded(e2el?.median_ms ?? 0)],
            ),
            labels: own.map(({ level }) => String(level)),
            dash: k,
          })),
        },
      ],
    },
    chartText: points
      .map(
        (own, k) =>
          `${letter(k)}: ${own.map(({ level, output_throughput: rate, e2el }) => `${level}: ${figure(rate)} tokens/s at ${figure(e2el?.median_ms ?? 0)} ms`).join(', ')}`,
      )
      .join('; '),
  };
}

function levelSection(compared: ComparedSweeps, k: number, isNumbered: boolean, margin: number): PageSection {
  const { axis, levels, b } = compared;
  const rows = levels.flatMap(({ level, differences }) =>
    differences.map((difference: Difference): NamedDifference => ({ name: `${level}: ${difference.key}`, difference })),
  );
  const drawn = rows.filter(({ difference }) => DRAWN.has(difference.key));
  return {
    id: `comparison-${k + 1}`,
    title: isNumbered ? `Differences by level, ${letter(k + 1)}` : 'Differences by level',
    words: [
      `B: ${b} against A: ${compared.a}, at each level (${unitOf(axis)}) that both have. A dot left of 0 is less, right of it more.`,
    ],
    chart: differencesChart(drawn, margin),
    chartText: drawn
      .filter(({ difference }) => difference.relative !== null)
      .map(({ name, difference }) => `${name} ${signedPercent(difference.relative ?? 0)}`)
      .join(', '),
    table: differencesTable(rows, unitOf(axis)),
    isTableFolded: true,
  };
}
