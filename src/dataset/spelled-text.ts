/** Reading of texts of a `tokenizer.json` that are written in the byte alphabet. */
import { BYTE_CHARS, byteOfChar } from './byte-alphabet.ts';
import { type JsonWindow, READY } from './json-window.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Not in the byte alphabet. */
const NO_CODE = 0xffff;

/** Takes texts as the bytes that they spell. Throws on what is no text of JSON in UTF-8. */
export class SpelledText {
  /** The bytes that were spelled. */
  readonly bytes = new Uint8Array(2 * READY);
  /** Where in them the space was, which stands for no byte but between the two halves of a merge; −1 when there was none. */
  space = -1;
  /** The text itself when it has characters that spell no byte; else null. */
  odd: string | null = null;
  readonly #window: JsonWindow;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(window: JsonWindow) {
    this.#window = window;
  }

  /** Takes a text behind its opening quote, its bytes from `at` on, and returns where they end. `spaced`: one space may be in it. */
  take(at: number, spaced = false): number {
    const window = this.#window;
    const { buffer } = window;
    const start = window.at;
    this.odd = null;
    this.space = -1;
    let from = start;
    let to = at;
    for (let byte = buffer[from]!; byte !== QUOTE; byte = buffer[from]!) {
      const length = byte === BACKSLASH ? escapeLength(buffer[from + 1]!) : byte < 0x80 ? 1 : 2;
      const code = codeAt(buffer, from, length);
      const spelled = byteOfChar(code);
      if (spelled >= 0) this.bytes[to++] = spelled;
      else if (code === 0x20 && spaced && this.space < 0) this.space = to;
      else return this.#takeOdd(start);
      from += length;
    }
    window.at = from + 1;
    if (to > this.bytes.length) throw new Error('too long a text');
    return to;
  }

  /** The text that spells the bytes from `from` to before `to`. */
  shown(from: number, to: number): string {
    return Array.from(this.bytes.subarray(from, to), (byte) => BYTE_CHARS[byte]).join('');
  }

  #takeOdd(start: number): number {
    const window = this.#window;
    const { buffer } = window;
    let end = start;
    for (; buffer[end] !== QUOTE; end++) {
      if (buffer[end] === BACKSLASH) end++;
      // Beyond what is ready all is 0.
      if (buffer[end]! < 0x20) throw new Error('a text without end');
    }
    const raw = this.#decoder.decode(buffer.subarray(start, end));
    const text = JSON.parse(`"${raw}"`) as string;
    // Half a surrogate pair has no bytes.
    if (/\p{Surrogate}/u.test(text)) throw new Error('a text with half a character');
    this.odd = text;
    window.at = end + 1;
    return 0;
  }
}

/** Bytes of an escape by what follows the backslash. */
function escapeLength(second: number): number {
  return second === 0x75 ? 6 : 2;
}

/** The character at `at` if it is written in so many bytes and may be in the byte alphabet, else a code that is not in it. */
function codeAt(buffer: Uint8Array, at: number, length: number): number {
  const byte = buffer[at]!;
  const second = buffer[at + 1]!;
  if (length === 1) return byte;
  if (byte >= 0x80)
    return byte >= 0xc2 && byte < 0xe0 && (second & 0xc0) === 0x80 ? ((byte & 0x1f) << 6) | (second & 0x3f) : NO_CODE;
  if (length === 2) return second === QUOTE || second === BACKSLASH || second === 0x2f ? second : NO_CODE;
  let code = 0;
  for (let i = 2; i < 6; i++) {
    const digit = hexDigit(buffer[at + i]!);
    if (digit < 0) return NO_CODE;
    code = code * 16 + digit;
  }
  return code;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
