/** What does the work of a local tokenizer: the library, and for byte-level BPE tokenizers shorter ways past it. */

import type { BpeTables } from './bpe-reader.ts';
import { ByteBpe } from './byte-bpe.ts';
import { byteLevelDecoder, tableDecoder } from './byte-decoder.ts';
import { type PieceSplitter, type PlainEncoder, plainEncoder, splitterOf } from './piece-encoder.ts';
import type { TokenTable } from './token-table.ts';
import type { LocalTokenizer } from './tokenizer.ts';
import type { TokenizerFiles, TokenizerJson } from './tokenizer-files.ts';
import { type LibraryTokenizer, Tokenizer } from './tokenizer-library.ts';

/** A tokenizer that was built. */
export interface TokenizerEngine {
  /** Knows everything about the tokenizer, and is slow. */
  readonly tokenizer: LibraryTokenizer;
  /** The short way for texts without added tokens; null when there is none for this tokenizer. */
  readonly plain: PlainEncoder | null;
  readonly decode: LocalTokenizer['decode'];
  /** Size of the vocabulary without added tokens. */
  readonly vocabSize: number;
}

/** Throws what the library throws on what it does not know. */
export function buildEngine({ tables, tokenizer: json, config }: TokenizerFiles): TokenizerEngine {
  const tokenizer = new Tokenizer(tables === null ? json : withUnknownToken(json, tables), config);
  if (tables !== null) lookUpIn(tokenizer, tables.tokens);
  const splitter = splitterOf(json.pre_tokenizer);
  const bpe = splitter === null ? null : ByteBpe.of(json, tables);
  const hasShortWay = splitter !== null && bpe !== null;
  if (hasShortWay) encodeBy(tokenizer, splitter, bpe);
  return {
    tokenizer,
    plain: hasShortWay ? plainEncoder(bpe, splitter, json, config) : null,
    decode: decoderOf(tokenizer, json, tables),
    vocabSize: tables?.tokens.count ?? vocabSizeOf(json),
  };
}

/** The library looks for one token of the vocabulary when it is made; it does without the rest. */
function withUnknownToken(json: TokenizerJson, { tokens }: BpeTables): TokenizerJson {
  const unknown = (json.model as { readonly unk_token?: unknown }).unk_token;
  const id = typeof unknown === 'string' ? tokens.idOf(unknown) : undefined;
  return { ...json, model: { ...json.model, vocab: id === undefined ? {} : { [unknown as string]: id } } };
}

/** Lets the library find the tokens of the table behind those that were added to it. */
function lookUpIn(tokenizer: LibraryTokenizer, tokens: TokenTable): void {
  const { model } = tokenizer;
  const added = model.tokens_to_ids;
  const addedTextOf = tokenizer.id_to_token.bind(tokenizer);
  model.tokens_to_ids = { get: (token) => added.get(token) ?? tokens.idOf(String(token)) };
  tokenizer.id_to_token = (id) => addedTextOf(id) ?? tokens.textOf(id);
}

/** The library's tokenizer cuts and merges by these instead. */
function encodeBy(tokenizer: LibraryTokenizer, { split }: PieceSplitter, bpe: ByteBpe): void {
  const { model } = tokenizer;
  const texts = model.tokens_to_ids;
  tokenizer.pre_tokenizer = split;
  model.encode = (pieces) => pieces.flatMap((piece) => bpe.encode(piece));
  model.tokens_to_ids = { get: (token) => (typeof token === 'number' ? token : texts.get(token)) };
}

function decoderOf(
  tokenizer: LibraryTokenizer,
  json: TokenizerJson,
  tables: BpeTables | null,
): LocalTokenizer['decode'] {
  const added = json.added_tokens;
  const special = new Set(added.flatMap((token) => (token.special === true ? [token.id] : [])));
  if (tables !== null) {
    return tableDecoder(tables.tokens, new Map(added.map((token) => [token.id, token.content])), special);
  }
  const tokenOf = (id: number) => tokenizer.id_to_token(id);
  if (json.decoder?.['type'] === 'ByteLevel') return byteLevelDecoder(tokenOf, special);
  return (ids, skipSpecialTokens = false) => {
    const known = ids.filter((id) => tokenOf(id) !== undefined && !(skipSpecialTokens && special.has(id)));
    if (known.length === 0) return '';
    return tokenizer.decode(known, { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  };
}

function vocabSizeOf(json: TokenizerJson): number {
  const { vocab } = json.model;
  return Array.isArray(vocab) ? vocab.length : Object.keys(vocab).length;
}
