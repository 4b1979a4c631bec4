/**
 * Writes a record file while the run goes on: frames are handed to the system as they come, one write at a time and in order, so a
 * crash costs what was not yet shipped by the workers. Trouble with the file never ends a run; it is kept as one message.
 */
import { type FileHandle, open, realpath, rm, stat } from 'node:fs/promises';
import { AppError, codeOf, messageOf, usageError } from '../errors.ts';
import { decodeRequests, encodeFrame, jsonLine } from './codec.ts';
import type { RecordEnd, RecordHeader } from './record.ts';
import { lockRecords, unlockRecords } from './record-lock.ts';

/** Hints for what most often stands in the way of a record file. */
const HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'The folder does not exist: make it first.',
  EISDIR: 'That is a folder: give a file name.',
  EACCES: 'No permission to write there: choose another place.',
  EROFS: 'That file system is read-only: choose another place.',
  ENOSPC: 'The disk is full: free room or choose another place.',
};

export class RecordFileWriter {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #lines: boolean;
  #queue: Uint8Array[] = [];
  /** The write under way, with all that was queued before it. */
  #writing: Promise<void> | null = null;
  #failure: string | null = null;
  #isToBeEmptied = false;
  #replaced = 0;
  #bytes = 0;
  /** There was no file before, and nothing was written yet. */
  #isNew: boolean;
  /** Null where there is nothing to be locked: a pipe, a device. */
  #lock: string | null = null;

  private constructor(path: string, file: FileHandle, isNew: boolean) {
    this.#isNew = isNew;
    this.#path = path;
    this.#file = file;
    this.#lines = path.endsWith('.jsonl');
  }

  /**
   * Opens the file: JSON lines when its name ends in `.jsonl`, else msgpack. What is in it stays until there is a header to write, so a
   * run that never starts costs no earlier records.
   * @throws a usage error naming `--save-records` when it cannot be written, or is being written by another run
   */
  static async open(path: string): Promise<RecordFileWriter> {
    try {
      const found = await stat(path).catch(() => null);
      const writer = new RecordFileWriter(path, await open(path, 'a'), found === null);
      writer.#replaced = found?.isFile() === true ? found.size : 0;
      await writer.#takeLock();
      return writer;
    } catch (error) {
      if (error instanceof AppError) throw error;
      const code = codeOf(error);
      throw usageError(`--save-records ${path} cannot be written: ${messageOf(error)}`, HINTS[code] ?? '', error);
    }
  }

  /** First frame; the file is emptied for it. */
  header(header: RecordHeader): void {
    this.#isToBeEmptied = true;
    this.#isNew = false;
    this.#push(this.#lines ? Buffer.from(jsonLine(header)) : Uint8Array.from(encodeFrame(header)));
  }

  /** Requests as `encodeRequest` made them, one after the other; the bytes must not change afterwards. Never throws; see {@link failure}. */
  appendEncoded(bytes: Uint8Array): void {
    if (this.#failure !== null) return;
    this.#push(this.#lines ? Buffer.from(decodeRequests(bytes).map(jsonLine).join('')) : bytes);
  }

  /** Last frame; waits until everything is written and closes the file. Never throws; see {@link failure}. */
  async end(end: RecordEnd): Promise<void> {
    this.#push(this.#lines ? Buffer.from(jsonLine(end)) : Uint8Array.from(encodeFrame(end)));
    await this.close();
  }

  /** Bytes of an earlier file that this one takes the place of. */
  get replacedBytes(): number {
    return this.#replaced;
  }

  /** Closes the file; one that was made only to be tried is removed. For runs that never began. */
  async abandon(): Promise<void> {
    await this.close();
    if (this.#isNew) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  /** Closes the file without an end frame, after what was handed over is written. Safe to call twice. Never throws. */
  async close(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
    await this.#file.close().catch((error: unknown) => this.#fail(error));
    if (this.#lock !== null) await unlockRecords(this.#lock);
  }

  /** Why writing stopped, as one line for the user; null while all is well. */
  get failure(): string | null {
    return this.#failure;
  }

  /** Bytes written so far. */
  get bytesWritten(): number {
    return this.#bytes;
  }

  #push(bytes: Uint8Array): void {
    if (this.#failure !== null) return;
    this.#queue.push(bytes);
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.length === 1 ? (this.#queue[0] as Uint8Array) : Buffer.concat(this.#queue);
      this.#queue = [];
      try {
        if (this.#isToBeEmptied) await this.#empty();
        else await this.#checkAlone();
        for (let at = 0; at < batch.length; ) {
          const { bytesWritten } = await this.#file.write(batch, at, batch.length - at);
          at += bytesWritten;
          this.#bytes += bytesWritten;
        }
      } catch (error) {
        this.#fail(error);
      }
    }
    this.#writing = null;
  }

  async #empty(): Promise<void> {
    this.#isToBeEmptied = false;
    // A pipe or a device has nothing to be emptied of.
    if ((await this.#file.stat()).isFile()) await this.#file.truncate(0);
  }

  async #takeLock(): Promise<void> {
    try {
      if ((await this.#file.stat()).isFile()) this.#lock = await lockRecords(await realpath(this.#path));
    } catch (error) {
      await this.#file.close();
      throw error;
    }
  }

  /** Where locks do not help (another machine, another program): what is in the file must be what was written here. */
  async #checkAlone(): Promise<void> {
    const found = await this.#file.stat();
    if (found.isFile() && found.size !== this.#bytes) throw new Error('another program writes to it at the same time');
  }

  #fail(error: unknown): void {
    this.#queue = [];
    this.#failure ??=
      `The record file ${this.#path} could not be written on after ${this.#bytes} bytes: ${messageOf(error)}. ` +
      'The run goes on; its result is not affected.';
  }
}
