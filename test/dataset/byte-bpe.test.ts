/** Byte-pair encoding against hand-made vocabularies and against the definition, word for word. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { BYTE_CHARS } from '../../src/dataset/byte-alphabet.ts';
import { ByteBpe } from '../../src/dataset/byte-bpe.ts';
import type { TokenizerJson } from '../../src/dataset/tokenizer-files.ts';
import { modelFolder } from './support.ts';

/** A tokenizer of the 256 bytes and what the merges add, ids in that order. */
function tokenizerOf(merges: readonly (string | readonly string[])[], more: object = {}): TokenizerJson {
  const tokens = [
    ...BYTE_CHARS,
    ...merges.map((merge) => (typeof merge === 'string' ? merge.split(' ') : merge).join('')),
  ];
  const vocab = Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));
  return {
    model: { type: 'BPE', vocab, merges, ...more },
    pre_tokenizer: null,
    decoder: null,
    added_tokens: [],
  } as TokenizerJson;
}

function tokensOf(json: TokenizerJson, piece: string): string[] {
  const names = new Map(Object.entries(json.model.vocab).map(([token, id]) => [id, token]));
  return ByteBpe.of(json)!
    .encode(piece)
    .map((id) => names.get(id)!);
}

/** The definition: merge the pair of lowest rank, the leftmost first, until no pair is left. */
function byDefinition(symbols: readonly string[], ranks: ReadonlyMap<string, number>): readonly string[] {
  let best = -1;
  let bestRank = Number.POSITIVE_INFINITY;
  for (let i = 0; i < symbols.length - 1; i++) {
    const rank = ranks.get(`${symbols[i]} ${symbols[i + 1]}`) ?? Number.POSITIVE_INFINITY;
    if (rank < bestRank) [best, bestRank] = [i, rank];
  }
  if (best === -1) return symbols;
  return byDefinition(
    [...symbols.slice(0, best), symbols[best]! + symbols[best + 1]!, ...symbols.slice(best + 2)],
    ranks,
  );
}

describe('ByteBpe', () => {
  it('merges by rank, not by place', () => {
    const json = tokenizerOf(['b c', 'a b', 'a bc']);
    expect(tokensOf(json, 'abc')).toEqual(['abc']);
    expect(tokensOf(json, 'ab')).toEqual(['ab']);
    expect(tokensOf(json, 'abbc')).toEqual(['ab', 'bc']);
  });

  it('takes the leftmost of equal pairs, in short and in long pieces', () => {
    const json = tokenizerOf([['a', 'a']]);
    expect(tokensOf(json, 'aaa')).toEqual(['aa', 'a']);
    expect(tokensOf(json, 'a'.repeat(101))).toEqual([...new Array<string>(50).fill('aa'), 'a']);
  });

  it('works on bytes: a character of several may stay in parts', () => {
    expect(ByteBpe.of(tokenizerOf(['Ã ¶']))!.encode('ö')).toEqual([256]);
    expect(tokensOf(tokenizerOf([]), 'ö')).toEqual(['Ã', '¶']);
  });

  it('takes a piece that is a token as it is only where merges are ignored', () => {
    // "abc" is in the vocabulary, yet its merge path is shut: "a b" comes first.
    const merges = ['a b', 'b c', 'a bc'];
    expect(tokensOf(tokenizerOf(merges), 'abc')).toEqual(['ab', 'c']);
    expect(tokensOf(tokenizerOf(merges, { ignore_merges: true }), 'abc')).toEqual(['abc']);
  });

  it('makes nothing of nothing', () => {
    expect(ByteBpe.of(tokenizerOf([]))!.encode('')).toEqual([]);
  });

  it.each([
    ['another model', { type: 'Unigram' }],
    ['a vocabulary without all bytes', { vocab: { a: 0 } }],
    ['a merge into a token that is not there', { merges: ['x y'] }],
    ['dropout', { dropout: 0.1 }],
    ['a suffix on last pieces', { end_of_word_suffix: '</w>' }],
  ])('does not take on %s', (_, more) => {
    expect(ByteBpe.of(tokenizerOf([], more))).toBeNull();
  });

  describe('on the vocabulary of a real model', () => {
    let bpe: ByteBpe;
    let names: ReadonlyMap<number, string>;
    const ranks = new Map<string, number>();
    beforeAll(() => {
      const json = JSON.parse(readFileSync(join(modelFolder('qwen3'), 'tokenizer.json'), 'utf8')) as TokenizerJson;
      bpe = ByteBpe.of(json)!;
      names = new Map(Object.entries(json.model.vocab).map(([token, id]) => [id as number, token]));
      const { merges } = json.model as unknown as { merges: readonly (readonly string[])[] };
      for (const [rank, merge] of merges.entries()) ranks.set(merge.join(' '), rank);
    });

    it('agrees with the definition', () => {
      const letters = fc.constantFrom(...'etaoin shrdlu-_=/(){}éü中文的เปนकख🙂\n\t0123');
      fc.assert(
        fc.property(fc.string({ unit: letters, maxLength: 90 }), (piece) => {
          const symbols = [...Buffer.from(piece)].map((byte) => BYTE_CHARS[byte]!);
          expect(bpe.encode(piece).map((id) => names.get(id))).toEqual(byDefinition(symbols, ranks));
        }),
        { numRuns: 300 },
      );
    });
  });
});
