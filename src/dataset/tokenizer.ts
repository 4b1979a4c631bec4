/**
 * What data sets need of a tokenizer. Counting is asynchronous and takes batches, so that the same code serves the server's own
 * tokenizer (HTTP, several requests at once) and a local one (threads when it is slow).
 */
export interface TokenCounter {
  /** What to call it in results (`tokenizer_id`): a folder, a hub name, or the server's model. */
  readonly id: string;
  /**
   * Number of tokens of each text, special tokens included as `tokenizer(text).input_ids` has them in Python.
   * Same length and order as `texts`. Throws AppError when the tokenizer cannot answer.
   */
  countAll(texts: readonly string[]): Promise<readonly number[]>;
  /** Frees threads and connections. Safe to call twice. */
  close(): Promise<void>;
}

/** A tokenizer at hand in this process: what the generated data sets (random, sonnet, …) need on top of counting. */
export interface LocalTokenizer extends TokenCounter {
  /** Token ids of a text. `addSpecialTokens` as in Python's `encode`; default true. */
  encode(text: string, addSpecialTokens?: boolean): readonly number[];
  /** Text of token ids, nothing skipped and nothing cleaned up unless asked. */
  decode(ids: readonly number[], skipSpecialTokens?: boolean): string;
  /** Size of the vocabulary without added tokens (Python's `vocab_size`). */
  readonly vocabSize: number;
  /** Ids of the tokens added to the vocabulary, special or not; some may lie within it. */
  readonly addedIds: readonly number[];
  /** Ids of all special tokens (Python's `all_special_ids`). */
  readonly specialIds: readonly number[];
  /** Number of special tokens that `encode` adds to a single text (Python's `num_special_tokens_to_add()`). */
  readonly specialTokensAdded: number;
  /** The tokenizer's own chat template applied to messages; null when it has none. Throws AppError on a template error. */
  applyChatTemplate(
    messages: readonly { readonly role: string; readonly content: string }[],
    options: { readonly addGenerationPrompt: boolean; readonly kwargs?: Readonly<Record<string, unknown>> },
  ): string | null;
}

/** Is this tokenizer at hand in this process (not the server's)? */
export function isLocalTokenizer(tokenizer: TokenCounter): tokenizer is LocalTokenizer {
  return 'encode' in tokenizer;
}
