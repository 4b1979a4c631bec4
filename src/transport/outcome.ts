/**
 * From what was seen of one request to its record: did it succeed, and if not, of which kind was the failure and what did the
 * server say. Pure: the transport collects, this judges.
 */
import { codeOf, messageOf } from '../errors.ts';
import type { AnswerReader } from '../record/answer.ts';
import type { Target } from '../record/messages.ts';
import type { FailureKind, RequestRecord, ServerTimes } from '../record/record.ts';
import { beginningWithoutSecrets, withoutSecrets } from '../secrets.ts';
import { BrokenChunk, ConnectTimeout, connectWords, wayWords } from './connect-error.ts';

/** Characters of a server's words that are kept, as in the shim. */
export const WORDS_LIMIT = 300;
/** The shim's sentence for an answer without tokens. */
export const NO_TOKENS_WORDS = 'Never received a token frame; the request is marked failed.';

/** Why we gave a request up. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, words: string) {
    super(words);
    this.kind = kind;
  }
}

/** A body that came compressed cannot be unpacked. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
}

/** How an exchange ended, beside what the stream holds. Times in ms on the run's clock. */
export interface Exchange {
  readonly index: number;
  readonly worker: number;
  readonly requestId: string;
  readonly category: string;
  readonly promptLen: number;
  readonly outputLen: number;
  readonly arrivalMs: number;
  readonly startMs: number;
  /** NaN when no byte of the answer came. */
  readonly firstByteMs: number;
  readonly endMs: number;
  /** 0 when there was no answer. */
  readonly status: number;
  readonly statusText: string;
  readonly contentType: string;
  /** '' when the body came as it is. */
  readonly contentEncoding: string;
  /** Beginning of a body that is no event stream. */
  readonly bodyText: string;
  /** There was a connection, and the request (its last try) was handed to it. */
  readonly isConnected: boolean;
  /** What the connection or we ended it with; null when the body came to its end. */
  readonly error: unknown;
  /** Time to open a connection within the request; NaN when none was opened. */
  readonly connectMs: number;
  readonly isStaleReconnect: boolean;
  /** How often it was sent again after a 429 or 503, and how long that was waited for, ms. */
  readonly retries: number;
  readonly retryWaitMs: number;
  readonly keptText: boolean;
}

/** What the judgement needs to know of the target: where the request went, what a complete answer must have, what must not be told. */
export type JudgedTarget = Pick<
  Target,
  'origin' | 'unixSocket' | 'proxy' | 'isWhole' | 'needsFinishAndDone' | 'choices' | 'secrets'
>;

interface Failure {
  readonly kind: FailureKind;
  readonly words: string;
}

/**
 * @param clockOffsetMs shift from the run's clock to the system's monotonic clock
 * @param gaps scratch for the gaps between token frames, at least as long as the stream's token frames
 */
export function recordOf(
  exchange: Exchange,
  stream: AnswerReader,
  target: JudgedTarget,
  clockOffsetMs: number,
  gaps: Float64Array,
): RequestRecord {
  const failure = failureOf(exchange, stream, target);
  const { startMs } = exchange;
  const frames = stream.tokenFrames;
  const itl = gapsOf(stream, gaps);
  const ttft = frames > 0 ? ((stream.times[0] as number) - startMs) / 1000 : 0;
  const latency = frames > 0 ? ((stream.times[frames - 1] as number) - startMs) / 1000 : 0;
  const isSuccess = failure === null;
  const usage = stream.usage;
  const hasFrames = frames > 0;
  return {
    type: 'request',
    i: exchange.index,
    success: isSuccess,
    prompt_len: wholeNumber(usage?.['prompt_tokens']) ?? exchange.promptLen,
    client_prompt_len: exchange.promptLen,
    output_tokens: wholeNumber(usage?.['completion_tokens']) ?? null,
    ttft: isSuccess ? ttft : 0,
    itl: isSuccess ? itl : NO_GAPS,
    latency: isSuccess ? latency : 0,
    start_time: (startMs + clockOffsetMs) / 1000,
    arrival_time: (exchange.arrivalMs + clockOffsetMs) / 1000,
    error: failure === null ? '' : withoutSecrets(failure.words, target.secrets),
    ...(failure !== null ? { error_kind: failure.kind } : {}),
    ...(exchange.status > 0 ? { status: exchange.status } : {}),
    output_len: exchange.outputLen,
    worker: exchange.worker,
    frames,
    merged_frames: stream.mergedFrames,
    reads: stream.reads,
    ...(Number.isNaN(exchange.firstByteMs) ? {} : { first_byte: (exchange.firstByteMs - startMs) / 1000 }),
    ...(stream.reasoningFrames > 0 ? reasoningOf(stream, startMs) : {}),
    end: (exchange.endMs - startMs) / 1000,
    finish_reason: stream.finishReason === null ? null : withoutSecrets(stream.finishReason, target.secrets),
    ...(Number.isNaN(exchange.connectMs) ? {} : { connect_s: exchange.connectMs / 1000 }),
    ...(exchange.isStaleReconnect ? { stale_reconnect: true } : {}),
    ...(exchange.retries > 0 ? { retries: exchange.retries, retry_wait_s: exchange.retryWaitMs / 1000 } : {}),
    ...(exchange.contentEncoding !== ''
      ? { content_encoding: withoutSecrets(exchange.contentEncoding, target.secrets) }
      : {}),
    ...serverSide(usage, target.choices),
    ...(stream.logprobTokens > 0 ? { logprob_tokens: stream.logprobTokens } : {}),
    ...(stream.hasTrailingGarbage ? { trailing_garbage: true } : {}),
    ...(exchange.requestId !== '' ? { request_id: exchange.requestId } : {}),
    ...(exchange.category !== '' ? { category: exchange.category } : {}),
    ...(exchange.keptText ? { generated_text: withoutSecrets(stream.generatedText, target.secrets) } : {}),
    ...(!isSuccess && hasFrames ? { partial: { ttft, itl, latency, frames } } : {}),
  };
}

const NO_GAPS = new Float64Array(0);

/** Gaps between token frames in seconds, as a view of the scratch. */
function gapsOf(stream: AnswerReader, scratch: Float64Array): Float64Array {
  const count = Math.max(0, stream.tokenFrames - 1);
  for (let k = 0; k < count; k++) {
    scratch[k] = ((stream.times[k + 1] as number) - (stream.times[k] as number)) / 1000;
  }
  return scratch.subarray(0, count);
}

function reasoningOf(stream: AnswerReader, startMs: number): Partial<RequestRecord> {
  return {
    reasoning_frames: stream.reasoningFrames,
    ...(Number.isNaN(stream.firstAnswerMs) ? {} : { first_answer: (stream.firstAnswerMs - startMs) / 1000 }),
  };
}

function failureOf(exchange: Exchange, stream: AnswerReader, target: JudgedTarget): Failure | null {
  const { status, error } = exchange;
  if (error instanceof GivenUp) return { kind: error.kind, words: error.message };
  if (!exchange.isConnected && error !== null) {
    const kind = error instanceof ConnectTimeout ? 'timeout_connect' : 'connect';
    return { kind, words: connectWords(wayWords(target), error) };
  }
  if (status !== 0 && status !== 200) {
    const words = `HTTP ${status} ${exchange.statusText} ${kept(exchange.bodyText, target)}`;
    return { kind: 'http', words: words.trimEnd() };
  }
  // What the server said comes before how the connection ended.
  if (stream.fault !== null) return faultOf(stream, target);
  if (error instanceof Undecodable) return { kind: 'parse', words: `the body cannot be unpacked: ${error.message}` };
  if (exchange.bodyText !== '' && stream.tokenFrames === 0) {
    const words = `not an event stream (content-type ${exchange.contentType || 'missing'}): ${kept(exchange.bodyText, target)}`;
    return { kind: 'parse', words };
  }
  if (error !== null) return brokenOf(exchange, stream);
  if (stream.tokenFrames === 0) return { kind: 'no_tokens', words: NO_TOKENS_WORDS };
  const missing = missingOf(stream, target);
  if (missing === '') return null;
  return { kind: 'truncated', words: `the answer ended after ${stream.tokenFrames} token frames without ${missing}` };
}

/** As much of a server's words as is kept. */
function kept(words: string, { secrets }: JudgedTarget): string {
  return beginningWithoutSecrets(words, WORDS_LIMIT, secrets);
}

function faultOf(stream: AnswerReader, target: JudgedTarget): Failure {
  const { kind, words } = stream.fault as NonNullable<AnswerReader['fault']>;
  const lead = { stream_error: 'error in the stream: ', parse: 'not a frame: ', event_too_large: '' }[kind];
  return { kind, words: `${lead}${kept(words, target)}` };
}

/** The body ended before its last chunk, or before its length was reached. undici's parser errors have a name, but no code. */
function isCutOff(error: unknown): boolean {
  if (/^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/.test(codeOf(error))) return true;
  return nameOf(error) === 'HTTPParserError' && /Invalid EOF state/.test(messageOf(error));
}

function isNotHttp(error: unknown): boolean {
  const isOurs = error instanceof BrokenChunk || codeOf(error) === 'UND_ERR_HEADERS_OVERFLOW';
  return isOurs || nameOf(error) === 'HTTPParserError';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

/**
 * The connection broke. An answer that was under way and closed in order (FIN) was cut off; what is not HTTP cannot be read; anything
 * else is a reset.
 */
function brokenOf(exchange: Exchange, stream: AnswerReader): Failure {
  const { error, status } = exchange;
  const code = codeOf(error);
  const frames = stream.tokenFrames;
  const where =
    status === 0 ? 'before an answer' : frames === 0 ? 'before the first token' : `after ${frames} token frames`;
  if (status !== 0 && isCutOff(error)) return { kind: 'truncated', words: `connection closed ${where}` };
  if (isNotHttp(error)) {
    return { kind: 'parse', words: `not HTTP ${where}: ${messageOf(error)}` };
  }
  const how = code === 'UND_ERR_SOCKET' ? 'closed' : 'broken';
  const detail = code === 'UND_ERR_SOCKET' ? '' : ` (${messageOf(error)})`;
  return { kind: 'reset', words: `connection ${how} ${where}${detail}` };
}

function missingOf(stream: AnswerReader, rule: JudgedTarget): string {
  const isFinished = stream.isFinished && stream.finishedChoices >= rule.choices;
  if (rule.needsFinishAndDone) {
    const mark = rule.isWhole ? 'usage and eos_reason' : '[DONE]';
    const parts = [isFinished ? '' : 'finish_reason', stream.isDone ? '' : mark].filter((part) => part !== '');
    return parts.join(' and ');
  }
  return isFinished || stream.isDone ? '' : 'finish_reason or [DONE]';
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** What TabbyAPI's usage tells beyond counts. Queue time only for one choice: with several the server loses it. */
function serverSide(usage: Readonly<Record<string, unknown>> | null, choices: number): Partial<RequestRecord> {
  if (usage === null) return {};
  const prompt = seconds(usage['prompt_time']);
  const completion = seconds(usage['completion_time']);
  const total = seconds(usage['total_time']);
  const isWhole = prompt !== undefined && completion !== undefined && total !== undefined;
  const server: ServerTimes = {
    ...(prompt !== undefined ? { prompt_time: prompt } : {}),
    ...(completion !== undefined ? { completion_time: completion } : {}),
    ...(total !== undefined ? { total_time: total } : {}),
    ...(isWhole && choices === 1 ? { queue_time: Math.max(0, total - prompt - completion) } : {}),
  };
  const promptDetails = usage['prompt_tokens_details'];
  const completionDetails = usage['completion_tokens_details'];
  const cached = wholeNumber((promptDetails as Record<string, unknown> | null | undefined)?.['cached_tokens']);
  const drafted = (beginning: string) =>
    wholeNumber(Object.entries(completionDetails ?? {}).find(([key]) => key.startsWith(beginning))?.[1]);
  const acceptedTokens = drafted('accepted');
  const rejectedTokens = drafted('rejected');
  return {
    ...(Object.keys(server).length > 0 ? { server } : {}),
    ...(cached !== undefined ? { cached_tokens: cached } : {}),
    ...(acceptedTokens !== undefined ? { accepted_tokens: acceptedTokens } : {}),
    ...(rejectedTokens !== undefined ? { rejected_tokens: rejectedTokens } : {}),
  };
}
