/** The folder of a sweep: `sweep.json` and `sweep.csv`, written anew after each level, and read again by `--resume`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { optionsForRecord } from '../options/redact.ts';
import type { SweepOptions } from '../options/table.ts';
import { lockRecords, unlockRecords } from '../record/record-lock.ts';
import { SWEEP_SCHEMA, type SweepDocument, type SweepLevel } from '../record/sweep.ts';
import { checkWritable, writeWhole } from '../report/result-file.ts';
import { sweepCsv } from '../report/sweep-table.ts';

const NAME = 'sweep.json';

/** Options that may differ between a sweep and its resumption: they change nothing that a level measures. */
const MAY_DIFFER = new Set([
  'request_id_prefix',
  'max_duration_ms',
  'ready_timeout_ms',
  'workers',
  'max_exact_values',
  'max_errors',
]);

/** Folders that are held, and their locks. */
const locks = new Map<string, string>();

/**
 * Finds out that the folder can be written, holds it against other sweeps and, without `--resume`, finds no sweep in it.
 * @throws a usage error
 */
export async function claimFolder(folder: string, isResumed: boolean): Promise<void> {
  const path = join(folder, NAME);
  await checkWritable(path, isResumed ? '--resume' : '--sweep-dir');
  const lock = await lockRecords(path, (holder) =>
    usageError(`another sweep (process ${holder}) is at work in ${folder}`, 'Give each sweep a folder of its own.'),
  );
  if (lock !== null) locks.set(folder, lock);
  if (!isResumed && existsSync(path) && !(await isEmptySweep(folder))) {
    throw usageError(
      `--sweep-dir: ${folder} holds a sweep already`,
      `Go on with it by --resume ${folder}, or name another.`,
    );
  }
}

/** A sweep that ended before its first level has nothing to lose. */
async function isEmptySweep(folder: string): Promise<boolean> {
  const found = await readSweep(folder).catch(() => null);
  return found !== null && found.levels.length === 0;
}

/** Gives the folder back. */
export async function releaseFolder(folder: string): Promise<void> {
  const lock = locks.get(folder);
  locks.delete(folder);
  if (lock !== undefined) await unlockRecords(lock);
}

/**
 * Reads the sweep in a folder.
 * @throws a usage error: no sweep there, damaged, or of another version
 */
export async function readSweep(folder: string): Promise<SweepDocument> {
  const path = join(folder, NAME);
  let found: unknown;
  try {
    found = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? `there is no ${NAME} in it` : messageOf(error);
    throw usageError(`--resume ${folder}: ${why}`, 'Name the folder that an earlier sweep has written.', error);
  }
  const { schema, levels } = (found ?? {}) as Partial<SweepDocument>;
  if (schema !== SWEEP_SCHEMA) {
    throw usageError(
      `--resume: ${path} has schema ${JSON.stringify(schema ?? null)}, not ${SWEEP_SCHEMA}`,
      'It is of another version of tabby-load, or no sweep: begin a new one.',
    );
  }
  if (!Array.isArray(levels)) throw usageError(`--resume: ${path} is damaged: it has no levels`, 'Begin a new sweep.');
  return found as SweepDocument;
}

/**
 * The levels of an earlier sweep that need not be measured again.
 * @throws a usage error when it was another sweep: other options, samples or server
 */
export function keptLevels(earlier: SweepDocument, now: SweepDocument, folder: string): readonly SweepLevel[] {
  const differing = differences(earlier, now);
  if (differing.length > 0) {
    throw usageError(
      `--resume ${folder}: that is another sweep: ${differing.slice(0, 5).join(', ')} ${differing.length === 1 ? 'differs' : 'differ'}`,
      'Give the same options as then, or begin a new sweep in another folder.',
    );
  }
  return earlier.levels.filter(({ status }) => status === 'done');
}

function differences(earlier: SweepDocument, now: SweepDocument): string[] {
  // As JSON keeps them: Infinity and undefined do not survive it.
  const [before, after] = [earlier, now].map((document) => JSON.parse(JSON.stringify(document)) as SweepDocument);
  if (before === undefined || after === undefined) return [];
  const names = new Set([...Object.keys(before.options ?? {}), ...Object.keys(after.options)]);
  const options = [...names]
    .filter((name) => !MAY_DIFFER.has(name) && !isDeepStrictEqual(before.options?.[name], after.options[name]))
    .map(
      (name) =>
        `--${name
          .replaceAll('_', '-')
          .replace(/^sweep-(max-)?/, '')
          .replace(/-(ms|bytes)$/, '')}`,
    );
  return [
    ...options,
    ...(before.samples_sha256 === after.samples_sha256 ? [] : ['the samples']),
    ...(before.server?.['model'] === after.server['model'] ? [] : ['the model of the server']),
  ];
}

/** Options as `sweep.json` keeps them. */
export function optionsOfSweep(options: SweepOptions): Readonly<Record<string, unknown>> {
  return optionsForRecord(options);
}

/** Writes both files, each whole or not at all. */
export async function saveSweep(folder: string, document: SweepDocument): Promise<void> {
  const text = JSON.stringify(document, null, 2);
  await writeWhole(join(folder, NAME), [text, '\n'], '--sweep-dir');
  await writeWhole(join(folder, 'sweep.csv'), [sweepCsv(document)], '--sweep-dir');
}
