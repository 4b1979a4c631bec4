/** A file line by line, without holding it: what JSON lines and CSV are read by. */
import { usageError } from '../errors.ts';
import { eachChunk, type InputFile } from './input-file.ts';

/** A longer line is taken for a file of another kind rather than held in memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

/**
 * Hands each line to `take`, without its line feed, with its number from 1. A last line without line feed counts when it is not empty.
 * `format` says in a hint what the lines should be; `chunkBytes` is for tests.
 */
export async function eachLine(
  file: InputFile,
  format: string,
  take: (text: string, line: number) => void,
  chunkBytes?: number,
): Promise<void> {
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
        `${format}; is this file of another format?`,
      );
    }
  };
  const finish = (bytes: Buffer) => {
    line++;
    const text = (held.length === 0 ? bytes : Buffer.concat([...held, bytes])).toString('utf8');
    held = [];
    heldBytes = 0;
    take(text, line);
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
