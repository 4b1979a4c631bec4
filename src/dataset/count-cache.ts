/**
 * Token counts of a server's tokenizer, kept between runs: a data set of thousands of prompts is a request each to count. The file is named
 * after the model and the ids that the server gives for a fixed text: another tokenizer gives others, whatever its model is called, and
 * tokenizers that differ in a few added tokens alone belong to models of different names.
 *
 * A file is a mark, a checksum of what follows, and entries of fixed size.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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
/** Tokenizers whose counts are kept, those used last: with full files 128 MB. */
const MAX_FILES = 8;
const MARK = Buffer.from('TLCOUNT1');
const CHECKSUM_BYTES = 16;
const HEADER_BYTES = MARK.length + CHECKSUM_BYTES;

/** Counts by text. A cache that cannot be read is empty, one that cannot be written is not kept. */
export class CountCache {
  readonly #path: string;
  readonly #counts = new Map<string, number>();
  #isChanged = false;

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * @param model name of the loaded model
   * @param probeIds what the server makes of {@link PROBE_TEXT}
   */
  static async open(model: string, probeIds: readonly number[], env: NodeJS.ProcessEnv): Promise<CountCache> {
    const name = createHash('sha256')
      .update(JSON.stringify([model, probeIds]))
      .digest('hex')
      .slice(0, 32);
    const cache = new CountCache(join(cacheHome(env), 'tabby-load', 'token-counts', `${name}.bin`));
    const bytes = await readFile(cache.#path).catch(() => null);
    if (bytes !== null && isWhole(bytes)) cache.#read(bytes.subarray(HEADER_BYTES));
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
    const bytes = Buffer.alloc(HEADER_BYTES + entries.length * ENTRY_BYTES);
    for (const [k, [key, tokens]] of entries.entries()) {
      const at = HEADER_BYTES + k * ENTRY_BYTES;
      bytes.write(key, at, 'latin1');
      bytes.writeUInt32LE(tokens, at + KEY_BYTES);
    }
    MARK.copy(bytes);
    checksum(bytes.subarray(HEADER_BYTES)).copy(bytes, MARK.length);
    const temporary = `${this.#path}.${process.pid}.tmp`;
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      await writeFile(temporary, bytes);
      await rename(temporary, this.#path);
      await keepLatest(dirname(this.#path));
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

/** Is it a file of ours, and as it was written? */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length < HEADER_BYTES || (bytes.length - HEADER_BYTES) % ENTRY_BYTES !== 0) return false;
  if (!bytes.subarray(0, MARK.length).equals(MARK)) return false;
  return bytes.subarray(MARK.length, HEADER_BYTES).equals(checksum(bytes.subarray(HEADER_BYTES)));
}

function checksum(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, CHECKSUM_BYTES);
}

/** Removes the files that were written longest ago. */
async function keepLatest(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.bin'));
  if (names.length <= MAX_FILES) return;
  const files = await Promise.all(
    names.map(async (name) => ({ name, atMs: (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0 })),
  );
  const oldest = files.sort((a, b) => b.atMs - a.atMs).slice(MAX_FILES);
  for (const { name } of oldest) await rm(join(folder, name), { force: true });
}

function keyOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest().toString('latin1', 0, KEY_BYTES);
}
