/**
 * Encoded records on their way to the coordinator, in one growing buffer. It lies in shared memory, so that the records of requests
 * that have ended are not lost with a thread that dies before it could ship them.
 */

/** Bytes before the records: their length, an Int32. */
const HEAD_BYTES = 8;
const INITIAL_BYTES = 64 * 1024;

/** Collects bytes until they are taken. */
export class RecordBatch {
  private readonly announce: (memory: SharedArrayBuffer) => void;
  private bytes: Uint8Array;
  private length: Int32Array;

  /** @param announce told of the memory in use, now and whenever it was replaced by more */
  constructor(announce: (memory: SharedArrayBuffer) => void) {
    this.announce = announce;
    const memory = new SharedArrayBuffer(HEAD_BYTES + INITIAL_BYTES);
    this.bytes = new Uint8Array(memory, HEAD_BYTES);
    this.length = new Int32Array(memory, 0, 1);
    announce(memory);
  }

  /** Copies the bytes in: they may be a view that is about to be reused. */
  add(bytes: Uint8Array): void {
    const from = this.length[0] as number;
    const needed = from + bytes.length;
    if (needed > this.bytes.length) this.grow(needed);
    this.bytes.set(bytes, from);
    Atomics.store(this.length, 0, needed);
  }

  /** Bytes collected. */
  get size(): number {
    return this.length[0] as number;
  }

  /** What was collected, in memory of its own that can be transferred; null when there is nothing. To be followed by {@link clear}. */
  take(): Uint8Array | null {
    const length = this.length[0] as number;
    return length === 0 ? null : this.bytes.slice(0, length);
  }

  /** What was taken is on its way. */
  clear(): void {
    Atomics.store(this.length, 0, 0);
  }

  private grow(needed: number): void {
    const memory = new SharedArrayBuffer(HEAD_BYTES + Math.max(needed, this.bytes.length * 2));
    const bytes = new Uint8Array(memory, HEAD_BYTES);
    const length = this.length[0] as number;
    bytes.set(this.bytes.subarray(0, length));
    this.bytes = bytes;
    this.length = new Int32Array(memory, 0, 1);
    Atomics.store(this.length, 0, length);
    this.announce(memory);
  }
}

/** The records that a thread left behind, as a copy. */
export function leftBehind(memory: SharedArrayBuffer): Uint8Array {
  const length = Atomics.load(new Int32Array(memory, 0, 1), 0);
  return Uint8Array.from(new Uint8Array(memory, HEAD_BYTES, length));
}
