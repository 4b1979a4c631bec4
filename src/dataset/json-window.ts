/** A file of JSON, read byte by byte through a window: for files whose large parts are taken in without parsing them into objects. */
import { readSync } from 'node:fs';

const WINDOW = 256 * 1024;

/** After {@link JsonWindow.need} so many bytes lie ready, or all that are left. */
export const READY = 16 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The bytes from `at` to before `end` of `buffer` lie ready. Behind them stands a 0, which JSON never has: a loop that ends at a byte it
 * does not know needs no other check.
 */
export class JsonWindow {
  readonly buffer = new Uint8Array(WINDOW + 1);
  at = 0;
  end = 0;
  readonly #fd: number;
  /** Where in the file the byte behind the window is. */
  #position = 0;
  /** There is nothing behind the window. */
  #isLast = false;

  /** `fd`: an open regular file. */
  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Where in the file the next byte is. */
  get offset(): number {
    return this.#position - (this.end - this.at);
  }

  /** Goes on at another place of the file. */
  seek(offset: number): void {
    this.#position = offset;
    this.at = 0;
    this.end = 0;
    this.#isLast = false;
  }

  /** Sees to it that {@link READY} bytes lie ready, or all that are left. Throws what reading a file throws. */
  need(): void {
    if (this.#isLast || this.end - this.at >= READY) return;
    this.buffer.copyWithin(0, this.at, this.end);
    this.end -= this.at;
    this.at = 0;
    while (!this.#isLast && this.end < WINDOW) {
      const read = readSync(this.#fd, this.buffer, this.end, WINDOW - this.end, this.#position);
      this.#position += read;
      this.end += read;
      this.#isLast = read === 0;
    }
    this.buffer[this.end] = 0;
  }

  /** The next byte that is no white space; it is not taken. 0 where what lies ready ends. */
  peek(): number {
    const { buffer } = this;
    let at = this.at;
    let byte = buffer[at]!;
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = buffer[++at]!;
    this.at = at;
    return byte;
  }

  /** Is there nothing more but white space? */
  isAtEnd(): boolean {
    do this.need();
    while (this.peek() === 0 && this.at === this.end && !this.#isLast);
    return this.#isLast && this.at === this.end;
  }

  /** Takes the next byte that is no white space if it is `byte`. */
  takes(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /**
   * Takes a member name, quotes included, and returns it as it is written; null when there is none, or it is written with escapes.
   */
  takeName(): string | null {
    this.need();
    if (this.peek() !== QUOTE) return null;
    const start = this.at;
    let at = start + 1;
    for (; this.buffer[at] !== QUOTE; at++) {
      if (this.buffer[at]! < 0x20 || this.buffer[at] === BACKSLASH) return null;
    }
    this.at = at + 1;
    return Buffer.from(this.buffer.subarray(start, at + 1)).toString('utf8');
  }

  /**
   * Takes bytes up to the comma or bracket that ends a value, and gives them to `sink` if there is one. Whether they are JSON is for who
   * parses them. False when the file ends before.
   */
  takeValue(sink: ByteSink | null): boolean {
    for (let depth = 0; ; ) {
      this.need();
      const byte = this.buffer[this.at]!;
      if (byte === 0) return false;
      if (byte === QUOTE) {
        if (!this.#takeText(sink)) return false;
        continue;
      }
      const closes = byte === 0x7d || byte === 0x5d;
      if (depth === 0 && (closes || byte === 0x2c)) return true;
      if (closes) depth--;
      else if (byte === 0x7b || byte === 0x5b) depth++;
      sink?.push(byte);
      this.at++;
    }
  }

  #takeText(sink: ByteSink | null): boolean {
    let escaped = true;
    for (;;) {
      this.need();
      const byte = this.buffer[this.at++]!;
      if (byte === 0) return false;
      sink?.push(byte);
      if (byte === QUOTE && !escaped) return true;
      // The quote that opens the text ends nothing either.
      escaped = !escaped && byte === BACKSLASH;
    }
  }
}

/** Bytes that are collected. */
export class ByteSink {
  #bytes = new Uint8Array(4096);
  #length = 0;

  push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = byte;
  }

  /** Adds a text, as UTF-8. */
  pushText(text: string): void {
    for (const byte of Buffer.from(text, 'utf8')) this.push(byte);
  }

  /** All of them as a text; what is no UTF-8 as U+FFFD, as Node reads files. */
  toString(): string {
    return Buffer.from(this.#bytes.buffer, 0, this.#length).toString('utf8');
  }
}
