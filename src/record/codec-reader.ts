/**
 * Reads record files of any origin and size: memory is that of the largest frame, whatever the file. Both forms are told by their
 * first byte, not by name. A file that a crash cut off is read up to its last whole frame; a frame that makes no sense is passed
 * over and noted. Only a file without a single good frame is an error.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { decodeFrame } from './codec.ts';
import { checkFrame, FrameProblem, WrongSchema } from './codec-check.ts';
import { parseLine } from './codec-json.ts';
import { INCOMPLETE, ScanError, valueEnd } from './codec-scan.ts';
import { RECORD_SCHEMA, type RecordEnd, type RecordFrame, type RecordHeader, type RequestRecord } from './record.ts';

/** Takes the frames of a file in their order. A file may hold several headers, when files were glued together. */
export interface RecordVisitor {
  header?(header: RecordHeader): void;
  request(request: RequestRecord): void;
  end?(end: RecordEnd): void;
}

/** What was wrong with a file that could still be used. */
export interface RecordDamage {
  /** First trouble, with byte offset or line. */
  readonly message: string;
  /** Frames passed over because they make no sense. */
  readonly skippedFrames: number;
  /** Bytes at the end that could not be read, 0 when the file was read to its end. */
  readonly lostBytes: number;
}

export interface RecordReadResult {
  readonly format: 'msgpack' | 'jsonl';
  readonly requests: number;
  readonly headers: number;
  readonly ends: number;
  /** Frames of a kind that this version does not know. */
  readonly unknownFrames: number;
  readonly damage: RecordDamage | null;
}

/** Bytes read at once, and the most that one frame may have. */
const READ_BYTES = 1 << 20;
const MAX_FRAME = 1 << 28;

/**
 * Reads a record file and hands its frames to `visitor`.
 * @throws usage errors for a file that is missing, unreadable, empty, of another kind, or of another version
 */
export async function readRecordFile(path: string, visitor: RecordVisitor): Promise<RecordReadResult> {
  const file = await openFile(path);
  try {
    return await new Reader(path, file, visitor).read();
  } finally {
    await file.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r');
    if ((await file.stat()).isDirectory()) {
      await file.close();
      throw usageError(`${path} is a folder`, 'Give the record file that --save-records wrote.');
    }
    return file;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      throw usageError(`There is no file ${path}`, 'Give a file that --save-records wrote.', error);
    }
    if (codeOf(error) === '') throw error;
    throw usageError(`Cannot read ${path}: ${messageOf(error)}`, '', error);
  }
}

class Reader {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #visitor: RecordVisitor;
  #buffer = Buffer.allocUnsafe(READ_BYTES);
  /** The bytes at hand: buffer[#from, #to). */
  #from = 0;
  #to = 0;
  /** Offset in the file of buffer[0]. */
  #base = 0;
  #line = 0;
  readonly #counts = { requests: 0, headers: 0, ends: 0, unknownFrames: 0, skippedFrames: 0 };
  #trouble = '';
  /** What is odd, but costs nothing; said when there is no trouble. */
  #remark = '';

  constructor(path: string, file: FileHandle, visitor: RecordVisitor) {
    this.#path = path;
    this.#file = file;
    this.#visitor = visitor;
  }

  async read(): Promise<RecordReadResult> {
    if (!(await this.#more())) throw usageError(`${this.#path} is empty`, 'It holds no records: the run wrote none.');
    const format = await this.#sniff();
    const lostBytes = await (format === 'jsonl' ? this.#readLines() : this.#readFrames());
    const { requests, headers, ends, unknownFrames, skippedFrames } = this.#counts;
    if (requests + headers + ends === 0) throw this.#notRecords(this.#trouble);
    const message = this.#trouble || this.#remark;
    const damage = message === '' ? null : { message, skippedFrames, lostBytes };
    return { format, requests, headers, ends, unknownFrames, damage };
  }

  /** By the first byte: an object in JSON or a map in msgpack; nothing else begins a record file. */
  async #sniff(): Promise<'msgpack' | 'jsonl'> {
    while (this.#to - this.#from < 3 && (await this.#more()));
    const bom = this.#buffer[0] === 0xef && this.#buffer[1] === 0xbb && this.#buffer[2] === 0xbf;
    let at = bom ? 3 : 0;
    while (at < this.#to && isSpace(this.#buffer[at] as number)) at++;
    const first = this.#buffer[at] as number;
    if (first === 0x7b) {
      if (bom) this.#from = 3;
      return 'jsonl';
    }
    if (this.#buffer[0] === 0x1f && this.#buffer[1] === 0x8b) {
      throw usageError(`${this.#path} is compressed with gzip`, `Unpack it first: gunzip ${this.#path}`);
    }
    const head = this.#buffer[0] as number;
    if ((head >= 0x80 && head <= 0x8f) || head === 0xde || head === 0xdf) return 'msgpack';
    throw this.#notRecords('');
  }

  async #readFrames(): Promise<number> {
    while (true) {
      if (this.#from === this.#to && !(await this.#more())) return 0;
      try {
        const end = valueEnd(this.#buffer, this.#from, this.#to, MAX_FRAME);
        if (end === INCOMPLETE) {
          if (await this.#more()) continue;
          const lost = this.#to - this.#from;
          this.#note(`cut off in a frame at byte ${this.#base + this.#from}: the last ${plural(lost)} are left out`);
          return lost;
        }
        const at = this.#base + this.#from;
        const frame = this.#buffer.subarray(this.#from, end);
        this.#from = end;
        this.#take(() => decodeFrame(frame), `byte ${at}`);
      } catch (error) {
        if (!(error instanceof ScanError)) throw error;
        const lost = await this.#rest();
        this.#note(
          `damaged at byte ${this.#base + error.offset}: ${error.message}; the ${plural(lost)} from there are left out`,
        );
        return lost;
      }
    }
  }

  async #readLines(): Promise<number> {
    let searched = 0;
    while (true) {
      const feed = this.#buffer.subarray(this.#from + searched, this.#to).indexOf(0x0a);
      if (feed !== -1) {
        this.#takeLine(this.#from + searched + feed);
        this.#from += searched + feed + 1;
        searched = 0;
        continue;
      }
      searched = this.#to - this.#from;
      if (searched > MAX_FRAME) {
        const lost = await this.#rest();
        this.#note(`line ${this.#line + 1} is longer than ${MAX_FRAME} bytes; the rest is left out`);
        return lost;
      }
      if (await this.#more()) continue;
      return this.#lastLine();
    }
  }

  /** A last line without line feed: whole if it can be read, else cut off by a crash. */
  #lastLine(): number {
    const bytes = this.#to - this.#from;
    const text = this.#buffer.toString('utf8', this.#from, this.#to).trim();
    if (text === '') return 0;
    this.#line++;
    let raw: unknown;
    try {
      raw = parseLine(text);
    } catch {
      this.#note(`cut off in line ${this.#line}: its ${plural(bytes)} are left out`);
      return bytes;
    }
    this.#take(() => raw, `line ${this.#line}`);
    return 0;
  }

  #takeLine(end: number): void {
    this.#line++;
    const text = this.#buffer.toString('utf8', this.#from, end).trim();
    if (text === '') return;
    this.#take(() => parseLine(text), `line ${this.#line}`);
    if (this.#counts.skippedFrames === this.#line && this.#line === 20) throw this.#notRecords(this.#trouble);
  }

  /** Decodes, checks and hands over one frame; what makes no sense is noted and passed over. */
  #take(decode: () => unknown, where: string): void {
    const frame = this.#check(decode, where);
    if (frame === undefined) return;
    if (frame === null) this.#counts.unknownFrames++;
    else if (frame.type === 'request') {
      this.#counts.requests++;
      this.#visitor.request(frame);
    } else if (frame.type === 'header') {
      this.#counts.headers++;
      this.#visitor.header?.(frame);
    } else {
      this.#counts.ends++;
      this.#visitor.end?.(frame);
    }
  }

  #check(decode: () => unknown, where: string): RecordFrame | null | undefined {
    try {
      const raw = decode();
      const frame = checkFrame(raw, this.#counts.requests);
      if (frame?.type === 'header' && (raw as { schema?: unknown }).schema == null) {
        this.#remark ||= `${where}: the header names no "schema" and is read as "${RECORD_SCHEMA}"`;
      }
      return frame;
    } catch (error) {
      if (error instanceof WrongSchema) {
        throw usageError(
          `${this.#path} is a record file of another version: ${error.message}`,
          'Read it with the version of tabby-load that wrote it.',
        );
      }
      // Whatever the decoder throws on bytes that the scan lets through (it has no error type of its own) is damage, not a bug.
      this.#counts.skippedFrames++;
      this.#note(`${where}: ${error instanceof FrameProblem ? error.message : 'not a record'}`);
      return undefined;
    }
  }

  /** Keeps the first trouble; the others are counted. */
  #note(trouble: string): void {
    if (this.#trouble === '') this.#trouble = trouble;
  }

  /** Reads on; false at the end of the file. Moves what is left to the front and grows the buffer when a frame fills it. */
  async #more(): Promise<boolean> {
    if (this.#from > 0) {
      this.#buffer.copyWithin(0, this.#from, this.#to);
      this.#base += this.#from;
      this.#to -= this.#from;
      this.#from = 0;
    }
    if (this.#to === this.#buffer.length) {
      const grown = Buffer.allocUnsafe(this.#buffer.length * 2);
      this.#buffer.copy(grown, 0, 0, this.#to);
      this.#buffer = grown;
    }
    const { bytesRead } = await this.#file.read(this.#buffer, this.#to, this.#buffer.length - this.#to, null);
    this.#to += bytesRead;
    return bytesRead > 0;
  }

  /** Number of bytes from here to the end of the file. */
  async #rest(): Promise<number> {
    const { size } = await this.#file.stat();
    return Math.max(size - this.#base - this.#from, this.#to - this.#from);
  }

  #notRecords(detail: string): Error {
    const head = this.#base === 0 ? this.#buffer.toString('latin1', 0, Math.min(this.#to, 4096)) : '';
    if (/"(request_throughput|endpoint_type|total_input_tokens)"/.test(head)) {
      return usageError(
        `${this.#path} is a result file (--save-result), not a record file`,
        'report needs the records of single requests: give the file that --save-records wrote.',
      );
    }
    return usageError(
      `${this.#path} is not a record file${detail === '' ? '' : ` (${detail})`}`,
      'Give a file that --save-records wrote: msgpack frames, or JSON lines.',
    );
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function plural(bytes: number): string {
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}
