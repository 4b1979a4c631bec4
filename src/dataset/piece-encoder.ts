/**
 * Encoding with a byte-level BPE, several times faster than `@huggingface/tokenizers` and without changing a token.
 *
 * The library cuts a text into pieces (about a word each), spells every piece's bytes in printable characters, and merges them by BPE.
 * Here the pieces stay where they are in the text, and the last two steps are done on bytes and ids.
 */
import type { ByteBpe } from './byte-bpe.ts';
import type { TokenizerJson } from './tokenizer-files.ts';
import { type PreTokenizer, SequencePreTokenizer } from './tokenizer-library.ts';

/**
 * The pattern by which byte-level pre-tokenizers cut by default (GPT-2's), with white space as Unicode has it: JavaScript's `\s` takes
 * U+FEFF in and leaves U+0085 out, unlike the regular expressions of Python's `tokenizers`.
 */
const GPT2_PATTERN =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** Cuts by {@link GPT2_PATTERN}. */
const gpt2Splitter: PreTokenizer = (text) => [text].flat().flatMap((part) => part.match(GPT2_PATTERN) ?? []);

interface PreTokenizerConfig {
  readonly type?: unknown;
  readonly use_regex?: unknown;
  readonly add_prefix_space?: unknown;
  readonly pretokenizers?: unknown;
  readonly invert?: unknown;
  readonly behavior?: unknown;
  readonly pattern?: { readonly Regex?: unknown };
}

/** How a byte-level pre-tokenizer cuts a normalized text into pieces. */
export interface PieceSplitter {
  /** Cuts a text. */
  readonly split: PreTokenizer;
  /** The pattern that all pieces are matches of, to be tried where the last piece ended (flag `y`); null when there is no single one. */
  readonly pattern: RegExp | null;
}

/** The pre-tokenizer without its byte-level spelling step; null when it has another form. Throws on a step that is not known. */
export function splitterOf(preTokenizer: TokenizerJson['pre_tokenizer']): PieceSplitter | null {
  const config = preTokenizer as PreTokenizerConfig | null;
  if (config?.type === 'ByteLevel') {
    if (config.use_regex === false || config.add_prefix_space === true) return null;
    return { split: gpt2Splitter, pattern: sticky(GPT2_PATTERN) };
  }
  if (config?.type !== 'Sequence' || !Array.isArray(config.pretokenizers)) return null;
  const steps = config.pretokenizers as readonly PreTokenizerConfig[];
  const last = steps.at(-1);
  if (last?.type !== 'ByteLevel' || last.use_regex !== false || last.add_prefix_space === true) return null;
  // A first step that spells bytes itself would be undone; none is known.
  if (steps.slice(0, -1).some((step) => step.type === 'ByteLevel')) return null;
  const split = new SequencePreTokenizer({ type: 'Sequence', pretokenizers: steps.slice(0, -1) });
  const [first, second] = split.tokenizers;
  const pattern = second === undefined && isIsolating(steps[0]) ? first?.pattern : null;
  return { split, pattern: pattern ? sticky(pattern) : null };
}

/** A step whose pieces are the matches of a regular expression, and what lies between them. */
function isIsolating(step: PreTokenizerConfig | undefined): boolean {
  if (step?.type !== 'Split' || step.pattern?.Regex === undefined || step.invert) return false;
  return String(step.behavior).toLowerCase() !== 'removed';
}

function sticky(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, pattern.flags.replace('g', 'y'));
}

/** Encodes texts that hold no added tokens, special tokens left out. */
export interface PlainEncoder {
  /** Token ids; null for a text with added tokens in it. */
  encode(text: string): number[] | null;
  /** Number of tokens; null likewise. */
  count(text: string): number | null;
}

/** Null when the tokenizer does something to a text that is not known here. */
export function plainEncoder(
  bpe: ByteBpe,
  splitter: PieceSplitter,
  json: TokenizerJson,
  config: Readonly<Record<string, unknown>>,
): PlainEncoder | null {
  const form = normalFormOf(json.normalizer);
  if (form === undefined || config['remove_space'] === true || config['do_lowercase_and_remove_accent'] === true) {
    return null;
  }
  const added = json.added_tokens.map((token) => token.content).filter((content) => content !== '');
  const hasAdded = added.length === 0 ? null : new RegExp(added.map(escaped).join('|'));
  /** The text as it is cut; null when an added token is in it. */
  const normalized = (text: string): string | null => {
    const normal = form === null ? text : text.normalize(form);
    return hasAdded?.test(text) || (normal !== text && hasAdded?.test(normal)) ? null : normal;
  };
  return {
    encode(text) {
      const normal = normalized(text);
      if (normal === null) return null;
      const ids: number[] = [];
      encodePieces(bpe, splitter, normal, ids);
      return ids;
    },
    count(text) {
      const normal = normalized(text);
      return normal === null ? null : encodePieces(bpe, splitter, normal, null);
    },
  };
}

/** Number of tokens of a normalized text; appends their ids to `ids`. */
function encodePieces(bpe: ByteBpe, { split, pattern }: PieceSplitter, text: string, ids: number[] | null): number {
  const matched = pattern === null ? NOT_COVERED : encodeMatches(bpe, pattern, text, ids);
  if (matched !== NOT_COVERED) return matched;
  if (ids !== null) ids.length = 0;
  let count = 0;
  for (const piece of text === '' ? [] : split(text)) count += encodePart(bpe, piece, 0, piece.length, ids);
  return count;
}

/** The text is not made up of matches. */
const NOT_COVERED = -1;

/** The pieces of a text that is nothing but matches, one after the other: no list of them is made, and no text of any. */
function encodeMatches(bpe: ByteBpe, pattern: RegExp, text: string, ids: number[] | null): number {
  let count = 0;
  for (let at = 0; at < text.length; ) {
    pattern.lastIndex = at;
    if (!pattern.test(text) || pattern.lastIndex === at) return NOT_COVERED;
    count += encodePart(bpe, text, at, pattern.lastIndex, ids);
    at = pattern.lastIndex;
  }
  return count;
}

function encodePart(bpe: ByteBpe, text: string, from: number, to: number, ids: number[] | null): number {
  const count = bpe.encodePart(text, from, to);
  if (ids !== null) {
    for (let i = 0; i < count; i++) ids.push(bpe.ids[i]!);
  }
  return count;
}

/** The Unicode normal form that texts are brought into: null for none, undefined for another normalizer. */
function normalFormOf(normalizer: TokenizerJson['normalizer']): 'NFC' | 'NFD' | 'NFKC' | 'NFKD' | null | undefined {
  if (normalizer === null || normalizer === undefined) return null;
  const steps = normalizer['type'] === 'Sequence' ? normalizer['normalizers'] : null;
  if (Array.isArray(steps) && steps.length <= 1) return normalFormOf(steps[0]);
  return (['NFC', 'NFD', 'NFKC', 'NFKD'] as const).find((form) => form === normalizer['type']);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
