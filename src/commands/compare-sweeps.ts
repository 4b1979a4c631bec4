/** Whole sweeps side by side: level by level as two runs are, and their answers. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { differences, objections } from '../aggregate/comparison.ts';
import {
  answerFigures,
  type ComparedLevel,
  type ComparedSweeps,
  matchLevels,
  sweepObjections,
} from '../aggregate/sweep-comparison.ts';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { SWEEP_SCHEMA, type SweepDocument, type SweepLevel } from '../record/sweep.ts';
import { type ComparedRun, loadRun } from './compare-load.ts';

const NAME = 'sweep.json';

/** A sweep on the disk. */
export interface LoadedSweep {
  /** As it was named on the command line. */
  readonly name: string;
  readonly folder: string;
  readonly document: SweepDocument;
}

/**
 * Reads a sweep: its folder or its `sweep.json`.
 * @returns null when the path is neither, so that it may be a result or records
 * @throws a usage error: a folder without a sweep, a damaged one, or one of another version
 */
export async function loadSweep(name: string): Promise<LoadedSweep | null> {
  const isFolder = await stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder && !name.endsWith('.json')) return null;
  const path = isFolder ? join(name, NAME) : name;
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (!isFolder) return '';
    const why = codeOf(error) === 'ENOENT' ? `there is no ${NAME} in it` : messageOf(error);
    throw usageError(`${name}: ${why}`, 'Of folders, those of sweeps are compared (--sweep-dir).', error);
  });
  const document = parsed(text);
  const schema = document?.['schema'];
  const isSweep = typeof schema === 'string' && schema.startsWith('tabby-load.sweep/');
  if (!isSweep && !isFolder) return null;
  if (schema !== SWEEP_SCHEMA) {
    const what = document === null ? 'is damaged: no JSON' : `has schema ${JSON.stringify(schema ?? null)}`;
    throw usageError(`${path} ${what}, not ${SWEEP_SCHEMA}`, 'Use the version that wrote it, or sweep again.');
  }
  if (!Array.isArray(document?.['levels']) || document['answer'] === undefined)
    throw usageError(`${path} is damaged: it has no levels or no answer`, 'Sweep again.');
  return { name, folder: dirname(path), document: document as unknown as SweepDocument };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * Compares two sweeps.
 * @param margin share below which a difference is none
 * @throws a usage error: nothing in common, or not comparable without `force`
 */
export async function compareSweeps(
  first: LoadedSweep,
  other: LoadedSweep,
  margin: number,
  force: boolean,
): Promise<ComparedSweeps> {
  const [a, b] = [first.document, other.document];
  const names = `${first.name} and ${other.name}`;
  if (a.axis !== b.axis) {
    const words = (axis: SweepDocument['axis']): string => (axis === 'concurrency' ? 'concurrency' : 'request rate');
    throw usageError(
      `${names} have no level in common: one was swept by ${words(a.axis)}, the other by ${words(b.axis)}`,
      'Compare sweeps of the same kind.',
    );
  }
  const { both, onlyA, onlyB } = matchLevels(a, b);
  if (both.length === 0) {
    throw usageError(
      `${names} have no level in common: ${listed(onlyA)} and ${listed(onlyB)}`,
      'Sweep the same levels, such as --concurrency 1,2,4,8.',
    );
  }
  const reasons = sweepObjections(a, b);
  if (reasons.length > 0 && !force) throw notComparable(names, reasons);
  const levels: ComparedLevel[] = [];
  for (const [x, y] of both) {
    const [runA, runB] = [await runOf(first, x), await runOf(other, y)];
    const against = objections(runA.result, runB.result).filter((reason) => !reasons.includes(reason));
    if (against.length > 0 && !force) throw notComparable(`level ${x.level} of ${names}`, against);
    levels.push({ level: x.level, not_comparable: against, differences: differences(runA, runB, margin) });
  }
  return {
    a: first.name,
    b: other.name,
    axis: a.axis,
    not_comparable: reasons,
    levels,
    only_a: onlyA,
    only_b: onlyB,
    answer_a: a.answer,
    answer_b: b.answer,
    answers: answerFigures(a.answer, b.answer),
  };
}

/** What a level measured: its records, which have values per request, else its result. */
async function runOf(
  { folder }: LoadedSweep,
  { level, records_file: records, result_file: result }: SweepLevel,
): Promise<ComparedRun> {
  for (const file of [records, result]) {
    const path = join(folder, file);
    if (file !== '' && (await stat(path).catch(() => null)) !== null) return loadRun(path);
  }
  throw usageError(
    `${folder}: the files of level ${level} (${result}, ${records}) are gone`,
    'Keep the folder of a sweep together.',
  );
}

function notComparable(names: string, reasons: readonly string[]): Error {
  return usageError(
    `${names} are not comparable: ${reasons.join('; ')}`,
    'Compare runs of the same samples, model and load, or say --force.',
  );
}

function listed(levels: readonly number[]): string {
  return levels.length === 0 ? 'none measured' : levels.join(', ');
}
