/**
 * `--unique-prompts`: a nonce at the start of each prompt, so that a server's prefix cache finds nothing of an earlier run, of a repeated
 * row or of a warm-up. Caches compare from the first token on, so the nonce has to come first.
 */
import { usageError } from '../errors.ts';
import type { ChatMessage, Prompt, SampleRequest } from './sample.ts';
import type { TokenCounter } from './tokenizer.ts';

/**
 * The samples with a nonce each, made from `nonce` (one of the run) and the sample's number: equal arguments give equal samples. Prompt
 * lengths grow by what the nonce adds in tokens, counted anew; without a tokenizer they stay. Throws a usage error for prompts of token ids.
 */
export async function withNonces(
  samples: readonly SampleRequest[],
  nonce: string,
  tokenizer: TokenCounter | null,
): Promise<readonly SampleRequest[]> {
  const prompts = samples.map((sample, i) => withNonce(sample.prompt, `${nonce}-${i}`));
  if (tokenizer === null) return samples.map((sample, i) => ({ ...sample, prompt: prompts[i]! }));
  const before = await countTexts(
    samples.map(({ prompt }) => prompt),
    tokenizer,
  );
  const after = await countTexts(prompts, tokenizer);
  return samples.map((sample, i) => ({
    ...sample,
    prompt: prompts[i]!,
    promptLen: sample.promptLen + after[i]! - before[i]!,
  }));
}

/** A prompt with `nonce` before its first text; of a list of texts, each one is a prompt of its own to the server. */
export function withNonce(prompt: Prompt, nonce: string): Prompt {
  if (typeof prompt === 'string') return `${nonce}: ${prompt}`;
  if (isTexts(prompt)) return prompt.map((text, k) => `${nonce}-${k}: ${text}`);
  if (isMessages(prompt)) return messagesWithNonce(prompt, nonce);
  throw usageError(
    '--unique-prompts: the prompts are token ids, to which no text can be added',
    'Leave the option out: a trace says by itself which parts of its prompts are shared.',
  );
}

function isTexts(prompt: Exclude<Prompt, string>): prompt is readonly string[] {
  return prompt.every((part) => typeof part === 'string');
}

function isMessages(prompt: Exclude<Prompt, string>): prompt is readonly ChatMessage[] {
  return prompt.every((part) => typeof part === 'object');
}

/** Messages with the nonce in their first text; when none has a text, in a text part of its own. */
function messagesWithNonce(messages: readonly ChatMessage[], nonce: string): readonly ChatMessage[] {
  const at = Math.max(0, messages.findIndex(hasText));
  return messages.map((message, i) => (i === at ? { ...message, content: contentWithNonce(message, nonce) } : message));
}

function hasText({ content }: ChatMessage): boolean {
  return typeof content === 'string' || content.some((part) => typeof part['text'] === 'string');
}

function contentWithNonce({ content }: ChatMessage, nonce: string): ChatMessage['content'] {
  if (typeof content === 'string') return `${nonce}: ${content}`;
  const at = content.findIndex((part) => typeof part['text'] === 'string');
  if (at === -1) return [{ type: 'text', text: `${nonce}: ` }, ...content];
  return content.map((part, i) => (i === at ? { ...part, text: `${nonce}: ${String(part['text'])}` } : part));
}

/** Tokens of all texts of each prompt. */
async function countTexts(prompts: readonly Prompt[], tokenizer: TokenCounter): Promise<readonly number[]> {
  const texts = prompts.map(textsOf);
  const counts = await tokenizer.countAll(texts.flat());
  let next = 0;
  return texts.map((own) => own.reduce((sum) => sum + counts[next++]!, 0));
}

function textsOf(prompt: Prompt): readonly string[] {
  if (typeof prompt === 'string') return [prompt];
  if (isTexts(prompt)) return prompt;
  if (!isMessages(prompt)) return [];
  return prompt.flatMap(({ content }) =>
    typeof content === 'string'
      ? [content]
      : content.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : [])),
  );
}
