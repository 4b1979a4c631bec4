/**
 * The byte forms of the events of a stream. {@link FrameStyle} makes any event as text; {@link FrameTemplate} is the fast way for
 * the one that is sent a hundred thousand times a second.
 */
import { dumpsCompact, dumpsSpaced, type PyJson } from './pyjson.ts';
import { WORDS } from './words.ts';

/** What kind of answer a stream carries. */
export type StreamKind = 'chat' | 'completion';

/** What an event is about. Members that are absent are not sent. */
export interface EventParts {
  readonly index: number;
  readonly content?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly toolCalls?: PyJson | undefined;
  readonly finish?: string | undefined;
  readonly eosReason?: string | undefined;
  readonly logprobs?: PyJson | undefined;
  readonly usage?: PyJson | undefined;
}

/** How one family of servers writes its events. Every text made is the JSON alone, without `data: ` and line ends. */
export interface FrameStyle {
  readonly name: 'tabbyapi' | 'openai';
  /** An event of a stream. */
  event(kind: StreamKind, id: string, created: number, model: string, parts: EventParts): string;
  /** The event that opens a chat stream, null when there is none. */
  role(id: string, created: number, model: string, index: number): string | null;
  /** Usage as an event of its own, null when it rides in the finish event. */
  usageEvent(kind: StreamKind, id: string, created: number, model: string, usage: PyJson): string | null;
}

function tabbyEvent(kind: StreamKind, id: string, created: number, model: string, parts: EventParts): string {
  const tail = {
    finish_reason: parts.finish ?? null,
    eos_reason: parts.eosReason,
    logprobs: parts.logprobs,
  };
  if (kind === 'completion') {
    return dumpsSpaced({
      id,
      object: 'text_completion',
      choices: [{ index: parts.index, text: parts.content ?? '', ...tail }],
      created,
      usage: parts.usage,
      model_name: model,
    });
  }
  const delta = { content: parts.content, reasoning_content: parts.reasoning, tool_calls: parts.toolCalls };
  return dumpsSpaced({
    id,
    object: 'chat.completion.chunk',
    created,
    choices: [{ index: parts.index, delta, ...tail }],
    usage: parts.usage,
    model,
  });
}

/** TabbyAPI's form. */
export const TABBY_STYLE: FrameStyle = {
  name: 'tabbyapi',
  event: tabbyEvent,
  role: () => null,
  usageEvent: () => null,
};

function openaiEvent(kind: StreamKind, id: string, created: number, model: string, parts: EventParts): string {
  const tail = { logprobs: parts.logprobs ?? null, finish_reason: parts.finish ?? null, stop_reason: null };
  if (kind === 'completion') {
    const choices = [{ index: parts.index, text: parts.content ?? '', ...tail }];
    return dumpsCompact({ id, object: 'text_completion', created, model, choices });
  }
  const content = parts.content ?? (parts.reasoning === undefined && parts.toolCalls === undefined ? '' : undefined);
  const delta = { reasoning_content: parts.reasoning, content, tool_calls: parts.toolCalls };
  return dumpsCompact({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [{ index: parts.index, delta, ...tail }],
  });
}

/** The form of vLLM and most OpenAI-compatible servers: role event first, usage in an event without choices. */
export const OPENAI_STYLE: FrameStyle = {
  name: 'openai',
  event: openaiEvent,
  role: (id, created, model, index) =>
    dumpsCompact({
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
    }),
  usageEvent: (kind, id, created, model, usage) => {
    const object = kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    return dumpsCompact({ id, object, created, model, choices: [], usage });
  },
};

/** An event as one HTTP chunk: `data: JSON`, the blank line, the chunk's frame around it. */
export function chunkOf(body: string): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(`${length.toString(16)}\r\n${body}\r\n`);
}

/** Text that stands where the answer's text will be, to find its place in an event. */
const TEXT_MARK = '\u0001TEXT\u0001';
const JSON_MARK = JSON.stringify(TEXT_MARK).slice(1, -1);
/** Ten digits that stand where the second will be. */
const CREATED_MARK = 1_111_111_111;
/** Room for the chunk size (up to 6 hex digits) and CRLF before the event. */
const HEAD_ROOM = 8;

/** ASCII of the hexadecimal digits. */
const DIGITS = Buffer.from('0123456789abcdef');

/** Writes a chunk's size and CRLF so that they end at `end`; returns where they start. */
function writeSize(buffer: Buffer, size: number, end: number): number {
  let at = end;
  buffer[--at] = 10;
  buffer[--at] = 13;
  let left = size;
  do {
    buffer[--at] = DIGITS[left & 15] as number;
    left >>= 4;
  } while (left > 0);
  return at;
}

/** A stretch of bytes ready to be written: `buffer[start, end)`. */
export interface Span {
  buffer: Buffer;
  start: number;
  end: number;
}

/**
 * The token event of all streams of one kind, laid out once: for each token only the stream's id and the text are copied in, so that a
 * thousand streams share one piece of memory that stays in the processor's cache. Ids must all be as long as `sampleId`.
 */
export class FrameTemplate {
  private readonly buffer: Buffer;
  private readonly idAt: number;
  private readonly indexAt: number;
  private readonly textAt: number;
  private readonly createdAt: number;
  /** The text of each word and what follows it. */
  private readonly tails: readonly Buffer[];
  private readonly tailCreatedAt: number;
  private created = 0;

  constructor(style: FrameStyle, kind: StreamKind, model: string, lineEnd: string, sampleId: string) {
    const whole = style.event(kind, sampleId, CREATED_MARK, model, { index: 7, content: TEXT_MARK });
    const textAt = whole.indexOf(JSON_MARK);
    const before = `data: ${whole.slice(0, textAt)}`;
    const after = whole.slice(textAt + JSON_MARK.length);
    const at = (text: string, part: string): number => {
      const found = text.indexOf(part);
      return found < 0 ? -1 : Buffer.byteLength(text.slice(0, found));
    };
    this.tails = WORDS.map((word) =>
      Buffer.from(`${JSON.stringify(word).slice(1, -1)}${after}${lineEnd}${lineEnd}\r\n`),
    );
    this.tailCreatedAt = at(after, String(CREATED_MARK));
    const prefix = Buffer.from(before);
    this.textAt = HEAD_ROOM + prefix.length;
    this.buffer = Buffer.alloc(this.textAt + Math.max(...this.tails.map((tail) => tail.length)));
    prefix.copy(this.buffer, HEAD_ROOM);
    this.idAt = HEAD_ROOM + at(before, sampleId);
    const created = at(before, String(CREATED_MARK));
    this.createdAt = created < 0 ? -1 : HEAD_ROOM + created;
    // "index": 7, with or without the space; it always stands before the text.
    const index = /"index": ?/.exec(before) as RegExpExecArray;
    this.indexAt = HEAD_ROOM + at(before, index[0]) + index[0].length;
  }

  /**
   * Lays out the event of one word as a chunk. `id` is the stream's id in ASCII, `index` its choice, 0..9. The span is valid until
   * the next call for any stream.
   */
  word(id: Uint8Array, index: number, wordIndex: number, second: number, out: Span): void {
    const { buffer, textAt } = this;
    if (this.created !== second) this.renew(second);
    buffer.set(id, this.idAt);
    buffer[this.indexAt] = 48 + index;
    const tail = this.tails[wordIndex] as Buffer;
    buffer.set(tail, textAt);
    const end = textAt + tail.length;
    out.buffer = buffer;
    out.start = writeSize(buffer, end - 2 - HEAD_ROOM, HEAD_ROOM);
    out.end = end;
  }

  /** Puts a new second wherever `created` stands. */
  private renew(second: number): void {
    this.created = second;
    const digits = Buffer.from(String(second));
    if (this.createdAt >= 0) digits.copy(this.buffer, this.createdAt);
    if (this.tailCreatedAt < 0) return;
    this.tails.forEach((tail, i) => {
      digits.copy(tail, Buffer.byteLength(JSON.stringify(WORDS[i])) - 2 + this.tailCreatedAt);
    });
  }
}
