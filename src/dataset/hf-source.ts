/** Finds the files of an `hf` data set: a local file, the files of a split in a local folder, or those of a name on the hub. */
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { usageError } from '../errors.ts';
import type { DataSetRequest } from './data-set.ts';
import { hubFiles } from './hf-hub.ts';
import { HF_KINDS, HF_OTHERS, type HfKind, kindByColumns, kindByName } from './hf-kinds.ts';
import { type HfFile, openHfFile } from './hf-rows.ts';

/** An opened data set. The caller closes the files. */
export interface HfSource {
  readonly kind: HfKind;
  /** The kind was named; else its columns told it. */
  readonly isNamed: boolean;
  readonly files: readonly HfFile[];
}

/** The words by which `datasets` tells the splits of a folder's files. */
const SPLIT_WORDS: Readonly<Record<string, readonly string[]>> = {
  train: ['train', 'training'],
  validation: ['validation', 'valid', 'dev', 'val'],
  test: ['test', 'testing', 'eval', 'evaluation'],
};

/** Opens what `--dataset-path`, `--hf-name`, `--hf-subset` and `--hf-split` name. */
export async function openSource(request: DataSetRequest): Promise<HfSource> {
  const path = request.path!;
  const found = await stat(path).catch(() => null);
  const named = namedKind(request.hfName ?? path, request.hfName !== null || found === null);
  const paths =
    found === null
      ? await hubFiles({
          name: path,
          subset: request.hfSubset ?? named!.subset,
          split: request.hfSplit ?? named!.split,
        })
      : found.isDirectory()
        ? await folderFiles(path, request, named)
        : [path];
  const files = await openAll(paths);
  try {
    return {
      kind: checkedKind(named ?? kindByColumns(files[0]!.columns), files[0]!),
      isNamed: named !== undefined,
      files,
    };
  } catch (error) {
    await Promise.all(files.map((file) => file.close()));
    throw error;
  }
}

/** The kind of a hub name. `must`: nothing else tells the kind. */
function namedKind(name: string, must: boolean): HfKind | undefined {
  const kind = kindByName(name);
  if (kind !== undefined || !must) return kind;
  const option = `--dataset-path/--hf-name ${name}`;
  const known = `Known are ${HF_KINDS.flatMap((each) => each.hubNames).join(', ')}.`;
  if (HF_OTHERS.includes(name)) {
    throw usageError(
      `${option}: this data set holds images, video, sound or tools, which are not in this version`,
      known,
    );
  }
  throw usageError(
    `${option}: there is no such file, and vLLM knows no data set of that name`,
    `${known} A local file with the same columns is read without --hf-name.`,
  );
}

async function folderFiles(
  folder: string,
  request: DataSetRequest,
  named: HfKind | undefined,
): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const all = entries
    .filter((entry) => entry.isFile() && /\.(parquet|jsonl?)$/i.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (all.length === 0) {
    throw usageError(
      `${folder} holds no Parquet, JSON or JSON lines files`,
      'Give the file itself with --dataset-path.',
    );
  }
  const words = (path: string) =>
    relative(folder, path)
      .toLowerCase()
      .split(/[^a-z0-9]+/);
  const subset = (request.hfSubset ?? '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const inSubset = all.filter((path) => subset.every((word) => words(path).includes(word)));
  if (inSubset.length === 0) {
    throw usageError(`--hf-subset ${request.hfSubset}: no file in ${folder} belongs to it`, `It holds ${list(all)}.`);
  }
  const split = request.hfSplit ?? named?.split ?? 'train';
  const ofSplit = (name: string) =>
    inSubset.filter((path) => (SPLIT_WORDS[name] ?? [name.toLowerCase()]).some((word) => words(path).includes(word)));
  const chosen = ofSplit(split);
  if (chosen.length > 0) return chosen;
  const others = Object.keys(SPLIT_WORDS).filter((name) => ofSplit(name).length > 0);
  // Files whose names tell no split are one split, as in `datasets`.
  if (others.length === 0) return inSubset;
  throw usageError(`--hf-split ${split}: no file in ${folder} belongs to it`, `There are ${others.join(' and ')}.`);
}

function list(paths: readonly string[]): string {
  return paths.length <= 5 ? paths.join(', ') : `${paths.slice(0, 5).join(', ')} and ${paths.length - 5} more`;
}

async function openAll(paths: readonly string[]): Promise<readonly HfFile[]> {
  const files: HfFile[] = [];
  try {
    for (const path of paths) files.push(await openHfFile(path));
    return files;
  } catch (error) {
    await Promise.all(files.map((file) => file.close()));
    throw error;
  }
}

function checkedKind(kind: HfKind | undefined, file: HfFile): HfKind {
  if (kind === undefined) {
    throw usageError(
      `${file.path} has none of the sets of columns that vLLM's hf data sets have: it has ${file.columns.join(', ')}`,
      `Known are ${HF_KINDS.map((each) => each.columns.join(' + ')).join('; ')}.`,
    );
  }
  const missing = kind.columns.filter((column) => !file.columns.includes(column));
  if (missing.length === 0) return kind;
  throw usageError(
    `${file.path} lacks the column ${missing.join(', ')} of ${kind.label} data sets`,
    `It has ${file.columns.join(', ')}; name the right data set with --hf-name.`,
  );
}
