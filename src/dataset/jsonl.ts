/** JSON lines, read as a stream: one JSON object on each line, blank lines allowed (Spec-Bench, custom data sets). */
import { usageError } from '../errors.ts';
import { parsePythonJson } from '../python-json.ts';
import type { InputFile } from './input-file.ts';
import { eachLine } from './lines.ts';
import { kindOf } from './text.ts';

/** One row of a file. */
export interface JsonLine {
  /** Line in the file, from 1, blank ones counted. */
  readonly line: number;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Hands each row to `take`. Throws a usage error naming file and line when a line is no JSON object. `chunkBytes` is for tests. */
export async function eachJsonLine(file: InputFile, take: (row: JsonLine) => void, chunkBytes?: number): Promise<void> {
  await eachLine(
    file,
    'JSON lines have one object on each line',
    (line, number) => {
      const text = line.trim();
      if (text !== '') take({ line: number, row: parseRow(file, number, text) });
    },
    chunkBytes,
  );
}

function parseRow(file: InputFile, line: number, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parsePythonJson(text);
  } catch (error) {
    throw usageError(
      `${file.path}, line ${line}: not a JSON object`,
      'JSON lines have one whole object on each line; the line may be cut off, or the file of another format.',
      error,
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usageError(`${file.path}, line ${line}: ${kindOf(value)} where a JSON object should be`);
  }
  return value as Record<string, unknown>;
}
