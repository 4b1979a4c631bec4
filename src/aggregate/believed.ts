/**
 * What of a server's usage is believed. TabbyAPI takes the output so far as a new prompt each time an output grows beyond its chunk size
 * (2,048 tokens): usage then tells far too many prompt tokens and too few output tokens. Where that shows, the client's
 * prompt length stands, and the output is counted by what is truest: logprobs, then the text, then the limit that it ended at,
 * then its frames. A chat template that adds hundreds of tokens to each prompt looks alike at first; there the output
 * counts agree, and usage stands.
 */
import type { RequestRecord } from '../record/record.ts';

/** Prompt tokens above the client's count from which usage is doubted: two cache pages of TabbyAPI. */
const DOUBTED_EXCESS = 512;
/** Tokens by which a count must exceed the told one. Texts are cut into tokens otherwise than they were made, by a few. */
const TEXT_SLACK = 16;
const TEXT_SLACK_SHARE = 0.02;
/** An end at the limit is one token short, and as many more as a draft model proposes. */
const LIMIT_SLACK = 64;

/** How the output tokens of an answer with wrong usage were counted. */
export type CountSource = 'logprobs' | 'text' | 'limit' | 'frames';

/** A request as it is taken into the figures. */
export interface Believed {
  /** With prompt and output tokens as believed; output tokens null when they are to be counted. */
  readonly record: RequestRecord;
  /** Usage was not believed, and this is what the tokens were counted by. */
  readonly countedBy: CountSource | null;
  /** Usage is doubted, and nothing is at hand that would tell more. */
  readonly isDoubted: boolean;
}

/**
 * Judges the usage of a success.
 * @param exactLength `--exact-length` was on: an end at the limit has the full length
 */
export function believed(record: RequestRecord, exactLength: boolean): Believed {
  const told = record.output_tokens;
  if (!record.success || !told || excessOf(record) <= DOUBTED_EXCESS) return taken(record);
  const logprobs = (record.reasoning_frames ?? 0) > 0 ? 0 : (record.logprob_tokens ?? 0);
  if (logprobs > 0) return logprobs > told ? counted(record, logprobs, 'logprobs') : taken(record);
  if (record.generated_text) return counted(record, null, 'text');
  const limit = record.finish_reason === 'length' ? (record.output_len ?? 0) - (exactLength ? 0 : 1) : 0;
  const frames = record.frames ?? 0;
  // No frame without a token: more frames than tokens prove usage wrong.
  const isProven = frames > told || (limit > told + LIMIT_SLACK && limit >= excessOf(record));
  if (isProven) return limit >= frames ? counted(record, limit, 'limit') : counted(record, frames, 'frames');
  return { record, countedBy: null, isDoubted: true };
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

function counted(record: RequestRecord, tokens: number | null, countedBy: CountSource): Believed {
  const promptLen = record.client_prompt_len ?? record.prompt_len;
  return { record: { ...record, prompt_len: promptLen, output_tokens: tokens }, countedBy, isDoubted: false };
}
