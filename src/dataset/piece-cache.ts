/**
 * Makes `@huggingface/tokenizers` several times faster without changing a token.
 *
 * Its byte-level tokenizers cut a text into pieces (about a word each), spell every piece's bytes in printable characters, and merge
 * them by BPE. The last two steps look at one piece alone, and the same words come again and again: their tokens are kept by piece,
 * and found by an encoder of our own.
 */
import { ByteBpe } from './byte-bpe.ts';
import type { TokenizerJson } from './tokenizer-files.ts';
import { type LibraryTokenizer, type PreTokenizer, SequencePreTokenizer } from './tokenizer-library.ts';

/** Pieces remembered; then the memory is emptied and fills again. About 100 MB at worst. */
const MAX_PIECES = 400_000;

/** Longer pieces hardly ever come twice. */
const MAX_PIECE_CHARS = 64;

/**
 * The pattern by which byte-level pre-tokenizers cut by default (GPT-2's), with white space as Unicode has it: JavaScript's `\s` takes
 * U+FEFF in and leaves U+0085 out, unlike the regular expressions of Python's `tokenizers`.
 */
const GPT2_PATTERN =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** Cuts by {@link GPT2_PATTERN}. */
const gpt2Splitter: PreTokenizer = (text) => [text].flat().flatMap((part) => part.match(GPT2_PATTERN) ?? []);

interface ByteLevelConfig {
  readonly type?: unknown;
  readonly use_regex?: unknown;
  readonly add_prefix_space?: unknown;
  readonly pretokenizers?: unknown;
}

/** How a byte-level tokenizer encodes text that holds none of its added tokens. */
export interface PieceEncoder {
  /** Cuts a normalized text into pieces. */
  readonly split: PreTokenizer;
  /** Token ids of a piece. */
  idsOf(piece: string): readonly number[];
}

/** Puts the memory in. Null, and nothing done, for tokenizers that are no byte-level BPE. */
export function rememberPieces(tokenizer: LibraryTokenizer, json: TokenizerJson): PieceEncoder | null {
  const split = splitterOf(json.pre_tokenizer as ByteLevelConfig | null);
  const bpe = ByteBpe.of(json);
  if (split === null || bpe === null) return null;
  const memory = new Map<string, readonly number[]>();
  const idsOf = (piece: string): readonly number[] => {
    let ids = memory.get(piece);
    if (ids === undefined) {
      ids = bpe.encode(piece);
      if (piece.length <= MAX_PIECE_CHARS) {
        if (memory.size >= MAX_PIECES) memory.clear();
        memory.set(ownCopy(piece), ids);
      }
    }
    return ids;
  };
  tokenizer.pre_tokenizer = split;
  tokenizer.model.encode = (pieces) => pieces.flatMap((piece) => idsOf(piece).map((id) => tokenizer.id_to_token(id)!));
  return { split, idsOf };
}

/**
 * A shorter way to the ids of a text without added tokens, past the library's bookkeeping of token texts. The function that comes back
 * gives null for a text that holds an added token. Null when the tokenizer does something to a text that is not known here.
 */
export function plainEncoder(
  { split, idsOf }: PieceEncoder,
  json: TokenizerJson,
  config: Readonly<Record<string, unknown>>,
): ((text: string) => number[] | null) | null {
  const form = normalFormOf(json.normalizer);
  if (form === undefined || config['remove_space'] === true || config['do_lowercase_and_remove_accent'] === true) {
    return null;
  }
  const added = json.added_tokens.map((token) => token.content).filter((content) => content !== '');
  const hasAdded = added.length === 0 ? null : new RegExp(added.map(escaped).join('|'));
  return (text) => {
    const normal = form === null ? text : text.normalize(form);
    if (hasAdded?.test(text) || (normal !== text && hasAdded?.test(normal))) return null;
    const ids: number[] = [];
    if (normal === '') return ids;
    for (const piece of split(normal)) {
      for (const id of idsOf(piece)) ids.push(id);
    }
    return ids;
  };
}

/** The Unicode normal form that texts are brought into: null for none, undefined for another normalizer. */
function normalFormOf(normalizer: TokenizerJson['normalizer']): 'NFC' | 'NFD' | 'NFKC' | 'NFKD' | null | undefined {
  if (normalizer === null || normalizer === undefined) return null;
  return (['NFC', 'NFD', 'NFKC', 'NFKD'] as const).find((form) => form === normalizer['type']);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** The pre-tokenizer without its byte-level spelling step; null when it has another form. */
function splitterOf(config: ByteLevelConfig | null): PreTokenizer | null {
  if (config?.type === 'ByteLevel') {
    return config.use_regex === false || config.add_prefix_space === true ? null : gpt2Splitter;
  }
  if (config?.type !== 'Sequence' || !Array.isArray(config.pretokenizers)) return null;
  const steps = config.pretokenizers as readonly ByteLevelConfig[];
  const last = steps.at(-1);
  if (last?.type !== 'ByteLevel' || last.use_regex !== false || last.add_prefix_space === true) return null;
  // A first step that spells bytes itself would be undone; none is known.
  if (steps.slice(0, -1).some((step) => step.type === 'ByteLevel')) return null;
  return new SequencePreTokenizer({ type: 'Sequence', pretokenizers: steps.slice(0, -1) });
}

/** A piece is a view into the text it was cut from in V8; as a key in the memory it would keep that whole text alive. */
function ownCopy(piece: string): string {
  return piece.length < 13 ? piece : [...piece].join('');
}
