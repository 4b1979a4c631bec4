/** Two sweeps side by side: which levels both have, and how their answers differ. */
import type { SweepAnswer, SweepDocument, SweepLevel } from '../record/sweep.ts';
import type { Difference } from './comparison.ts';

/** One level that both sweeps measured. */
export interface ComparedLevel {
  /** Streams, or requests per second. */
  readonly level: number;
  /** Why the two are not comparable; empty when they are. */
  readonly not_comparable: readonly string[];
  readonly differences: readonly Difference[];
}

/** A sweep against the first one. */
export interface ComparedSweeps {
  readonly a: string;
  readonly b: string;
  readonly axis: SweepDocument['axis'];
  /** Why the sweeps as a whole are not comparable; empty when they are. */
  readonly not_comparable: readonly string[];
  readonly levels: readonly ComparedLevel[];
  /** Levels that only one of them measured to the end. */
  readonly only_a: readonly number[];
  readonly only_b: readonly number[];
  readonly answer_a: SweepAnswer;
  readonly answer_b: SweepAnswer;
  /** `knee` and `knee_throughput`, where both sweeps have them. */
  readonly answers: readonly AnswerFigure[];
}

/** A figure of two answers. Without an interval: a sweep is measured once. */
export interface AnswerFigure {
  readonly key: 'knee' | 'knee_throughput';
  readonly a: number;
  readonly b: number;
  /** (b − a) / a; null when a is 0. */
  readonly relative: number | null;
}

/** Levels of both by their number, in rising order. What failed or was broken off counts as not measured. */
export function matchLevels(
  a: SweepDocument,
  b: SweepDocument,
): {
  readonly both: readonly (readonly [SweepLevel, SweepLevel])[];
  readonly onlyA: readonly number[];
  readonly onlyB: readonly number[];
} {
  const [byA, byB] = [measured(a), measured(b)];
  const rising = (map: ReadonlyMap<number, SweepLevel>): number[] => [...map.keys()].toSorted((x, y) => x - y);
  return {
    both: rising(byA).flatMap((level) => {
      const [x, y] = [byA.get(level), byB.get(level)];
      return x === undefined || y === undefined ? [] : [[x, y] as const];
    }),
    onlyA: rising(byA).filter((level) => !byB.has(level)),
    onlyB: rising(byB).filter((level) => !byA.has(level)),
  };
}

function measured({ levels }: SweepDocument): ReadonlyMap<number, SweepLevel> {
  return new Map(levels.filter(({ status }) => status === 'done').map((level) => [level.level, level]));
}

/** Why two sweeps are not comparable as a whole, one reason each. Other samples are found level by level too; here once. */
export function sweepObjections(a: SweepDocument, b: SweepDocument): string[] {
  const [modelA, modelB] = [a, b].map(({ server }) => server['model'] ?? null);
  return [
    ...(modelA === modelB ? [] : [`model: ${String(modelA)} and ${String(modelB)}`]),
    ...(a.samples_sha256 === b.samples_sha256 ? [] : ['samples: other prompts or lengths']),
  ];
}

/** The figures of the two answers that both have. */
export function answerFigures(a: SweepAnswer, b: SweepAnswer): AnswerFigure[] {
  return (['knee', 'knee_throughput'] as const).flatMap((key) => {
    const [x, y] = [a[key], b[key]];
    return x === null || y === null ? [] : [{ key, a: x, b: y, relative: x === 0 ? null : (y - x) / x }];
  });
}
