/**
 * The state of one streaming answer: bytes in, token times and the ending out. Dates come from the caller (one clock reading per
 * socket read); nothing here waits, prints or reads a clock. Objects are reused from request to request, so that a run
 * leaves no garbage per token.
 */

import type { AnswerReader, FrameForm, StreamFault } from '../record/answer.ts';
import { type ChoicePart, type FrameReading, isTokenFrame, readFrame } from './frames.ts';
import { parseServerJson } from './json.ts';
import { KeptText } from './kept-text.ts';
import { SseSplitter } from './splitter.ts';
import { type FrameTemplate, learnTemplate, matchedText, matchTemplate, type TokenKind } from './template.ts';

const INITIAL_TIMES = 128;
/** Learned frames per stream: reasoning and answer for a few choices. More shapes than that are parsed. */
const MAX_TEMPLATES = 8;
const MAX_SAMPLE_CHARS = 300;
/** Texts of choices from here on are kept as one. */
const MAX_CHOICE_INDEX = 1024;
/** Length of `data: `. */
const MAX_DATA_PREFIX = 6;
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;

/** What is fixed for all answers of a run. */
export interface StreamOptions {
  /** Largest event in bytes. */
  readonly maxEventBytes: number;
}

/** One answer as it is read. `begin` → `feed` … → `end`; then read the fields. */
export class AnswerStream implements AnswerReader {
  /** Arrival of each token frame, ms on the caller's clock; only the first {@link tokenFrames} entries count. */
  times = new Float64Array(INITIAL_TIMES);
  tokenFrames = 0;
  reasoningFrames = 0;
  /** Token frames that came in the same socket read as the token frame before. */
  mergedFrames = 0;
  /** Socket reads that carried bytes of the body. */
  reads = 0;
  /** Arrival of the first frame with answer text or tool calls; NaN before. */
  firstAnswerMs = Number.NaN;
  /** Arrival of the last event that was not a ping; the start of the answer before the first. */
  lastEventMs = 0;
  /** Tokens counted by `logprobs` entries; 0 when the server sends none. */
  logprobTokens = 0;
  /** The last non-empty usage object. */
  usage: Readonly<Record<string, unknown>> | null = null;
  /** `[DONE]` was seen. */
  isDone = false;
  /** Something other than line ends and comments came behind `[DONE]`. */
  hasTrailingGarbage = false;
  fault: StreamFault | null = null;

  private readonly splitter: SseSplitter;
  private readonly maxEventBytes: number;
  private templates: FrameTemplate[] = [];
  private form: FrameForm = 'chat';
  private keepsText = false;
  private lastTokenRead = -1;
  private lastRead = -1;
  private lastFeedMs = 0;
  /** By choice; empty unless the text is to be kept. */
  private texts: KeptText[] = [];
  private readonly finishReasons = new Map<number, string>();
  private readonly choicesSeen = new Set<number>();
  private eos: string | null = null;
  /** The line under way behind `[DONE]` is a comment. */
  private isTailComment = false;

  constructor(options: StreamOptions) {
    this.maxEventBytes = options.maxEventBytes;
    this.splitter = new SseSplitter(options.maxEventBytes);
  }

  /** Starts a new answer. `keepText`: hold the generated text in memory until the next `begin`. */
  begin(form: FrameForm, keepText: boolean, startMs: number): void {
    this.form = form;
    this.keepsText = keepText;
    this.splitter.reset();
    this.templates = [];
    this.tokenFrames = 0;
    this.reasoningFrames = 0;
    this.mergedFrames = 0;
    this.reads = 0;
    this.firstAnswerMs = Number.NaN;
    this.lastEventMs = startMs;
    this.lastFeedMs = startMs;
    this.logprobTokens = 0;
    this.usage = null;
    this.isDone = false;
    this.hasTrailingGarbage = false;
    this.isTailComment = false;
    this.fault = null;
    this.lastTokenRead = -1;
    this.lastRead = -1;
    if (keepText) for (const text of this.texts) text.clear();
    else if (this.texts.length > 0) this.texts = [];
    this.finishReasons.clear();
    this.choicesSeen.clear();
    this.eos = null;
  }

  /**
   * Takes bytes of the body.
   * @param atMs when the socket read that brought them began to be handled
   * @param read serial number of that read, to tell frames that shared one
   * @param start where the bytes begin in `chunk`
   * @param length where they end
   */
  feed(chunk: Uint8Array, atMs: number, read: number, start = 0, length = chunk.length): void {
    if (read !== this.lastRead) {
      this.lastRead = read;
      this.reads++;
    }
    this.lastFeedMs = atMs;
    const splitter = this.splitter;
    let position = start;
    while (position < length && this.fault === null) {
      if (this.templates.length > 0 && splitter.isBetweenEvents) {
        const end = this.matchLearned(chunk, position, length, atMs);
        if (end > 0) {
          position = end;
          continue;
        }
      }
      const next = splitter.next(chunk, position, length);
      if (this.isDone) this.noteTail(chunk, position, next < 0 ? -1 - next : next);
      if (splitter.isTooLarge) {
        this.fault = { kind: 'event_too_large', words: 'an event is larger than the limit (--max-event-size)' };
        return;
      }
      if (next < 0) {
        position = -1 - next;
      } else {
        this.takeEvent(atMs, chunk, position, next);
        position = next;
      }
    }
  }

  /** The body has ended: takes what is left in the splitter. Dates are those of the last read. */
  end(): void {
    if (this.fault !== null) return;
    if (this.splitter.flush()) this.takeEvent(this.lastFeedMs, null, 0, 0);
  }

  /** Finish reason of the first choice that has one; null when none was sent. */
  get finishReason(): string | null {
    return this.finishReasons.get(0) ?? this.finishReasons.values().next().value ?? null;
  }

  /** TabbyAPI's `eos_reason`, from frames without usage. */
  get eosReason(): string | null {
    return this.eos;
  }

  /** Every choice that was seen, and at least one, has a finish reason. */
  get isFinished(): boolean {
    if (this.finishReasons.size === 0) return false;
    for (const choice of this.choicesSeen) if (!this.finishReasons.has(choice)) return false;
    return true;
  }

  /** Number of choices with a finish reason. */
  get finishedChoices(): number {
    return this.finishReasons.size;
  }

  /** The text made, choice after choice; '' unless it was to be kept. Joining code units mends split surrogate pairs. */
  get generatedText(): string {
    return this.texts.join('');
  }

  /** Bytes behind `[DONE]`: only line ends and comments (pings) belong there. */
  private noteTail(chunk: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end && !this.hasTrailingGarbage; at++) {
      const byte = chunk[at] as number;
      if (byte === LF || byte === CR) this.isTailComment = false;
      else if (byte === COLON) this.isTailComment = true;
      else if (!this.isTailComment) this.hasTrailingGarbage = true;
    }
  }

  private matchLearned(chunk: Uint8Array, position: number, length: number, atMs: number): number {
    const templates = this.templates;
    for (let i = 0; i < templates.length; i++) {
      const template = templates[i] as FrameTemplate;
      const end = matchTemplate(template, chunk, position, length);
      if (end < 0) continue;
      // The splitter says that it is too large.
      if (end - position > this.maxEventBytes) return -1;
      this.token(atMs, template.kind);
      if (this.keepsText) this.textOf(template.choice).addLiteral(chunk, matchedText.start, matchedText.end);
      return end;
    }
    return -1;
  }

  private token(atMs: number, kind: TokenKind): void {
    const count = this.tokenFrames;
    if (count === this.times.length) {
      const grown = new Float64Array(count * 2);
      grown.set(this.times);
      this.times = grown;
    }
    this.times[count] = atMs;
    this.tokenFrames = count + 1;
    this.lastEventMs = atMs;
    if (this.lastTokenRead === this.lastRead) this.mergedFrames++;
    this.lastTokenRead = this.lastRead;
    if (kind === 'reasoning') this.reasoningFrames++;
    else if (Number.isNaN(this.firstAnswerMs)) this.firstAnswerMs = atMs;
  }

  /** Handles the splitter's payload. `chunk[from, to)` is the whole event when it lies in one chunk (`chunk` not null). */
  private takeEvent(atMs: number, chunk: Uint8Array | null, from: number, to: number): void {
    const payload = this.splitter.payload;
    const text = Buffer.from(
      payload.bytes.buffer,
      payload.bytes.byteOffset + payload.start,
      payload.end - payload.start,
    ).toString();
    const trimmed = text.trim();
    if (trimmed === '') return;
    this.lastEventMs = atMs;
    if (trimmed === '[DONE]') {
      this.isDone = true;
      // What follows is looked at byte by byte.
      this.templates = [];
      return;
    }
    const reading = this.parse(trimmed, payload.isErrorType, payload.isUnterminated);
    if (reading === null) return;
    this.apply(reading, atMs);
    if (reading.plain === null || chunk === null || payload.bytes !== chunk || this.templates.length === MAX_TEMPLATES)
      return;
    // Only an event that begins with its data line can stand for the next one.
    if (payload.start - from > MAX_DATA_PREFIX) return;
    const first = reading.choices[0] as ChoicePart;
    const event = chunk.subarray(from, to);
    const learned = learnTemplate(event, payload.start - from, reading.plain.path, reading.plain.kind, first.index);
    if (learned !== null) this.templates.unshift(learned);
  }

  private parse(text: string, isErrorType: boolean, isUnterminated: boolean): FrameReading | null {
    let reading: FrameReading | null = null;
    try {
      reading = readFrame(parseServerJson(text), this.form, isErrorType);
    } catch {
      // Not JSON: handled below, as is JSON that is no object.
    }
    if (reading !== null) return reading;
    // A tail cut off in mid-line is no wrong frame: the stream is truncated, and is reported as that.
    if (isUnterminated) return null;
    // It stands behind a complete answer, see noteTail.
    if (!this.isDone) {
      const words = text.length > MAX_SAMPLE_CHARS ? `${text.slice(0, MAX_SAMPLE_CHARS)}…` : text;
      this.fault = { kind: isErrorType ? 'stream_error' : 'parse', words };
    }
    return null;
  }

  private apply(reading: FrameReading, atMs: number): void {
    if (reading.usage !== null) this.usage = reading.usage;
    if (reading.error !== null) {
      this.fault = { kind: 'stream_error', words: reading.error };
      return;
    }
    for (const choice of reading.choices) {
      this.choicesSeen.add(choice.index);
      if (choice.finishReason !== null) this.finishReasons.set(choice.index, choice.finishReason);
      if (choice.eosReason !== null) this.eos = choice.eosReason;
      this.logprobTokens += choice.logprobTokens;
    }
    if (isTokenFrame(reading)) {
      const first = reading.choices[0] as ChoicePart;
      if (this.keepsText) this.textOf(first.index).addText(first.reasoning + first.text);
      this.token(atMs, first.text !== '' || first.hasToolCalls ? 'answer' : 'reasoning');
    }
  }

  private textOf(choice: number): KeptText {
    const index = Math.min(choice, MAX_CHOICE_INDEX);
    while (this.texts.length <= index) this.texts.push(new KeptText());
    return this.texts[index] as KeptText;
  }
}
