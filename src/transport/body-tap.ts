/**
 * Takes the body of a chunked answer straight from the socket's bytes, past the HTTP parser.
 *
 * undici hands every chunk through WebAssembly and five calls, and makes a Buffer for it: a third of the cost of a token event. Once
 * it has read the headers of an event stream, nothing of HTTP is left but chunk sizes, so from the next chunk on these are read
 * here and the parser sees no more bytes, until the last chunk: that one is handed to it again, and it ends the answer,
 * keeps the connection, and raises what goes wrong, as ever. Whatever is not a plain size line (RFC 9112 §7.1: no extensions)
 * is handed over too, so that nothing is judged here.
 */

import { AnswerStart } from './answer-start.ts';

const CR = 0x0d;
const LF = 0x0a;
const HEADER_END = Buffer.from('\r\n\r\n');
const STATUS_LINE = /^HTTP\/1\.1 200[ \r]/;
const STATUS_LINE_BYTES = 13;
/** Longer size lines are left to the parser. */
const MAX_SIZE_DIGITS = 7;

/** Where in the framing of chunks the next byte stands. */
const STATE = { size: 0, sizeEnd: 1, data: 2, dataCr: 3, dataLf: 4, unknown: 5 } as const;
type State = (typeof STATE)[keyof typeof STATE];

/** Takes the bytes of chunks: `bytes[start, end)`, valid during the call. */
export type TakeBody = (bytes: Buffer, start: number, end: number) => void;

/** The tap of one socket. */
export class BodyTap {
  /** Goes over the bytes before the parser, until an answer has begun. */
  readonly start = new AnswerStart();
  /** The headers of the answer under way are complete. */
  isHeadRead = false;
  /** The parser is at a chunk boundary, and what comes is to be given to {@link take}. */
  isTaking = false;
  /** A chunk did not end where its size said: nothing can be made of the connection any more. */
  isBroken = false;

  private state: State = STATE.unknown;
  private size = 0;
  private digits = 0;
  private isArmed = false;
  /** Bytes of a size line that ended with a read: not yet known whether they are ours or the parser's. */
  private readonly held = Buffer.alloc(MAX_SIZE_DIGITS + 2);
  private heldLength = 0;

  /** The parser has just read, within the present read, the headers of an answer whose body is to be taken. */
  arm(): void {
    this.isArmed = true;
    this.isBroken = false;
    this.heldLength = 0;
    this.state = STATE.unknown;
  }

  /** No answer is under way, or its body is not to be taken any further. */
  disarm(): void {
    this.start.begin();
    this.isHeadRead = false;
    this.isArmed = false;
    this.isTaking = false;
    this.heldLength = 0;
  }

  /** After the parser has handled `bytes[0, length)`: finds out whether it is at a boundary now, and if so takes over. */
  follow(bytes: Buffer, length: number): void {
    if (!this.isArmed) return;
    let at = 0;
    if (this.state === STATE.unknown) {
      at = bodyStart(bytes, length);
      if (at < 0) {
        // The headers came in pieces; this answer stays with the parser.
        this.isArmed = false;
        return;
      }
      this.state = STATE.size;
      this.size = 0;
      this.digits = 0;
    }
    this.walk(bytes, at, length, null);
    const reached = this.state as State;
    this.isArmed = reached !== STATE.unknown;
    this.isTaking = reached === STATE.size && this.digits === 0;
  }

  /**
   * Takes what is in `bytes[0, length)`.
   * @returns the position from which the parser has to go on (behind {@link heldBytes}), or `length` when all was taken.
   */
  take(bytes: Buffer, length: number, body: TakeBody): number {
    const whole = this.state === STATE.size && this.digits === 0 ? takeWholeChunks(bytes, length, body) : 0;
    const end = whole === length ? length : this.walk(bytes, whole, length, body);
    if (end < length || this.state === STATE.unknown) {
      this.isTaking = false;
      this.isArmed = false;
      return end;
    }
    return length;
  }

  /** What the parser has to be given: bytes held back from earlier reads, then the rest of this one. */
  handOver(bytes: Buffer, from: number, length: number): Buffer {
    const rest = bytes.subarray(from, length);
    if (this.heldLength === 0) return rest;
    const whole = Buffer.concat([this.held.subarray(0, this.heldLength), rest]);
    this.heldLength = 0;
    return whole;
  }

  /**
   * Goes through chunk framing from `start`. With `body` null the bytes were the parser's and only the place is kept.
   * @returns how far it went; less than `length`, or with the state unknown, where a size line is not plain or is the last.
   */
  private walk(bytes: Buffer, start: number, length: number, body: TakeBody | null): number {
    let at = start;
    // Start of the size line in this read; bytes of it in earlier reads are held.
    let lineStart = start;
    while (at < length) {
      switch (this.state) {
        case STATE.size: {
          const byte = bytes[at] as number;
          const digit = HEX[byte] as number;
          if (digit >= 0 && this.digits < MAX_SIZE_DIGITS) {
            this.size = this.size * 16 + digit;
            this.digits++;
            at++;
          } else if (byte === CR && this.digits > 0 && this.size > 0) {
            this.state = STATE.sizeEnd;
            at++;
          } else return this.leave(lineStart);
          break;
        }
        case STATE.sizeEnd:
          if (bytes[at] !== LF) return this.leave(lineStart);
          this.state = STATE.data;
          this.heldLength = 0;
          at++;
          break;
        case STATE.data: {
          const end = Math.min(length, at + this.size);
          if (body !== null) body(bytes, at, end);
          this.size -= end - at;
          at = end;
          if (this.size === 0) this.state = STATE.dataCr;
          break;
        }
        case STATE.dataCr:
          if (bytes[at] !== CR) return this.fail(at);
          this.state = STATE.dataLf;
          at++;
          break;
        case STATE.dataLf:
          if (bytes[at] !== LF) return this.fail(at);
          this.state = STATE.size;
          this.digits = 0;
          at++;
          lineStart = at;
          break;
        default:
          return at;
      }
    }
    const isInLine = this.state === STATE.size || this.state === STATE.sizeEnd;
    if (body !== null && isInLine && lineStart < length) this.hold(bytes, lineStart, length);
    return at;
  }

  private hold(bytes: Buffer, start: number, end: number): void {
    bytes.copy(this.held, this.heldLength, start, end);
    this.heldLength += end - start;
  }

  private leave(at: number): number {
    this.state = STATE.unknown;
    return at;
  }

  private fail(at: number): number {
    this.isBroken = true;
    return this.leave(at);
  }
}

/** Where the body begins when the whole head of an answer with status 200 stands at the front of a read; −1 otherwise. */
function bodyStart(bytes: Buffer, length: number): number {
  if (!STATUS_LINE.test(bytes.toString('latin1', 0, Math.min(length, STATUS_LINE_BYTES)))) return -1;
  const end = bytes.subarray(0, length).indexOf(HEADER_END);
  return end < 0 ? -1 : end + HEADER_END.length;
}

/**
 * The common case without a state machine: chunks that lie wholly in one read, from a chunk boundary on.
 * @returns the boundary behind the last of them
 */
function takeWholeChunks(bytes: Buffer, length: number, body: TakeBody): number {
  let boundary = 0;
  for (;;) {
    let at = boundary;
    let size = 0;
    while (at < length) {
      const digit = HEX[bytes[at] as number] as number;
      if (digit < 0) break;
      size = size * 16 + digit;
      at++;
    }
    const dataStart = at + 2;
    const dataEnd = dataStart + size;
    if (size === 0 || at - boundary > MAX_SIZE_DIGITS || dataEnd + 2 > length) return boundary;
    if (bytes[at] !== CR || bytes[at + 1] !== LF || bytes[dataEnd] !== CR || bytes[dataEnd + 1] !== LF) return boundary;
    body(bytes, dataStart, dataEnd);
    boundary = dataEnd + 2;
    if (boundary === length) return boundary;
  }
}

/** Value of each byte as a hexadecimal digit; −1 for all others. */
const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? -1 : value;
});
