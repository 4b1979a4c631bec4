/**
 * Reads an answer that is not streamed: one JSON body. It has one arrival, that of its last bytes, so TTFT equals E2EL and
 * there are no gaps; tokens come from usage.
 *
 * TabbyAPI answers a request whose job was cancelled by another's failure with status 200 and cut text, told only by `eos_reason`
 * null and a missing usage: such an answer is not complete.
 */
import type { AnswerReader, FrameForm, StreamFault } from '../record/answer.ts';
import { errorWords, isObject, textOf } from './frames.ts';
import { parseServerJson } from './json.ts';

const MAX_SAMPLE_CHARS = 300;

/** See above; the members are those of a streamed answer. */
export class WholeAnswer implements AnswerReader {
  readonly times = new Float64Array(1);
  tokenFrames = 0;
  reasoningFrames = 0;
  readonly mergedFrames = 0;
  reads = 0;
  firstAnswerMs = Number.NaN;
  lastEventMs = 0;
  logprobTokens = 0;
  usage: Readonly<Record<string, unknown>> | null = null;
  isDone = false;
  readonly hasTrailingGarbage = false;
  readonly trailing = '';
  fault: StreamFault | null = null;
  finishReason: string | null = null;
  eosReason: string | null = null;
  isFinished = false;
  finishedChoices = 0;
  generatedText = '';

  private readonly maxBytes: number;
  private parts: Buffer[] = [];
  private length = 0;
  private lastRead = -1;
  private form: FrameForm = 'chat';
  private keepsText = false;

  /** @param maxBytes largest body that is accepted */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  begin(form: FrameForm, keepText: boolean, startMs: number): void {
    this.form = form;
    this.keepsText = keepText;
    this.tokenFrames = 0;
    this.reads = 0;
    this.firstAnswerMs = Number.NaN;
    this.lastEventMs = startMs;
    this.usage = null;
    this.isDone = false;
    this.fault = null;
    this.finishReason = null;
    this.eosReason = null;
    this.isFinished = false;
    this.finishedChoices = 0;
    this.generatedText = '';
    this.parts = [];
    this.length = 0;
    this.lastRead = -1;
  }

  feed(chunk: Uint8Array, atMs: number, read: number, start = 0, length = chunk.length): void {
    if (read !== this.lastRead) this.reads++;
    this.lastRead = read;
    this.lastEventMs = atMs;
    this.length += length - start;
    if (this.length > this.maxBytes) {
      this.fault = { kind: 'event_too_large', words: 'the answer is larger than the limit (--max-event-size)' };
      this.parts = [];
      return;
    }
    this.parts.push(Buffer.from(chunk.subarray(start, length)));
  }

  end(): void {
    if (this.fault !== null || this.length === 0) return;
    // A byte order mark may stand before JSON; a reader may skip it (RFC 8259 §8.1).
    const text = Buffer.concat(this.parts)
      .toString()
      .replace(/^\ufeff/, '');
    this.parts = [];
    let answer: unknown;
    try {
      answer = parseServerJson(text);
    } catch {
      // Said below.
    }
    if (!isObject(answer)) {
      this.fault = { kind: 'parse', words: text.slice(0, MAX_SAMPLE_CHARS) };
      return;
    }
    const words = errorWords(answer, false);
    if (words !== null) this.fault = { kind: 'stream_error', words };
    else this.take(answer);
  }

  private take(answer: Readonly<Record<string, unknown>>): void {
    const usage = answer['usage'];
    this.usage = isObject(usage) && Object.keys(usage).length > 0 ? usage : null;
    const choices = Array.isArray(answer['choices']) ? answer['choices'].filter(isObject) : [];
    const texts = choices.map((choice) => choiceText(choice, this.form));
    const finishes = choices.flatMap((choice) =>
      typeof choice['finish_reason'] === 'string' ? [choice['finish_reason']] : [],
    );
    const eos = choices.map((choice) => choice['eos_reason']);
    this.finishReason = finishes[0] ?? null;
    this.eosReason = typeof eos[0] === 'string' ? eos[0] : null;
    this.finishedChoices = finishes.length;
    this.isFinished = choices.length > 0 && finishes.length === choices.length;
    // Other servers know no eos_reason; there a finish reason and usage say enough.
    this.isDone = this.usage !== null && eos.every((reason) => reason !== null);
    if (this.keepsText) this.generatedText = texts.join('');
    const isToken = texts.some((text) => text !== '') || choices.some((choice) => hasToolCalls(choice));
    if (!isToken) return;
    this.times[0] = this.lastEventMs;
    this.tokenFrames = 1;
    this.firstAnswerMs = this.lastEventMs;
  }
}

function choiceText(choice: Readonly<Record<string, unknown>>, form: FrameForm): string {
  if (form === 'completions') return textOf(choice['text']);
  const message = isObject(choice['message']) ? choice['message'] : {};
  return (textOf(message['reasoning_content']) || textOf(message['reasoning'])) + textOf(message['content']);
}

function hasToolCalls(choice: Readonly<Record<string, unknown>>): boolean {
  const message = choice['message'];
  return isObject(message) && Array.isArray(message['tool_calls']) && message['tool_calls'].length > 0;
}
