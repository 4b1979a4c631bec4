/** The model of a byte-level BPE as `JSON.parse` makes it. */

import type { BpeTables } from './bpe-reader.ts';
import { BYTE_CHARS, byteOfChar } from './byte-alphabet.ts';
import { PairTable } from './pair-table.ts';
import { TokenTable } from './token-table.ts';
import type { TokenizerJson } from './tokenizer-files.ts';

/** `model` of a tokenizer.json with type BPE. */
export interface BpeModel {
  readonly vocab: Readonly<Record<string, unknown>>;
  readonly merges: readonly unknown[];
  readonly dropout?: unknown;
  readonly continuing_subword_prefix?: unknown;
  readonly end_of_word_suffix?: unknown;
  readonly byte_fallback?: unknown;
  readonly ignore_merges?: unknown;
}

/** The model of a tokenizer; null unless it is a BPE without any of the things that are not done here. */
export function bpeModelOf({ model: json }: TokenizerJson): BpeModel | null {
  const model = json as unknown as BpeModel;
  if (json.type !== 'BPE' || Array.isArray(model.vocab) || !Array.isArray(model.merges)) return null;
  const odd = [model.dropout, model.continuing_subword_prefix, model.end_of_word_suffix, model.byte_fallback];
  return odd.some(Boolean) ? null : model;
}

/** The tables of a model that was parsed as a whole; null when a byte is no token, or a merge names tokens that the vocabulary lacks. */
export function tablesOf(model: BpeModel): BpeTables | null {
  const vocab = Object.entries(model.vocab);
  const { merges } = model;
  const tokens = new TokenTable(vocab.length);
  const pairs = new PairTable(merges.length);
  for (const [text, id] of vocab) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= 2 ** 31) return null;
    const bytes = Int16Array.from(text, (char) => byteOfChar(char.codePointAt(0)!));
    if (bytes.includes(-1)) tokens.addOdd(text, id);
    else tokens.add(Uint8Array.from(bytes), 0, bytes.length, id);
  }
  for (const merge of merges) {
    const [left, right] = (typeof merge === 'string' ? merge.split(' ') : merge) as [string?, string?];
    if (left === undefined || right === undefined) return null;
    const [leftId, rightId, mergedId] = [tokens.idOf(left), tokens.idOf(right), tokens.idOf(left + right)];
    if (leftId === undefined || rightId === undefined || mergedId === undefined) return null;
    pairs.add(leftId, rightId, mergedId);
  }
  return BYTE_CHARS.some((char) => tokens.idOf(char) === undefined) ? null : { tokens, pairs };
}
