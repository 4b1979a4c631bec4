/** Encoded records on their way to the coordinator, in one growing buffer. */
const INITIAL_BYTES = 64 * 1024;

/** Collects bytes until they are taken. */
export class RecordBatch {
  private buffer = new Uint8Array(INITIAL_BYTES);
  private length = 0;

  /** Copies the bytes in: they may be a view that is about to be reused. */
  add(bytes: Uint8Array): void {
    const needed = this.length + bytes.length;
    if (needed > this.buffer.length) {
      const grown = new Uint8Array(Math.max(needed, this.buffer.length * 2));
      grown.set(this.buffer.subarray(0, this.length));
      this.buffer = grown;
    }
    this.buffer.set(bytes, this.length);
    this.length = needed;
  }

  /** What was collected, in memory of its own that can be transferred; null when there is nothing. */
  take(): Uint8Array | null {
    if (this.length === 0) return null;
    const bytes = this.buffer.slice(0, this.length);
    this.length = 0;
    return bytes;
  }
}
