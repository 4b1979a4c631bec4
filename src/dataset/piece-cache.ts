/**
 * Makes `@huggingface/tokenizers` several times faster without changing a token.
 *
 * Its byte-level tokenizers cut a text into pieces (about a word each), spell every piece's bytes in printable characters, and merge
 * them by BPE. The last two steps look at one piece alone, and the same words come again and again: their tokens are kept by piece.
 */
import type { TokenizerJson } from './tokenizer-files.ts';
import {
  ByteLevelPreTokenizer,
  type LibraryTokenizer,
  type PreTokenizer,
  SequencePreTokenizer,
} from './tokenizer-library.ts';

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

/** Puts the memory in. Does nothing for tokenizers that do not end in a byte-level step. */
export function rememberPieces(tokenizer: LibraryTokenizer, json: TokenizerJson): void {
  const splitter = splitterOf(json.pre_tokenizer as ByteLevelConfig | null);
  const model = tokenizer.model;
  if (splitter === null) return;
  const spell = new ByteLevelPreTokenizer({ type: 'ByteLevel', use_regex: false, add_prefix_space: false });
  const merge = model.encode.bind(model);
  const memory = new Map<string, readonly string[]>();
  tokenizer.pre_tokenizer = splitter;
  model.encode = (pieces) => {
    const tokens: string[] = [];
    for (const piece of pieces) {
      let known = memory.get(piece);
      if (known === undefined) {
        known = merge(spell.pre_tokenize_text(piece));
        if (piece.length <= MAX_PIECE_CHARS) {
          if (memory.size >= MAX_PIECES) memory.clear();
          memory.set(ownCopy(piece), known);
        }
      }
      for (const token of known) tokens.push(token);
    }
    return tokens;
  };
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
