/** Where the result JSON goes and how it gets there. */
import { constants } from 'node:fs';
import { access, appendFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, parse } from 'node:path';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { resultChunks } from './json.ts';
import { pythonFloat } from './python-format.ts';
import type { ReportSettings } from './settings.ts';

/** Options that say where the result goes. */
export interface ResultPlace {
  readonly resultDir: string | null;
  readonly resultFilename: string | null;
}

/** Stands for the name of a result that is not known before the run: what is tried is its folder. */
export const PROBE_NAME = '.tabby-load-probe';

/** Longest name of a file on common file systems, in bytes. */
const MAX_NAME = 255;

/**
 * Path of the result file as vLLM forms it: `{label or backend}-{rate}qps[-concurrency{n}]-{model}-{date}.json`, for a ramp
 * `{label}-ramp-up-{strategy}-{start}qps-{end}qps…`, in `--result-dir`; or `--result-filename`. Names that come from the server or from a
 * label stay in that folder, whatever they hold.
 * @param date local start time, `%Y%m%d-%H%M%S`
 */
export function resultPath(settings: ReportSettings, place: ResultPlace, date: string): string {
  const name = place.resultFilename ?? resultFileName(settings, date);
  return place.resultDir === null || isAbsolute(name) ? name : join(place.resultDir, name);
}

/** The default name alone, see {@link resultPath}. */
export function resultFileName(settings: ReportSettings, date: string): string {
  const { label, backend, ramp, requestRate, maxConcurrency, modelId } = settings;
  const rate =
    ramp === null
      ? `${pythonFloat(requestRate)}qps`
      : `ramp-up-${ramp.strategy}-${String(ramp.startRps)}qps-${String(ramp.endRps)}qps`;
  const concurrency = maxConcurrency === null ? '' : `-concurrency${maxConcurrency}`;
  const model = safeName((modelId ?? '').split('/').at(-1) ?? '') || 'model';
  const front = `${safeName(label ?? backend)}-${safeName(rate)}${concurrency}-`;
  const end = `-${date}.json`;
  return `${shortened(front + model, MAX_NAME - end.length)}${end}`;
}

/** Path of a file beside the result: the result's name with another ending in place of its last, as Python's `with_suffix` puts it. */
export function beside(path: string, suffix: string): string {
  const { dir, name } = parse(path);
  return join(dir, `${shortened(name, MAX_NAME - suffix.length)}${suffix}`);
}

/** Text that is one part of a path and nothing else. */
function safeName(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  const name = text.replace(/[/\\:*?"<>|\u0000-\u001f\u007f]/g, '_');
  return /^\.+$/.test(name) ? name.replaceAll('.', '_') : name;
}

/** The text cut to so many bytes of UTF-8, between characters. */
function shortened(text: string, bytes: number): string {
  let out = text;
  while (Buffer.byteLength(out) > bytes) out = [...out].slice(0, -1).join('');
  return out;
}

/**
 * Makes the folder and finds out whether the file can be written, before the first request is sent. Nothing is changed in an
 * existing file.
 * @param option what to name in the message: `--result-dir`, `--json`, …
 * @throws a usage error
 */
export async function checkWritable(path: string, option: string): Promise<void> {
  const shown = basename(path) === PROBE_NAME ? dirname(path) : path;
  try {
    await makeFolder(dirname(path));
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory()) throw usageError(`${option}: ${path} is a folder`, 'Give a file name.');
    if (found !== null) await access(path, constants.W_OK);
    if (found?.isFile() === false) return;
    await rm(await temporaryFile(path), { force: true });
  } catch (error) {
    if (codeOf(error) === '') throw error;
    throw usageError(
      `${option}: ${shown} cannot be written: ${messageOf(error).replaceAll(path, shown)}`,
      'Choose a place that can be written.',
      error,
    );
  }
}

/**
 * Writes the result: whole or not at all (a file beside it takes its place at the end), or with `append` on a line of its own behind
 * what is there, as vLLM does.
 * @throws a usage error when it cannot be written
 */
export async function writeResult(
  path: string,
  result: ReadonlyMap<string, unknown>,
  append: boolean,
  option: string,
): Promise<void> {
  if (append) await appendChunks(path, resultChunks(result), option);
  else await writeWhole(path, resultChunks(result), option);
}

/**
 * Makes a folder and those above it. Not by mkdir's `recursive`, which tries for ever where the system denies a folder as missing
 * (below /proc).
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' || (code !== 'ENOENT' && (await stat(path).catch(() => null))?.isDirectory())) return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path);
  }
}

/** Writes a file whole or not at all, in UTF-8. Devices and pipes are written directly. */
export async function writeWhole(path: string, chunks: Iterable<string>, option: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
    const found = await stat(path).catch(() => null);
    const isPlain = found === null || found.isFile();
    const target = isPlain ? await temporaryFile(path) : path;
    try {
      await writeChunks(target, chunks);
      if (isPlain) await rename(target, path);
    } catch (error) {
      if (isPlain) await rm(target, { force: true });
      throw error;
    }
  } catch (error) {
    throw cannotWrite(path, option, error);
  }
}

async function appendChunks(path: string, chunks: Iterable<string>, option: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
    const size = (await stat(path).catch(() => null))?.size ?? 0;
    if (size > 0) await appendFile(path, '\n');
    for (const chunk of gathered(chunks)) await appendFile(path, chunk);
  } catch (error) {
    throw cannotWrite(path, option, error);
  }
}

async function writeChunks(path: string, chunks: Iterable<string>): Promise<void> {
  const file = await open(path, 'w');
  try {
    for (const chunk of gathered(chunks)) await file.appendFile(chunk);
    await file.sync().catch(() => undefined);
  } finally {
    await file.close();
  }
}

/** Small pieces joined to pieces of a few hundred kilobytes. */
function* gathered(chunks: Iterable<string>): Generator<string> {
  let parts: string[] = [];
  let length = 0;
  for (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length < 1 << 18) continue;
    yield parts.join('');
    parts = [];
    length = 0;
  }
  if (parts.length > 0) yield parts.join('');
}

/** An empty file beside `path`, to be renamed to it. */
async function temporaryFile(path: string): Promise<string> {
  const name = shortened(basename(path), MAX_NAME - 30);
  const temporary = join(dirname(path), `.${name}.${process.pid}.tmp`);
  await (await open(temporary, 'w')).close();
  return temporary;
}

function cannotWrite(path: string, option: string, error: unknown): Error {
  return usageError(
    `${option}: ${path} cannot be written: ${messageOf(error)}`,
    'The records, if they were saved, hold everything: run "tabby-load report" on them to write the result elsewhere.',
    error,
  );
}
