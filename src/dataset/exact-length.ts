/**
 * Prompts of an exact number of tokens. Token ids that are decoded to text and encoded again may come out as more or fewer tokens, so
 * they are cut or topped up until they fit (vLLM's `gen_prompt_decode_to_target_len`).
 */
import type { LocalTokenizer } from './tokenizer.ts';

/** How often ids are cut or topped up before the result is taken as it is. */
const MAX_TRIES = 10;

/** A prompt that was fitted. */
export interface FittedPrompt {
  readonly text: string;
  /** Its tokens, without special ones. */
  readonly ids: readonly number[];
}

/**
 * The text of `ids`, fitted to `length` tokens. `drawIds` gives random token ids for topping up, from the whole vocabulary. The result
 * may miss the length when the tries are used up.
 */
export function fitToLength(
  tokenizer: Pick<LocalTokenizer, 'encode' | 'decode'>,
  ids: readonly number[],
  length: number,
  drawIds: (count: number) => readonly number[],
): FittedPrompt {
  let current = ids;
  for (let left = MAX_TRIES; ; left--) {
    const text = tokenizer.decode(current);
    const encoded = tokenizer.encode(text, false);
    if (left <= 0 || encoded.length === length) return { text, ids: encoded };
    current = encoded.length > length ? encoded.slice(0, length) : [...encoded, ...drawIds(length - encoded.length)];
  }
}

/** What to say when prompts did not come out at the asked length; `excess` is the sum over all prompts. */
export function lengthNotes(excess: number): readonly string[] {
  if (excess === 0) return [];
  return [
    `over all prompts ${Math.abs(excess)} tokens ${excess > 0 ? 'more' : 'fewer'} than asked for: ` +
      'some texts have no encoding of the exact length',
  ];
}
