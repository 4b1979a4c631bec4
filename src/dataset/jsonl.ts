/** JSON lines, read as a stream: one JSON object on each line, blank lines allowed (Spec-Bench, custom data sets). */
import { usageError } from '../errors.ts';
import { eachChunk, type InputFile } from './input-file.ts';
import { kindOf } from './text.ts';

/** A longer line is taken for a file of another kind rather than held in memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** One row of a file. */
export interface JsonLine {
  /** Line in the file, from 1, blank ones counted. */
  readonly line: number;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Hands each row to `take`. Throws a usage error naming file and line when a line is no JSON object. `chunkBytes` is for tests. */
export async function eachJsonLine(file: InputFile, take: (row: JsonLine) => void, chunkBytes?: number): Promise<void> {
  let line = 0;
  let held: Buffer[] = [];
  let heldBytes = 0;
  const hold = (bytes: Buffer) => {
    // A copy: the chunk's memory is used again.
    held.push(Buffer.from(bytes));
    heldBytes += bytes.length;
    if (heldBytes > MAX_LINE_BYTES) {
      throw usageError(
        `${file.path}: line ${line + 1} is longer than 256 MB`,
        'JSON lines have one object on each line; is this file of another format?',
      );
    }
  };
  const finish = (bytes: Buffer) => {
    line++;
    const text = (held.length === 0 ? bytes : Buffer.concat([...held, bytes])).toString('utf8').trim();
    held = [];
    heldBytes = 0;
    if (text !== '') take({ line, row: parseRow(file, line, text) });
  };
  await eachChunk(
    file,
    (chunk) => {
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        finish(chunk.subarray(start, end));
        start = end + 1;
      }
      if (start < chunk.length) hold(chunk.subarray(start));
    },
    chunkBytes,
  );
  if (held.length > 0) finish(Buffer.alloc(0));
}

function parseRow(file: InputFile, line: number, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
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
