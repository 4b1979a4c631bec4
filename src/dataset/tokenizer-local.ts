/**
 * A tokenizer at hand in this process, from a folder with `tokenizer.json`. Loaded only when one is needed (`openTokenizer` imports
 * this file then): it brings the tokenizer and template libraries along.
 */
import { messageOf, usageError } from '../errors.ts';
import { chatTemplateRenderer } from './chat-template.ts';
import type { LocalTokenizer } from './tokenizer.ts';
import { buildEngine, type TokenizerEngine } from './tokenizer-engine.ts';
import { readTokenizerFiles, type TokenizerFiles } from './tokenizer-files.ts';
import type { LibraryTokenizer } from './tokenizer-library.ts';
import { startCountingThreads, type ThreadPool } from './tokenizer-threads.ts';

/** From this many characters in one batch on, threads count faster than this thread alone, their start of half a second included. */
const THREADS_FROM_CHARS = 8_000_000;

/** The special tokens that have a name in `tokenizer_config.json`, in the order of Python's `SPECIAL_TOKENS_ATTRIBUTES`. */
const NAMED_TOKENS = [
  'bos_token',
  'eos_token',
  'unk_token',
  'sep_token',
  'pad_token',
  'cls_token',
  'mask_token',
] as const;

/** Opens the tokenizer in `folder`; `id` is what to call it, `option` what the user gave. Throws a usage error. */
export async function openLocalTokenizer(folder: string, id: string, option = '--tokenizer'): Promise<LocalTokenizer> {
  const files = await readTokenizerFiles(folder, option);
  const engine = engineOf(files, `${option}: the tokenizer in ${folder}`);
  const { tokenizer, plain, decode, vocabSize } = engine;
  const named = namedTokens(files.config);
  const added = specialTokensAdded(tokenizer);
  const count = counterOf(engine, added);
  let threads: Promise<ThreadPool | null> | null = null;
  const render = files.chatTemplate === null ? null : chatTemplateRenderer(files.chatTemplate, named, id);
  return {
    id,
    async countAll(texts) {
      const chars = texts.reduce((sum, text) => sum + text.length, 0);
      if (chars < THREADS_FROM_CHARS) return texts.map(count);
      threads ??= startCountingThreads(folder);
      const pool = await threads;
      // Threads only save time: when they fail (out of memory, say), this one counts.
      return (await pool?.countAll(texts).catch(() => null)) ?? texts.map(count);
    },
    async close() {
      const pool = await threads;
      threads = null;
      await pool?.close();
    },
    encode: (text, addSpecialTokens = true) =>
      (addSpecialTokens && added > 0 ? null : plain?.encode(text)) ??
      // A token that is not in the vocabulary has no id; Python's tokenizers leave it out.
      tokenizer.encode(text, { add_special_tokens: addSpecialTokens }).ids.flatMap((tokenId) => tokenId ?? []),
    decode,
    vocabSize,
    addedIds: files.tokenizer.added_tokens.map((token) => token.id),
    specialIds: specialIdsOf(tokenizer, named, files.config),
    specialTokensAdded: added,
    applyChatTemplate: (messages, options) => render?.(messages, options) ?? null,
  };
}

/** A function that counts the tokens of one text, for the counting threads: the same code on the same files. */
export async function openCounter(folder: string): Promise<(text: string) => number> {
  const engine = engineOf(await readTokenizerFiles(folder, '--tokenizer'), `--tokenizer: the tokenizer in ${folder}`);
  return counterOf(engine, specialTokensAdded(engine.tokenizer));
}

/** Special tokens that a single text gets: the same number whatever the text. */
function specialTokensAdded(tokenizer: LibraryTokenizer): number {
  return tokenizer.encode('', { add_special_tokens: true }).ids.length;
}

/** The plain way does not know added and special tokens. */
function counterOf({ tokenizer, plain }: TokenizerEngine, added: number): (text: string) => number {
  return (text) => {
    const count = plain?.count(text) ?? null;
    return count === null ? tokenizer.tokenize(text, { add_special_tokens: true }).length : count + added;
  };
}

function engineOf(files: TokenizerFiles, what: string): TokenizerEngine {
  try {
    return buildEngine(files);
  } catch (error) {
    throw usageError(
      `${what} is of a kind that is not supported: ${messageOf(error)}`,
      "Use the server's own tokenizer (leave --tokenizer out), or another model's with the same vocabulary.",
      error,
    );
  }
}

/** The named special tokens of the config; a token may be a text or an object with `content`. */
function namedTokens(config: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const named: Record<string, string> = {};
  for (const name of NAMED_TOKENS) {
    const content = contentOf(config[name]);
    if (content !== null) named[name] = content;
  }
  return named;
}

function contentOf(token: unknown): string | null {
  if (typeof token === 'string') return token;
  const content = (token as { content?: unknown } | null | undefined)?.content;
  return typeof content === 'string' ? content : null;
}

/** Python's `all_special_ids`: the named tokens, then the additional ones, each once. */
function specialIdsOf(
  tokenizer: LibraryTokenizer,
  named: Readonly<Record<string, string>>,
  config: Readonly<Record<string, unknown>>,
): readonly number[] {
  const extra = config['extra_special_tokens'] ?? config['additional_special_tokens'];
  const tokens = [
    ...Object.values(named),
    ...(Array.isArray(extra) ? extra : []).flatMap((token) => contentOf(token) ?? []),
  ];
  return [...new Set(tokens)].flatMap((token) => tokenizer.token_to_id(token) ?? []);
}
