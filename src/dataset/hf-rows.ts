/** Rows of local files for the `hf` data set: Parquet, JSON (one list of objects) or JSON lines, read a part at a time. */
import { constants } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { extname } from 'node:path';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { parsePythonJson } from '../python-json.ts';
import { eachChunk, openInput } from './input-file.ts';
import { eachLine } from './lines.ts';
import { kindOf } from './text.ts';

/** One row. */
export interface HfRow {
  /** File and place, for messages. */
  readonly where: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The rows of one file. */
export interface HfFile {
  readonly path: string;
  readonly count: number;
  /** Names of the columns (JSON: those of the first row). */
  readonly columns: readonly string[];
  /** Rows `from` to before `to`; Parquet reads only `columns`. Throws a usage error naming the place of what is damaged. */
  read(from: number, to: number, columns: readonly string[]): Promise<readonly HfRow[]>;
  close(): Promise<void>;
}

/** Opens a file of any of the three formats, told by its first bytes. */
export async function openHfFile(path: string): Promise<HfFile> {
  const magic = await firstBytes(path);
  if (magic.startsWith('PAR1') || extname(path).toLowerCase() === '.parquet') {
    return (await import('./hf-parquet.ts')).openParquet(path);
  }
  return /^(\ufeff|\xef\xbb\xbf)?\s*\[/.test(magic) ? openJsonList(path) : openJsonLines(path);
}

/** The beginning of a file as Latin-1; '' when it cannot be read (whoever opens it says why). */
export async function firstBytes(path: string): Promise<string> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } catch (error) {
    if (codeOf(error) === '') throw error;
    return '';
  } finally {
    await handle?.close();
  }
}

async function openJsonLines(path: string): Promise<HfFile> {
  const lines: { readonly line: number; readonly text: string }[] = [];
  const file = await openInput(path);
  try {
    await eachLine(file, 'JSON lines have one object on each line', (text, line) => {
      if (text.trim() !== '') lines.push({ line, text });
    });
  } finally {
    await file.handle.close();
  }
  const rowAt = (at: number): HfRow => {
    const { line, text } = lines[at]!;
    return { where: `${path}, line ${line}`, values: parsedLine(path, line, text) };
  };
  if (lines.length === 0) throw noRows(path);
  return fileOf(path, lines.length, rowAt);
}

function parsedLine(path: string, line: number, text: string): Readonly<Record<string, unknown>> {
  try {
    return objectOf(`${path}, line ${line}`, parsePythonJson(text));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(
      `${path}, line ${line}: not a JSON object`,
      'JSON lines have one whole object on each line; the line may be cut off, or the file of another format.',
      error,
    );
  }
}

async function openJsonList(path: string): Promise<HfFile> {
  const list = await parsedFile(path);
  if (list.length === 0) throw noRows(path);
  return fileOf(path, list.length, (at) => {
    const where = `${path}, entry ${at}`;
    return { where, values: objectOf(where, list[at]) };
  });
}

async function parsedFile(path: string): Promise<readonly unknown[]> {
  const file = await openInput(path);
  try {
    if (file.size > constants.MAX_STRING_LENGTH) {
      throw usageError(
        `${path} is larger than 512 MB`,
        'Convert the list to JSON lines: jq -c ".[]" FILE > FILE.jsonl',
      );
    }
    const chunks: Buffer[] = [];
    await eachChunk(file, (chunk) => chunks.push(Buffer.from(chunk)));
    return parsePythonJson(Buffer.concat(chunks).toString('utf8')) as readonly unknown[];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(`${path} is not valid JSON: ${messageOf(error)}`, 'It may be cut off: get the file again.', error);
  } finally {
    await file.handle.close();
  }
}

function objectOf(where: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw usageError(`${where}: ${kindOf(value)} where a JSON object should be`);
}

function noRows(path: string): Error {
  return usageError(`${path} has no rows`, 'The download or copy may have failed: get the file again.');
}

function fileOf(path: string, count: number, rowAt: (at: number) => HfRow): HfFile {
  return {
    path,
    count,
    columns: Object.keys(rowAt(0).values),
    async read(from, to) {
      return Array.from({ length: Math.max(0, Math.min(to, count) - from) }, (_, i) => rowAt(from + i));
    },
    async close() {},
  };
}
