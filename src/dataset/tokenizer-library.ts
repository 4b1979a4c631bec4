/**
 * The parts of `@huggingface/tokenizers` that are used, with types of our own: the package's declarations import each other without file
 * extensions, which strict ES module resolution does not follow, so that most of them come out empty.
 */
import * as library from '@huggingface/tokenizers';

/** A step that cuts texts into pieces. Called as a function. */
export type PreTokenizer = (text: string | readonly string[], options?: unknown) => string[];

/** Several steps, one after the other. */
export interface StepsPreTokenizer extends PreTokenizer {
  /** A `Split` step has the pattern that it was made from, with the flags `gu`. */
  readonly tokenizers: readonly ({ readonly pattern?: RegExp | null } | null)[];
}

/**
 * A token on its way from the model to its id: its text, or where the model is ours the id itself. The library passes tokens on as they
 * are, and asks for their ids at the end.
 */
export type Token = string | number;

/** Where the library looks up tokens. */
export interface TokenIds {
  get(token: Token): number | undefined;
}

/** The model behind a tokenizer; calling it goes through `encode`. */
export interface TokenizerModel {
  encode(pieces: readonly string[]): Token[];
  tokens_to_ids: TokenIds;
}

/** A tokenizer of the library. */
export interface LibraryTokenizer {
  pre_tokenizer: PreTokenizer | null;
  readonly model: TokenizerModel;
  /** A token outside the vocabulary has no id. */
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
  tokenize(text: string, options: { add_special_tokens: boolean }): Token[];
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
  readonly SequencePreTokenizer: new (config: {
    type: 'Sequence';
    pretokenizers: readonly unknown[];
  }) => StepsPreTokenizer;
}

const { Tokenizer, SequencePreTokenizer } = library as unknown as Library;

export { SequencePreTokenizer, Tokenizer };
