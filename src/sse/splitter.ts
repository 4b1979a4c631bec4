/**
 * Splits an event stream into events, on bytes (WHATWG HTML §9.2.6 "Interpreting an event stream").
 *
 * Lines end in CR, LF or CRLF; an empty line ends an event. Nothing else splits: U+2028, U+0085 and the like are ordinary bytes
 * inside JSON strings. Each byte is looked at once to find the end of an event, whatever the chunking, and bytes are copied only
 * when an event lies in more than one chunk. One state machine in one place on purpose: its states only make sense together.
 *
 * A CR at the end of a chunk is ambiguous (lone CR, or the first half of CRLF). The splitter waits for the next byte, as
 * the stream would otherwise be dated by half a line end, unless this stream has shown that it uses lone CRs.
 */

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const EMPTY = new Uint8Array(0);
const INITIAL_CARRY_BYTES = 1024;

/** Bytes of an event's payload: the value of its `data` lines, joined by LF when there are several. */
export interface EventPayload {
  /** Buffer that holds the payload; valid until the next call of the splitter. */
  bytes: Uint8Array;
  start: number;
  end: number;
  /** The event's `event:` field was `error`. */
  isErrorType: boolean;
  /** The event was cut off by the end of the stream in the middle of a line. */
  isUnterminated: boolean;
}

/**
 * Pull-style splitter: `next()` consumes bytes up to and including the end of one event. Reusable by {@link reset}.
 */
export class SseSplitter {
  /** The payload of the event that the last call found. */
  readonly payload: EventPayload = { bytes: EMPTY, start: 0, end: 0, isErrorType: false, isUnterminated: false };
  /** The event under way has grown beyond the limit; the stream cannot be read any further. */
  isTooLarge = false;

  private readonly maxEventBytes: number;
  private carry: Uint8Array = EMPTY;
  private carryLength = 0;
  private lineIsEmpty = true;
  private sawCarriageReturn = false;
  private skipLineFeed = false;
  private usesLoneCarriageReturn = false;
  private isFirstEvent = true;

  /** @param maxEventBytes largest event (bytes between two empty lines) that is accepted. */
  constructor(maxEventBytes: number) {
    this.maxEventBytes = maxEventBytes;
  }

  /** Makes the splitter as new, keeping its buffer. */
  reset(): void {
    this.isTooLarge = false;
    this.carryLength = 0;
    this.lineIsEmpty = true;
    this.sawCarriageReturn = false;
    this.skipLineFeed = false;
    this.usesLoneCarriageReturn = false;
    this.isFirstEvent = true;
  }

  /** True between two events: the next byte begins an event, and it may be compared with a learned frame. */
  get isBetweenEvents(): boolean {
    return (
      this.carryLength === 0 && this.lineIsEmpty && !this.sawCarriageReturn && !this.skipLineFeed && !this.isFirstEvent
    );
  }

  /**
   * Consumes `chunk` from `position` to the end of the next event, or to `length`.
   * @returns the position behind what was consumed; or −1 − that position when no event with a payload was completed.
   */
  next(chunk: Uint8Array, position: number, length: number): number {
    let at = position;
    if (this.skipLineFeed && at < length) {
      this.skipLineFeed = false;
      if (chunk[at] === LF) at++;
    }
    // A LF behind the CR of a line counts with its event, as it does when both lie in one chunk; behind an event it counts with none.
    const start = this.carryLength > 0 ? position : at;
    while (at < length) {
      const byte = chunk[at] as number;
      if (this.sawCarriageReturn) {
        // The line ended at the CR before this byte; a LF belongs to that line end, any other byte shows a lone CR.
        this.sawCarriageReturn = false;
        if (byte === LF) at++;
        else this.usesLoneCarriageReturn = true;
        if (this.lineIsEmpty) return this.eventEnd(chunk, start, at, at);
        this.lineIsEmpty = true;
      } else if (byte === LF) {
        at++;
        if (this.lineIsEmpty) return this.eventEnd(chunk, start, at, at);
        this.lineIsEmpty = true;
      } else if (byte === CR) {
        at++;
        if (!this.usesLoneCarriageReturn) {
          this.sawCarriageReturn = true;
        } else {
          const end = at;
          if (at < length) {
            if (chunk[at] === LF) at++;
          } else this.skipLineFeed = true;
          if (this.lineIsEmpty) return this.eventEnd(chunk, start, end, at);
          this.lineIsEmpty = true;
        }
      } else {
        this.lineIsEmpty = false;
        at++;
      }
    }
    this.keep(chunk, start, length);
    return -1 - length;
  }

  /** The stream has ended: what is left is taken as an event. Returns whether there was one with a payload. */
  flush(): boolean {
    const isUnterminated = !this.lineIsEmpty && !this.sawCarriageReturn;
    const length = this.carryLength;
    this.carryLength = 0;
    if (length === 0) return false;
    const found = this.extract(this.carry, 0, length);
    this.payload.isUnterminated = isUnterminated;
    return found;
  }

  /** The event is `chunk[start, end)` behind what was kept of it; the next one begins at `next`. */
  private eventEnd(chunk: Uint8Array, start: number, end: number, next: number): number {
    this.lineIsEmpty = true;
    let found: boolean;
    if (this.carryLength === 0 && end - start <= this.maxEventBytes) {
      found = this.extract(chunk, start, end);
    } else {
      this.keep(chunk, start, end);
      const length = this.carryLength;
      this.carryLength = 0;
      found = !this.isTooLarge && this.extract(this.carry, 0, length);
    }
    this.payload.isUnterminated = false;
    return found ? next : -1 - next;
  }

  private keep(chunk: Uint8Array, start: number, end: number): void {
    const needed = this.carryLength + (end - start);
    if (needed > this.maxEventBytes) {
      this.isTooLarge = true;
      return;
    }
    if (needed > this.carry.length) {
      const grown = new Uint8Array(Math.max(INITIAL_CARRY_BYTES, needed, this.carry.length * 2));
      grown.set(this.carry.subarray(0, this.carryLength));
      this.carry = grown;
    }
    this.carry.set(start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end), this.carryLength);
    this.carryLength = needed;
  }

  /** Finds the data lines of the event in `bytes[start, end)` and sets the payload. Returns false when there is no data. */
  private extract(bytes: Uint8Array, start: number, end: number): boolean {
    const payload = this.payload;
    payload.isErrorType = false;
    let at = start;
    if (this.isFirstEvent) {
      this.isFirstEvent = false;
      if (end - at >= 3 && bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3;
    }
    let dataLines = 0;
    while (at < end) {
      let lineEnd = at;
      while (lineEnd < end && bytes[lineEnd] !== LF && bytes[lineEnd] !== CR) lineEnd++;
      if (isField(bytes, at, lineEnd, 'data')) {
        const valueStart = fieldValueStart(bytes, at, lineEnd, 4);
        if (dataLines === 0) {
          payload.bytes = bytes;
          payload.start = valueStart;
          payload.end = lineEnd;
        } else {
          joinLine(payload, bytes, valueStart, lineEnd);
        }
        dataLines++;
      } else if (isField(bytes, at, lineEnd, 'event')) {
        payload.isErrorType = isText(bytes, fieldValueStart(bytes, at, lineEnd, 5), lineEnd, 'error');
      }
      at = lineEnd + 1;
    }
    return dataLines > 0;
  }
}

/** Appends a further data line to a payload, which from now on has a buffer of its own. Rare: servers send JSON on one line. */
function joinLine(payload: EventPayload, bytes: Uint8Array, start: number, end: number): void {
  const soFar = payload.end - payload.start;
  const joined = new Uint8Array(soFar + 1 + (end - start));
  joined.set(payload.bytes.subarray(payload.start, payload.end));
  joined[soFar] = LF;
  joined.set(bytes.subarray(start, end), soFar + 1);
  payload.bytes = joined;
  payload.start = 0;
  payload.end = joined.length;
}

/** Is the line `bytes[start, end)` the field `name`, with or without a colon and value? */
function isField(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  if (!isText(bytes, start, Math.min(end, start + name.length), name)) return false;
  return start + name.length === end || bytes[start + name.length] === COLON;
}

/** Where the value of a field begins: behind the colon and one space. */
function fieldValueStart(bytes: Uint8Array, start: number, end: number, nameLength: number): number {
  const at = start + nameLength + 1;
  if (at >= end) return end;
  return bytes[at] === SPACE ? at + 1 : at;
}

function isText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}
