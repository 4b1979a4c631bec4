/**
 * Growing stores of doubles for the exact values of a run. They grow by chunks, so that adding never copies what is there, and a
 * run of a million requests costs what its values weigh: 8 bytes each.
 */

/** Values per chunk of a {@link Column}: 64 KB. */
const COLUMN_CHUNK = 1 << 13;
/** Values per chunk of a {@link GapStore}: 512 KB. */
const GAP_CHUNK = 1 << 16;

/**
 * One double per request, by position. A value that was never set is NaN; chunks without any value take no memory, so a column that
 * a run does not use costs nothing.
 */
export class Column {
  readonly #chunks: (Float64Array | undefined)[] = [];

  set(position: number, value: number): void {
    const at = Math.floor(position / COLUMN_CHUNK);
    let chunk = this.#chunks[at];
    if (chunk === undefined) {
      chunk = new Float64Array(COLUMN_CHUNK).fill(Number.NaN);
      this.#chunks[at] = chunk;
    }
    chunk[position % COLUMN_CHUNK] = value;
  }

  /** The value, or NaN. */
  get(position: number): number {
    const chunk = this.#chunks[Math.floor(position / COLUMN_CHUNK)];
    return chunk === undefined ? Number.NaN : (chunk[position % COLUMN_CHUNK] as number);
  }

  /** Whether any value was ever set. */
  get used(): boolean {
    return this.#chunks.length > 0;
  }

  clear(): void {
    this.#chunks.length = 0;
  }
}

/** The gaps of all requests, appended one request after the other and read back by offset. */
export class GapStore {
  readonly #chunks: Float64Array[] = [];
  #length = 0;

  /** Number of values held. */
  get length(): number {
    return this.#length;
  }

  append(values: ArrayLike<number>): void {
    let from = 0;
    while (from < values.length) {
      const fill = this.#length % GAP_CHUNK;
      if (fill === 0) this.#chunks.push(new Float64Array(GAP_CHUNK));
      const chunk = this.#chunks[this.#chunks.length - 1] as Float64Array;
      const n = Math.min(GAP_CHUNK - fill, values.length - from);
      if (values instanceof Float64Array) {
        chunk.set(n === values.length ? values : values.subarray(from, from + n), fill);
      } else {
        for (let k = 0; k < n; k++) chunk[fill + k] = values[from + k] as number;
      }
      from += n;
      this.#length += n;
    }
  }

  /** Copies `count` values from `offset` into `target` at `at`. */
  copy(offset: number, count: number, target: Float64Array, at: number): void {
    let done = 0;
    while (done < count) {
      const chunk = this.#chunks[Math.floor((offset + done) / GAP_CHUNK)] as Float64Array;
      const start = (offset + done) % GAP_CHUNK;
      const n = Math.min(count - done, GAP_CHUNK - start);
      target.set(chunk.subarray(start, start + n), at + done);
      done += n;
    }
  }

  clear(): void {
    this.#chunks.length = 0;
    this.#length = 0;
  }
}
