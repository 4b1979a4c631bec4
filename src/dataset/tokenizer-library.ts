/**
 * The parts of `@huggingface/tokenizers` that are used, with types of our own: the package's declarations import each other without file
 * extensions, which strict ES module resolution does not follow, so that most of them come out empty.
 */
import * as library from '@huggingface/tokenizers';

/** A step that cuts texts into pieces. Called as a function. */
export type PreTokenizer = (text: string | readonly string[], options?: unknown) => string[];

/** The model behind a tokenizer; calling it goes through `encode`. */
export interface TokenizerModel {
  encode(pieces: readonly string[]): string[];
}

/** A tokenizer of the library. */
export interface LibraryTokenizer {
  pre_tokenizer: PreTokenizer | null;
  readonly model: TokenizerModel;
  /** A token outside the vocabulary has no id. */
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
  tokenize(text: string, options: { add_special_tokens: boolean }): string[];
  /** Throws on an empty list. */
  decode(
    ids: readonly number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}

interface Library {
  readonly Tokenizer: new (tokenizerJson: unknown, config: unknown) => LibraryTokenizer;
  readonly SequencePreTokenizer: new (config: { type: 'Sequence'; pretokenizers: readonly unknown[] }) => PreTokenizer;
}

const { Tokenizer, SequencePreTokenizer } = library as unknown as Library;

export { SequencePreTokenizer, Tokenizer };
