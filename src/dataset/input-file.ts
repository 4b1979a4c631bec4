/**
 * Opening and reading data set files. A data set may be larger than the longest string that V8 can hold (512 MB), so files are read
 * in chunks of bytes; and every way in which a file can be the wrong one gets a message that says so.
 */
import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { type AppError, codeOf, messageOf, usageError } from '../errors.ts';

/** Bytes read at a time. Large enough that the cost of a read vanishes, small enough to stay in the processor's cache. */
const CHUNK_BYTES = 1024 * 1024;

/** Room before each chunk for a UTF-8 sequence that the chunk before cut off; a multiple of 4 keeps the chunk aligned. */
const LEAD_BYTES = 4;

/** An open data set file. */
export interface InputFile {
  readonly path: string;
  readonly handle: FileHandle;
  /** Bytes. */
  readonly size: number;
  /** Where the text begins: 3 behind a UTF-8 byte order mark, else 0. */
  readonly start: number;
}

/** Opens a data set file. Throws a usage error when it is missing, empty, a folder, not readable or not plain text. */
export async function openInput(path: string): Promise<InputFile> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw openError(path, error);
  });
  try {
    const stat = await handle.stat();
    if (stat.isDirectory())
      throw usageError(`${path} is a folder`, 'Give the data set file itself with --dataset FILE.');
    if (!stat.isFile()) {
      throw usageError(
        `${path} is not an ordinary file`,
        'The data set is read more than once: save it to a file first.',
      );
    }
    if (stat.size === 0)
      throw usageError(`${path} is empty`, 'The download or copy may have failed: get the file again.');
    const file: InputFile = { path, handle, size: stat.size, start: 0 };
    const head = (await readRange(file, 0, 4)).toString('latin1');
    refuseOtherEncodings(path, head);
    return head.startsWith('\xef\xbb\xbf') ? { ...file, start: 3 } : file;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function openError(path: string, error: unknown): AppError {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return usageError(`the data set file ${path} does not exist`, 'Check the path given to --dataset.', error);
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return usageError(`the data set file ${path} may not be read`, 'Check its permissions.', error);
  }
  return usageError(`the data set file ${path} cannot be opened: ${messageOf(error)}`, '', error);
}

/** `magic` is the first four bytes as Latin-1. */
function refuseOtherEncodings(path: string, magic: string): void {
  const packed = [
    ['\x1f\x8b', 'gzip'],
    ['PK\x03\x04', 'zip'],
    ['\x28\xb5\x2f\xfd', 'zstd'],
    ['BZh', 'bzip2'],
    ['\xfd7zX', 'xz'],
  ].find(([start]) => magic.startsWith(start!));
  if (packed !== undefined) throw usageError(`${path} is packed (${packed[1]})`, 'Unpack it first.');
  if (magic.startsWith('PAR1')) {
    throw usageError(
      `${path} is a Parquet file`,
      'Read it with --dataset-name hf, or convert it to JSON or JSON lines first.',
    );
  }
  if (magic.startsWith('\xff\xfe') || magic.startsWith('\xfe\xff')) {
    throw usageError(`${path} is UTF-16 text`, 'Convert it to UTF-8 first, e.g. with iconv -f UTF-16 -t UTF-8.');
  }
}

/** `length` bytes from `offset`; fewer when the file ends there. */
export async function readRange(file: InputFile, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.handle.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/**
 * Hands the file to `take` chunk by chunk, checked to be UTF-8, without a byte order mark. While a chunk is worked on the next
 * one is read. The chunk's bytes are valid only during the call; their offset in the file is `offset`.
 */
export async function eachChunk(
  file: InputFile,
  take: (chunk: Buffer, offset: number) => void,
  chunkBytes = CHUNK_BYTES,
): Promise<void> {
  const utf8 = utf8Checker(file);
  let buffers = [chunkBuffer(chunkBytes), chunkBuffer(chunkBytes)] as const;
  const read = async (buffer: Buffer, offset: number) =>
    (await file.handle.read(buffer, LEAD_BYTES, chunkBytes, offset)).bytesRead;
  let offset = file.start;
  let pending = read(buffers[0], offset);
  for (;;) {
    const bytesRead = await pending;
    if (bytesRead === 0) break;
    const [current, next] = buffers;
    pending = read(next, offset + bytesRead);
    // A failed read is reported where it is awaited; without this line it would end the process when `take` throws first.
    pending.catch(() => {});
    utf8.check(current, bytesRead, offset);
    take(current.subarray(LEAD_BYTES, LEAD_BYTES + bytesRead), offset);
    offset += bytesRead;
    buffers = [next, current];
  }
  utf8.end(offset);
}

function chunkBuffer(chunkBytes: number): Buffer {
  // Not from the pool: the scanner wants chunks that begin at a multiple of four.
  return Buffer.allocUnsafeSlow(LEAD_BYTES + chunkBytes);
}

/** Checks chunks for UTF-8; a sequence that a chunk cuts off is put before the next chunk. */
function utf8Checker(file: InputFile) {
  let cut = Buffer.alloc(0);
  const invalid = (offset: number) =>
    usageError(
      `${file.path}: byte ${offset} is not UTF-8 text`,
      'The file is damaged or in another encoding: get it again, or convert it to UTF-8.',
    );
  return {
    check(buffer: Buffer, bytesRead: number, offset: number): void {
      const start = LEAD_BYTES - cut.length;
      cut.copy(buffer, start);
      const end = LEAD_BYTES + bytesRead;
      const whole = end - cutTail(buffer, start, end);
      const text = buffer.subarray(start, whole);
      if (!isUtf8(text)) throw invalid(offset - cut.length + firstInvalid(text));
      cut = Buffer.from(buffer.subarray(whole, end));
    },
    end(offset: number): void {
      if (cut.length > 0) throw invalid(offset - cut.length);
    },
  };
}

/** Number of bytes at the end of buffer[start, end) that begin a UTF-8 sequence without ending it: 0 to 3. */
function cutTail(buffer: Buffer, start: number, end: number): number {
  for (let back = 1; back <= 3 && end - back >= start; back++) {
    const byte = buffer[end - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

/** Where the first sequence of `bytes` that is not UTF-8 begins: by halving, as all shorter beginnings of the bytes are valid. */
function firstInvalid(bytes: Buffer): number {
  let good = 0;
  let bad = bytes.length + 1;
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1;
    if (isUtf8(bytes.subarray(0, middle - cutTail(bytes, 0, middle)))) good = middle;
    else bad = middle;
  }
  return good - cutTail(bytes, 0, good);
}

/** 1-based line of a byte offset, for messages: the line feeds before it, counted by reading the file again. */
export async function lineOf(file: InputFile, offset: number): Promise<number> {
  let line = 1;
  for (let at = 0; at < offset; at += CHUNK_BYTES) {
    const chunk = await readRange(file, at, Math.min(CHUNK_BYTES, offset - at));
    for (let i = chunk.indexOf(10); i !== -1; i = chunk.indexOf(10, i + 1)) line++;
  }
  return line;
}
