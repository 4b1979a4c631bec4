/**
 * What of a server's usage is believed. TabbyAPI takes the output so far as a new prompt each time an output grows beyond its chunk size
 * (2,048 tokens unless set otherwise): usage then tells far too many prompt tokens and too few output tokens. Where that shows, the
 * client's prompt length stands, and the output is counted by what is truest: logprobs, then the text, then the limit that it ended at,
 * then its frames. A chat template that adds hundreds of tokens to each prompt looks alike at first; there the output
 * counts agree, and usage stands.
 */
import type { RequestRecord } from '../record/record.ts';

/** Prompt tokens above the client's count from which usage is doubted where the chunk size is not known: two cache pages of TabbyAPI. */
const DOUBTED_EXCESS = 512;
/**
 * The same as a share of the chunk size. An output is taken for a prompt when it has grown by a chunk at least, so that all of it shows as
 * excess; the rest of the share is for a client whose tokenizer counts more than the server's.
 */
const DOUBTED_SHARE = 0.75;
/** Tokens by which a count must exceed the told one. Texts are cut into tokens otherwise than they were made, by a few. */
const TEXT_SLACK = 16;
const TEXT_SLACK_SHARE = 0.02;
/** An end at the limit is one token short, and as many more as a draft model proposes. */
const LIMIT_SLACK = 64;
/** Tokens of a chat template, which are part of the excess and not of the output. */
const TEMPLATE_SLACK = 256;

/** How the output tokens of an answer with wrong usage were counted. */
export type CountSource = 'logprobs' | 'text' | 'limit' | 'frames';

/** What is known of a run that usage is judged by. */
export interface CountRules {
  /** `--exact-length` was on: an end at the limit has the full length. */
  readonly exactLength: boolean;
  /** Tokens of an output after which TabbyAPI takes it for a prompt; null when not known. */
  readonly chunkSize: number | null;
}

/** A request as it is taken into the figures. */
export interface Believed {
  /** With prompt and output tokens as believed; output tokens null when they are to be counted. */
  readonly record: RequestRecord;
  /** Usage was missing or not believed, and this is what the tokens were counted by; null: as told, or still to be counted. */
  readonly countedBy: CountSource | null;
  /** Usage is doubted, and nothing is at hand that would tell more. */
  readonly isDoubted: boolean;
}

/** The chunk size in `parameters` of TabbyAPI's `/v1/model`; null when it is not told, as by any other server. */
export function chunkSizeOf(parameters: unknown): number | null {
  const size = (parameters as { readonly chunk_size?: unknown } | null | undefined)?.chunk_size;
  return typeof size === 'number' && Number.isFinite(size) && size > 0 ? size : null;
}

/** Judges the usage of a success. The further arguments are as in {@link CountRules}. */
export function believed(record: RequestRecord, exactLength: boolean, chunkSize: number | null = null): Believed {
  const told = record.output_tokens;
  if (record.success && !told) return missing(record);
  const from = chunkSize === null ? DOUBTED_EXCESS : DOUBTED_SHARE * chunkSize;
  const excess = excessOf(record);
  if (!record.success || !told || excess <= from) return taken(record);
  const logprobs = exactLogprobs(record);
  if (logprobs > 0) return logprobs > told ? counted(record, logprobs, 'logprobs') : taken(record);
  if (record.generated_text) return counted(record, null, 'text');
  const limit = record.finish_reason === 'length' ? (record.output_len ?? 0) - (exactLength ? 0 : 1) : 0;
  const frames = record.frames ?? 0;
  // No frame without a token: more frames than tokens prove usage wrong.
  const isProven = frames > told || (limit > told + LIMIT_SLACK && limit + TEMPLATE_SLACK >= excess);
  if (isProven) return limit >= frames ? counted(record, limit, 'limit') : counted(record, frames, 'frames');
  // An output that could not grow beyond the chunk was never taken for a prompt: the template is long.
  const isShort = chunkSize !== null && record.output_len !== undefined && record.output_len < from && told < from;
  return isShort ? taken(record) : { record, countedBy: null, isDoubted: true };
}

/** Tokens by `logprobs` entries where these tell of all of them; else 0. There are none for reasoning. */
export function exactLogprobs({ reasoning_frames: reasoning, logprob_tokens: tokens }: RequestRecord): number {
  return (reasoning ?? 0) > 0 ? 0 : (tokens ?? 0);
}

/** Tokens that a success had at least, by what came over the wire: each frame holds one or more. */
export function seenTokens(record: RequestRecord): number {
  return Math.max(record.frames ?? 0, (record.logprob_tokens ?? 0) + (record.reasoning_frames ?? 0));
}

/** Does a count of the text prove the told number of tokens wrong? */
export function isProvenByText(tokens: number, told: number): boolean {
  return tokens > told + Math.max(TEXT_SLACK, TEXT_SLACK_SHARE * told);
}

function excessOf({ prompt_len, client_prompt_len }: RequestRecord): number {
  return client_prompt_len === undefined ? 0 : prompt_len - client_prompt_len;
}

function taken(record: RequestRecord): Believed {
  return { record, countedBy: null, isDoubted: false };
}

/** No usage: `logprobs` tell as much. Otherwise the text or the frames are left. */
function missing(record: RequestRecord): Believed {
  const logprobs = exactLogprobs(record);
  if (logprobs === 0) return taken(record);
  const tokens = Math.max(logprobs, record.frames ?? 0);
  return { record: { ...record, output_tokens: tokens }, countedBy: 'logprobs', isDoubted: false };
}

function counted(record: RequestRecord, tokens: number | null, countedBy: CountSource): Believed {
  const promptLen = record.client_prompt_len ?? record.prompt_len;
  return { record: { ...record, prompt_len: promptLen, output_tokens: tokens }, countedBy, isDoubted: false };
}
