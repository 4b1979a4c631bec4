/** Writes a record file while the run goes on. */
import type { RecordEnd, RecordHeader } from './record.ts';

export class RecordFileWriter {
  /** Opens (and empties) the file. Throws a usage error naming `--save-records` when it cannot be written. */
  static async open(_path: string): Promise<RecordFileWriter> {
    throw new Error('to be filled');
  }

  /** First frame. */
  header(_header: RecordHeader): void {
    throw new Error('to be filled');
  }

  /** Requests as `encodeRequest` made them, one after the other. Never throws; see {@link failure}. */
  appendEncoded(_bytes: Uint8Array): void {
    throw new Error('to be filled');
  }

  /** Last frame; waits until everything is on disk and closes the file. Never throws; see {@link failure}. */
  async end(_end: RecordEnd): Promise<void> {
    throw new Error('to be filled');
  }

  /** Why writing stopped, as one line for the user; null while all is well. */
  get failure(): string | null {
    throw new Error('to be filled');
  }
}
