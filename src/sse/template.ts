/**
 * Recognises a token frame without parsing it.
 *
 * The token frames of one stream are alike but for the text and the `created` second. After one of them has been parsed, the next
 * is compared, four bytes at a time, with what stands before and after its text. Equal bytes around a JSON string mean an equal
 * document but for that string, so this is exact, not a guess: whatever differs in any other way is parsed. It leaves no garbage.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
const FIRST_PRINTABLE = 0x20;
/** What may follow a backslash in JSON, but for `u`. */
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)));

/** What kind of token a frame carries. */
export type TokenKind = 'answer' | 'reasoning';

/** The bytes around the text of a token frame, line end and empty line included. */
export interface FrameTemplate {
  /** From the first byte of the event (`data: …`) to where any digits may stand (`created`), or empty. */
  readonly head: FixedBytes;
  /** How many digits. */
  readonly digits: number;
  /** From there to the opening quote of the text, which is the last byte. */
  readonly neck: FixedBytes;
  /** From the closing quote of the text to the end of the event. */
  readonly suffix: FixedBytes;
  readonly kind: TokenKind;
  /** `index` of the choice. */
  readonly choice: number;
}

/** Bytes to be compared with: whole words of four (little-endian), then what is left. */
interface FixedBytes {
  readonly length: number;
  readonly words: Int32Array;
  readonly rest: Uint8Array;
}

/** Where the text of the frame matched last lies, escapes and all. Shared to spare an object per event. */
export const matchedText = { start: 0, end: 0 };

/**
 * Compares the bytes at `position` with a template.
 * @param length end of the bytes that count
 * @returns the position behind the event, or −1 when it is another kind of frame or is not wholly there.
 */
export function matchTemplate(template: FrameTemplate, chunk: Uint8Array, position: number, length: number): number {
  const { head, digits, neck, suffix } = template;
  const digitsStart = position + head.length;
  const neckStart = digitsStart + digits;
  const textStart = neckStart + neck.length;
  if (textStart + suffix.length >= length + 1) return -1;
  const view = viewOf(chunk);
  const base = chunk.byteOffset;
  // What is near the text comes first: there frames of different kinds differ.
  if (!isEqual(view, base + neckStart, neck)) return -1;
  for (let at = digitsStart; at < neckStart; at++) {
    const byte = chunk[at] as number;
    if (byte < ZERO || byte > NINE) return -1;
  }
  if (!isEqual(view, base + position, head)) return -1;

  let at = textStart;
  for (; at < length; at++) {
    const byte = chunk[at] as number;
    if (byte === QUOTE) break;
    if (byte === BACKSLASH) {
      // A wrong escape is invalid JSON: leave it to the parser to say so.
      const escapeLength = validEscapeLength(chunk, at + 1);
      if (escapeLength === 0) return -1;
      at += escapeLength;
    } else if (byte < FIRST_PRINTABLE) return -1;
  }
  if (at === textStart || at + suffix.length > length) return -1;
  if (!isEqual(view, base + at, suffix)) return -1;
  matchedText.start = textStart;
  matchedText.end = at;
  return at + suffix.length;
}

function isEqual(view: DataView, at: number, fixed: FixedBytes): boolean {
  const { words, rest } = fixed;
  const count = words.length;
  for (let i = 0; i < count; i++) if (view.getInt32(at + 4 * i, true) !== words[i]) return false;
  const restAt = at + 4 * count;
  for (let i = 0; i < rest.length; i++) if (view.getUint8(restAt + i) !== rest[i]) return false;
  return true;
}

let viewed: ArrayBufferLike | null = null;
let lastView: DataView<ArrayBufferLike> = new DataView(new ArrayBuffer(0));

/** A view of the memory that a chunk lies in. All reads of a worker lie in the same, so it is made once. */
function viewOf(chunk: Uint8Array): DataView {
  if (chunk.buffer !== viewed) {
    viewed = chunk.buffer;
    lastView = new DataView(chunk.buffer);
  }
  return lastView;
}

/** Length of the JSON escape behind a backslash (1, or 5 for `uXXXX`); 0 when it is not valid or not wholly there. */
function validEscapeLength(bytes: Uint8Array, at: number): 0 | 1 | 5 {
  const byte = bytes[at] as number;
  if (byte !== 0x75) return SIMPLE_ESCAPES.has(byte) ? 1 : 0;
  for (let i = at + 1; i <= at + 4; i++) {
    const digit = bytes[i] as number;
    const isHex =
      (digit >= ZERO && digit <= NINE) || (digit >= 0x41 && digit <= 0x46) || (digit >= 0x61 && digit <= 0x66);
    if (!isHex) return 0;
  }
  return 5;
}

/**
 * Learns a template from an event that was parsed and found to be a plain token frame.
 * @param event the bytes of the whole event, from `data:` to behind the empty line
 * @param jsonStart where the JSON begins in it
 * @param path keys and indices that lead to the text, e.g. `['choices', 0, 'delta', 'content']`
 * @returns null when the text cannot be located, e.g. an event of several data lines
 */
export function learnTemplate(
  event: Uint8Array,
  jsonStart: number,
  path: readonly (string | number)[],
  kind: TokenKind,
  choice: number,
): FrameTemplate | null {
  const text = locate(event, jsonStart, path);
  if (text === null || event[text.start] !== QUOTE) return null;
  const created = locate(event, jsonStart, ['created']);
  const isDigits = created !== null && created.end <= text.start && onlyDigits(event, created.start, created.end);
  const digitsStart = isDigits ? created.start : 0;
  const digitsEnd = isDigits ? created.end : 0;
  return {
    head: fixedBytes(event, 0, digitsStart),
    digits: digitsEnd - digitsStart,
    neck: fixedBytes(event, digitsEnd, text.start + 1),
    suffix: fixedBytes(event, text.end - 1, event.length),
    kind,
    choice,
  };
}

/**
 * Bytes of its own: the event lies in the read buffer, which the next read of any socket overwrites, and a Buffer's `slice` is a view.
 */
function fixedBytes(event: Uint8Array, start: number, end: number): FixedBytes {
  const bytes = Uint8Array.from(event.subarray(start, end));
  const view = new DataView(bytes.buffer);
  const words = Int32Array.from({ length: bytes.length >> 2 }, (_, i) => view.getInt32(4 * i, true));
  return { length: bytes.length, words, rest: bytes.subarray(4 * words.length) };
}

function onlyDigits(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if ((bytes[i] as number) < ZERO || (bytes[i] as number) > NINE) return false;
  return end > start;
}

/** Byte range of the value at `path` in a JSON document known to be valid; null when there is none, or a key is escaped. */
function locate(
  json: Uint8Array,
  start: number,
  path: readonly (string | number)[],
): { start: number; end: number } | null {
  let at = skipSpace(json, start);
  for (const step of path) {
    const inner = typeof step === 'string' ? memberValue(json, at, step) : elementValue(json, at, step);
    if (inner < 0) return null;
    at = inner;
  }
  return { start: at, end: valueEnd(json, at) };
}

/** Position of the value of the last member `key` (JSON.parse keeps the last) of the object at `at`, or −1. */
function memberValue(json: Uint8Array, at: number, key: string): number {
  if (json[at] !== 0x7b) return -1;
  let found = -1;
  let position = skipSpace(json, at + 1);
  while (json[position] === QUOTE) {
    const keyEnd = valueEnd(json, position);
    const value = skipSpace(json, skipSpace(json, keyEnd) + 1);
    if (
      keyEnd - position === key.length + 2 &&
      Buffer.from(json.subarray(position + 1, keyEnd - 1)).toString('latin1') === key
    ) {
      found = value;
    }
    position = skipSpace(json, valueEnd(json, value));
    if (json[position] !== 0x2c) break;
    position = skipSpace(json, position + 1);
  }
  return found;
}

/** Position of element `index` of the array at `at`, or −1. */
function elementValue(json: Uint8Array, at: number, index: number): number {
  if (json[at] !== 0x5b) return -1;
  let position = skipSpace(json, at + 1);
  for (let i = 0; json[position] !== 0x5d && position < json.length; i++) {
    if (i === index) return position;
    position = skipSpace(json, valueEnd(json, position));
    if (json[position] !== 0x2c) return -1;
    position = skipSpace(json, position + 1);
  }
  return -1;
}

/** Position behind the JSON value at `at`. */
function valueEnd(json: Uint8Array, at: number): number {
  let depth = 0;
  let position = at;
  while (position < json.length) {
    const byte = json[position] as number;
    if (byte === QUOTE) {
      position++;
      while (position < json.length && json[position] !== QUOTE) position += json[position] === BACKSLASH ? 2 : 1;
      position++;
      if (depth === 0) return position;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++;
      position++;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return position;
      depth--;
      position++;
      if (depth === 0) return position;
    } else if (depth === 0 && (byte === 0x2c || byte <= 0x20)) {
      return position;
    } else position++;
  }
  return position;
}

function skipSpace(json: Uint8Array, at: number): number {
  let position = at;
  while (position < json.length && (json[position] as number) <= 0x20) position++;
  return position;
}
