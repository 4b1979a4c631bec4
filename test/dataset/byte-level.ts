/** Hand-made byte-level tokenizers for tests. */
import { BYTE_CHARS } from '../../src/dataset/byte-alphabet.ts';

/** What a `tokenizer.json` of such a tokenizer holds. */
export interface ByteLevelJson {
  readonly added_tokens: readonly Readonly<Record<string, unknown>>[];
  readonly normalizer: unknown;
  readonly pre_tokenizer: unknown;
  readonly post_processor: unknown;
  readonly decoder: unknown;
  readonly model: {
    readonly type: string;
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (string | readonly [string, string])[];
  };
}

/** A tokenizer of the 256 bytes and what the merges make, ids in that order; `more` goes into the model. */
export function byteLevelJson(merges: ByteLevelJson['model']['merges'], more: object = {}): ByteLevelJson {
  const made = merges.map((merge) => (typeof merge === 'string' ? merge.split(' ') : merge).join(''));
  const vocab = Object.fromEntries([...new Set([...BYTE_CHARS, ...made])].map((token, id) => [token, id]));
  return {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab, merges, ...more },
  };
}

/** JSON with every character outside ASCII as an escape, as Python's `json.dumps` writes it. */
export function asciiJson(value: unknown, indent = 0): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replace(/[\u007f-\uffff]/g, escaped);
}
