/**
 * The text of an answer while it comes in: bytes one after the other, decoded once at the end. A string per token and the chain that
 * joins them would take ten times the memory, and a good part of the time that a token costs.
 */

const INITIAL_BYTES = 1024;
const BACKSLASH = 0x5c;
const ASCII_END = 0x80;
const NOTHING = Buffer.alloc(0);

/** The inside of a JSON string literal that grows. */
export class KeptText {
  private bytes: Buffer = NOTHING;
  private length = 0;
  private hasEscape = false;

  /** Begins anew; the memory stays. */
  clear(): void {
    this.length = 0;
    this.hasEscape = false;
  }

  /** Adds what stands between the quotes of a valid JSON string, escapes and all. */
  addLiteral(chunk: Uint8Array, start: number, end: number): void {
    this.makeRoom(end - start);
    const { bytes } = this;
    let at = this.length;
    for (let from = start; from < end; from++) {
      const byte = chunk[from] as number;
      if (byte >= ASCII_END) {
        // Decoded apart: the half of a character that ends one frame and the half that begins the next are two wrong characters.
        this.add(Buffer.from(chunk.buffer, chunk.byteOffset + start, end - start).toString());
        return;
      }
      if (byte === BACKSLASH) this.hasEscape = true;
      bytes[at++] = byte;
    }
    this.length = at;
  }

  /** Adds a text. */
  addText(text: string): void {
    // Half of a surrogate pair becomes an escape, and finds its other half when all is decoded.
    const literal = JSON.stringify(text).slice(1, -1);
    this.add(literal);
  }

  /** The whole text. */
  toString(): string {
    const literal = this.bytes.toString('utf8', 0, this.length);
    if (!this.hasEscape) return literal;
    return JSON.parse(`"${literal}"`) as string;
  }

  private add(literal: string): void {
    this.makeRoom(literal.length * 3);
    if (literal.includes('\\')) this.hasEscape = true;
    this.length += this.bytes.write(literal, this.length);
  }

  private makeRoom(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(INITIAL_BYTES, needed, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
