/**
 * Token counts of a server's tokenizer, kept between runs: a data set of thousands of prompts is a request each to count. The file is named
 * after the ids that the server gives for a fixed text, which no other tokenizer gives, whatever the model is called.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheHome } from './tokenizer-hub.ts';

/** Letters, numbers, spaces, scripts and signs: tokenizers differ in some of them. */
export const PROBE_TEXT =
  'The quick brown fox, 1234567890 times; naïve café — Straße, Ελληνικά, русский, 日本語の文章, 한국어, العربية, हिन्दी, ไทย 😀👩‍👩‍👧.\n\n    def f(x): return x**2  # ok\t<|im_start|>';

/** Bytes of an entry: the beginning of the text's SHA-256, and the count. */
const KEY_BYTES = 12;
const ENTRY_BYTES = KEY_BYTES + 4;
/** Texts that are kept, the latest ones: 16 MB. */
const MAX_ENTRIES = 1_000_000;

/** Counts by text. A cache that cannot be read is empty, one that cannot be written is not kept. */
export class CountCache {
  readonly #path: string;
  readonly #counts = new Map<string, number>();
  #isChanged = false;

  private constructor(path: string) {
    this.#path = path;
  }

  /** @param probeIds what the server makes of {@link PROBE_TEXT} */
  static async open(probeIds: readonly number[], env: NodeJS.ProcessEnv): Promise<CountCache> {
    const name = createHash('sha256').update(JSON.stringify(probeIds)).digest('hex').slice(0, 32);
    const cache = new CountCache(join(cacheHome(env), 'tabby-load', 'token-counts', `${name}.bin`));
    const bytes = await readFile(cache.#path).catch(() => null);
    if (bytes !== null && bytes.length % ENTRY_BYTES === 0) cache.#read(bytes);
    return cache;
  }

  /** Number of tokens of a text, or undefined. */
  get(text: string): number | undefined {
    return this.#counts.get(keyOf(text));
  }

  set(text: string, tokens: number): void {
    this.#counts.set(keyOf(text), tokens);
    this.#isChanged = true;
  }

  /** Writes what is new, whole or not at all. */
  async save(): Promise<void> {
    if (!this.#isChanged) return;
    const entries = [...this.#counts].slice(-MAX_ENTRIES);
    const bytes = Buffer.alloc(entries.length * ENTRY_BYTES);
    for (const [k, [key, tokens]] of entries.entries()) {
      bytes.write(key, k * ENTRY_BYTES, 'latin1');
      bytes.writeUInt32LE(tokens, k * ENTRY_BYTES + KEY_BYTES);
    }
    const temporary = `${this.#path}.${process.pid}.tmp`;
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      await writeFile(temporary, bytes);
      await rename(temporary, this.#path);
    } catch {
      await rm(temporary, { force: true }).catch(() => undefined);
    }
    this.#isChanged = false;
  }

  #read(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
      this.#counts.set(bytes.toString('latin1', at, at + KEY_BYTES), bytes.readUInt32LE(at + KEY_BYTES));
    }
  }
}

function keyOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().toString('latin1', 0, KEY_BYTES);
}
