/**
 * A JSON checker on bytes that come in chunks cut anywhere. It accepts exactly what RFC 8259 allows (what `JSON.parse` accepts)
 * and the words NaN, Infinity and -Infinity of Python's `json`; it builds nothing, and tells a visitor where values begin and containers end, so that a caller can find the parts it wants in a
 * file that is too large to parse. UTF-8 is checked by whoever reads the file.
 */

/** What is told of a text while it is scanned. Offsets are bytes from the start of the file. */
export interface JsonVisitor {
  /** A value begins inside `depth` containers (0 = the whole text); `firstByte` tells its kind. */
  valueStart(depth: number, firstByte: number, offset: number): void;
  /** The array or object that began inside `depth` containers ended; `end` is the offset just behind it. */
  containerEnd(depth: number, end: number): void;
  /** A member name of an object that holds its members at depth {@link JsonVisitor.keyDepth}; null when it is longer than 40 characters. */
  key(name: string | null): void;
  /** The depth of the values whose names are wanted; 1 for the members of an object at the top. */
  readonly keyDepth: number;
}

/** The text is not JSON; `offset` is where that shows. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
  /** Bytes from the start of the file. */
  readonly offset: number;
  /** The text ended too early: everything before is fine. */
  readonly cutOff: boolean;

  constructor(message: string, offset: number, cutOff = false) {
    super(message);
    this.offset = offset;
    this.cutOff = cutOff;
  }
}

/** Longest name that is handed to the visitor, in raw bytes: 40 characters even if each is written as an escape. */
const KEY_BYTES = 240;

// What may come next. Numbers have states of their own because a chunk can end inside one.
const VALUE = 0;
const VALUE_OR_END = 1;
const KEY_OR_END = 2;
const KEY = 3;
const COLON = 4;
const COMMA_OR_END = 5;
const DONE = 6;
const STRING = 7;
const ESCAPE = 8;
const HEX = 9;
const LITERAL = 10;
const MINUS = 11;
const ZERO = 12;
const DIGITS = 13;
const POINT = 14;
const FRACTION = 15;
const E = 16;
const E_SIGN = 17;
const EXPONENT = 18;

const EXPECTED: Readonly<Record<number, string>> = {
  [VALUE]: 'a value',
  [VALUE_OR_END]: 'a value or "]"',
  [KEY_OR_END]: 'a member name or "}"',
  [KEY]: 'a member name',
  [COLON]: '":"',
  [COMMA_OR_END]: '"," or the end of the list or object',
  [DONE]: 'nothing more',
  [ESCAPE]: 'one of "\\/bfnrtu after a backslash',
  [HEX]: 'four hex digits after \\u',
};

const OBJECT = 1;
const ARRAY = 2;

const NO_WORDS = new Int32Array(0);

/** The scanner. Feed it with {@link JsonScanner.push}, then call {@link JsonScanner.end}; both throw {@link JsonSyntaxError}. */
export class JsonScanner {
  readonly #visitor: JsonVisitor;
  #state = VALUE;
  #stack = new Uint8Array(64);
  #depth = 0;
  /** The string being read is a member name. */
  #inKey = false;
  /** Hex digits still to come after \u. */
  #hexLeft = 0;
  #literal = '';
  #literalAt = 0;
  /** Collects a wanted member name; null when the string at hand is not one. */
  #key: Buffer | null = null;
  readonly #keyBuffer = Buffer.alloc(KEY_BYTES);
  #keyLength = 0;
  #offset = 0;

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor;
  }

  /** Scans the next bytes; `offset` is where the first of them stands in the file. */
  push(chunk: Buffer, offset: number): void {
    // 32-bit words over the chunk, to look at four bytes at a time; the tail and unaligned chunks go byte by byte.
    const words =
      chunk.byteOffset % 4 === 0 ? new Int32Array(chunk.buffer, chunk.byteOffset, chunk.length >>> 2) : NO_WORDS;
    const length = chunk.length;
    let i = 0;
    while (i < length) {
      if (this.#state === STRING) {
        const start = i;
        i = skipText(chunk, words, i);
        if (this.#key !== null) this.#keepKey(chunk, start, i);
        if (i === length) break;
        this.#stringByte(chunk[i]!, offset + i);
        i++;
      } else if (this.#state <= DONE) {
        const byte = chunk[i]!;
        if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) this.#structureByte(byte, offset + i);
        i++;
      } else if (this.#state <= LITERAL) {
        this.#escapeOrLiteral(chunk[i]!, offset + i);
        i++;
      } else if (this.#numberByte(chunk[i]!, offset + i)) {
        i++;
      }
    }
    this.#offset = offset + length;
  }

  /** The text is over. Throws when it is not a whole one. */
  end(): void {
    if (this.#state >= MINUS && this.#depth === 0) this.#numberByte(0x20, this.#offset);
    if (this.#state === DONE) return;
    const where =
      this.#state === STRING || this.#state === ESCAPE || this.#state === HEX
        ? 'inside a text'
        : this.#depth === 0
          ? 'before its first value'
          : this.#stack[this.#depth - 1] === ARRAY
            ? 'inside a list'
            : 'inside an object';
    throw new JsonSyntaxError(`ends ${where}`, this.#offset, true);
  }

  #fail(byte: number, offset: number, expected = EXPECTED[this.#state] ?? 'a digit'): never {
    const shown = byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
    throw new JsonSyntaxError(`${shown} where ${expected} should be`, offset);
  }

  /** A byte that is no white space, outside of strings, numbers and literals. */
  #structureByte(byte: number, offset: number): void {
    const state = this.#state;
    if (byte === 0x22 && (state === KEY || state === KEY_OR_END)) this.#startKey();
    else if (byte === 0x7d && (state === KEY_OR_END || (state === COMMA_OR_END && this.#top() === OBJECT)))
      this.#close(offset);
    else if (byte === 0x5d && (state === VALUE_OR_END || (state === COMMA_OR_END && this.#top() === ARRAY)))
      this.#close(offset);
    else if (byte === 0x2c && state === COMMA_OR_END) this.#state = this.#top() === OBJECT ? KEY : VALUE;
    else if (byte === 0x3a && state === COLON) this.#state = VALUE;
    else if (state === VALUE || state === VALUE_OR_END) this.#startValue(byte, offset);
    else this.#fail(byte, offset);
  }

  #top(): number {
    return this.#stack[this.#depth - 1]!;
  }

  #startKey(): void {
    this.#state = STRING;
    this.#inKey = true;
    this.#key = this.#depth === this.#visitor.keyDepth ? this.#keyBuffer : null;
    this.#keyLength = 0;
  }

  #startValue(byte: number, offset: number): void {
    const depth = this.#depth;
    const next = this.#stateInside(byte);
    if (next === -1) this.#fail(byte, offset);
    this.#visitor.valueStart(depth, byte, offset);
    this.#state = next;
    if (byte === 0x7b) this.#open(OBJECT);
    else if (byte === 0x5b) this.#open(ARRAY);
  }

  /** The state behind the first byte of a value; −1 when no value begins so. */
  #stateInside(byte: number): number {
    if (byte === 0x22) return STRING;
    if (byte === 0x7b) return KEY_OR_END;
    if (byte === 0x5b) return VALUE_OR_END;
    if (byte === 0x2d) return MINUS;
    if (byte === 0x30) return ZERO;
    if (byte > 0x30 && byte <= 0x39) return DIGITS;
    const literal = LITERALS[byte];
    if (literal === undefined) return -1;
    this.#literal = literal;
    this.#literalAt = 1;
    return LITERAL;
  }

  #open(kind: number): void {
    if (this.#depth === this.#stack.length) {
      const larger = new Uint8Array(this.#stack.length * 2);
      larger.set(this.#stack);
      this.#stack = larger;
    }
    this.#stack[this.#depth++] = kind;
  }

  #close(offset: number): void {
    this.#depth--;
    this.#visitor.containerEnd(this.#depth, offset + 1);
    this.#afterValue();
  }

  #afterValue(): void {
    this.#state = this.#depth === 0 ? DONE : COMMA_OR_END;
  }

  /** A byte inside a string that is not plain: its end, a backslash, or one that must not be there. */
  #stringByte(byte: number, offset: number): void {
    if (byte === 0x5c) {
      this.#state = ESCAPE;
      if (this.#key !== null) this.#keepByte(byte);
      return;
    }
    if (byte !== 0x22) {
      throw new JsonSyntaxError(`control character 0x${byte.toString(16).padStart(2, '0')} inside a text`, offset);
    }
    if (!this.#inKey) {
      this.#afterValue();
      return;
    }
    this.#inKey = false;
    this.#state = COLON;
    if (this.#key !== null) {
      this.#visitor.key(this.#keyName());
      this.#key = null;
    }
  }

  #keyName(): string | null {
    if (this.#keyLength > KEY_BYTES) return null;
    const raw = this.#keyBuffer.toString('utf8', 0, this.#keyLength);
    return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
  }

  #keepKey(chunk: Buffer, from: number, to: number): void {
    if (this.#keyLength + to - from <= KEY_BYTES) chunk.copy(this.#keyBuffer, this.#keyLength, from, to);
    this.#keyLength += to - from;
  }

  #keepByte(byte: number): void {
    if (this.#keyLength < KEY_BYTES) this.#keyBuffer[this.#keyLength] = byte;
    this.#keyLength++;
  }

  #escapeOrLiteral(byte: number, offset: number): void {
    if (this.#state === LITERAL) {
      if (byte !== this.#literal.charCodeAt(this.#literalAt)) this.#fail(byte, offset, `the word ${this.#literal}`);
      if (++this.#literalAt === this.#literal.length) this.#afterValue();
      return;
    }
    if (this.#key !== null) this.#keepByte(byte);
    if (this.#state === HEX) {
      if (!isHex(byte)) this.#fail(byte, offset);
      if (--this.#hexLeft === 0) this.#state = STRING;
    } else if (byte === 0x75) {
      this.#state = HEX;
      this.#hexLeft = 4;
    } else if (isShortEscape(byte)) this.#state = STRING;
    else this.#fail(byte, offset);
  }

  /** One byte in or behind a number; false when it ended the number and is still to be looked at. */
  #numberByte(byte: number, offset: number): boolean {
    const next = numberState(this.#state, byte);
    if (next !== -1) {
      this.#state = next;
      return true;
    }
    const state = this.#state;
    if (state === MINUS && byte === INFINITY_START) {
      this.#literal = 'Infinity';
      this.#literalAt = 1;
      this.#state = LITERAL;
      return true;
    }
    if (state === MINUS || state === POINT || state === E || state === E_SIGN) this.#fail(byte, offset);
    this.#afterValue();
    return false;
  }
}

const INFINITY_START = 0x49;
/** Words by their first byte. The last two are no JSON, but Python's `json` reads and writes them. */
const LITERALS: Readonly<Record<number, string>> = {
  116: 'true',
  102: 'false',
  110: 'null',
  78: 'NaN',
  [INFINITY_START]: 'Infinity',
};

/** The number state behind `byte`; −1 when the byte does not go on with the number. */
function numberState(state: number, byte: number): number {
  const digit = byte >= 0x30 && byte <= 0x39;
  switch (state) {
    case MINUS:
      return byte === 0x30 ? ZERO : digit ? DIGITS : -1;
    case ZERO:
    case DIGITS:
      if (digit && state === DIGITS) return DIGITS;
      return byte === 0x2e ? POINT : byte === 0x65 || byte === 0x45 ? E : -1;
    case POINT:
      return digit ? FRACTION : -1;
    case FRACTION:
      return digit ? FRACTION : byte === 0x65 || byte === 0x45 ? E : -1;
    case E:
      return digit ? EXPONENT : byte === 0x2b || byte === 0x2d ? E_SIGN : -1;
    default:
      return digit ? EXPONENT : -1;
  }
}

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function isShortEscape(byte: number): boolean {
  // " \ / b f n r t
  return (
    byte === 0x22 ||
    byte === 0x5c ||
    byte === 0x2f ||
    byte === 0x62 ||
    byte === 0x66 ||
    byte === 0x6e ||
    byte === 0x72 ||
    byte === 0x74
  );
}

/**
 * Index of the first byte from `i` on that ends the string, begins an escape that is not whole and right within this chunk, or must
 * not be in a string; the length when there is none.
 */
function skipText(chunk: Buffer, words: Int32Array, i: number): number {
  for (;;) {
    i = skipPlain(chunk, words, i);
    if (chunk[i] !== 0x5c) return i;
    const length = wholeEscape(chunk, i);
    if (length === 0) return i;
    i += length;
  }
}

/** Bytes of the escape at `i`; 0 when the chunk ends in it or it is none, which is then seen to byte by byte. */
function wholeEscape(chunk: Buffer, i: number): number {
  if (i + 6 > chunk.length) return 0;
  const byte = chunk[i + 1]!;
  if (byte !== 0x75) return isShortEscape(byte) ? 2 : 0;
  return isHex(chunk[i + 2]!) && isHex(chunk[i + 3]!) && isHex(chunk[i + 4]!) && isHex(chunk[i + 5]!) ? 6 : 0;
}

/**
 * Index of the first byte from `i` on that is a quote, a backslash or a control character; the length when there is none. Nearly
 * all of a data set is such text, so this loop sets the speed: it looks at four bytes at once. For each of the three tests the
 * usual "has a byte less than n" trick on a word gives a false alarm only above a true one, so a word without alarm is clean.
 */
function skipPlain(chunk: Buffer, words: Int32Array, i: number): number {
  const length = chunk.length;
  while (i < length && (i & 3) !== 0) {
    if (isSpecial(chunk[i]!)) return i;
    i++;
  }
  const count = words.length;
  let w = i >>> 2;
  while (w < count) {
    const word = words[w]!;
    const quote = word ^ 0x22222222;
    const backslash = word ^ 0x5c5c5c5c;
    const alarm =
      (((word - 0x20202020) & ~word) | ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash)) &
      0x80808080;
    if (alarm !== 0) break;
    w++;
  }
  if (w << 2 > i) i = w << 2;
  while (i < length && !isSpecial(chunk[i]!)) i++;
  return i;
}

function isSpecial(byte: number): boolean {
  return byte === 0x22 || byte === 0x5c || byte < 0x20;
}
