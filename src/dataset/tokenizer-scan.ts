/**
 * Takes the vocabulary and merges of a byte-level BPE straight from the bytes of its `tokenizer.json` into flat arrays. `JSON.parse` would
 * make hundreds of thousands of strings and lists of them first: for a vocabulary of 150,000, 100 MB and most of the time.
 */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { BpeReader, type BpeTables, ensure } from './bpe-reader.ts';
import { ByteSink, JsonWindow } from './json-window.ts';

/** A `tokenizer.json` that was taken apart. */
export interface ScannedTokenizer {
  /** All of the file but `model.vocab` and `model.merges`, which are empty in it. */
  readonly json: unknown;
  readonly tables: BpeTables;
}

/**
 * Is this the tokenizer that is looked for? Asked before the vocabulary is read, about what comes before it (`isWhole` false), and again
 * at the end.
 */
export type Wanted = (json: unknown, isWhole: boolean) => boolean;

/**
 * Null for any file that is not wanted, or not plainly such a vocabulary: a byte that is no token, a merge of what is no token, names or
 * ids that come twice, anything that is not JSON. What is to become of those is decided by parsing them as a whole.
 */
export function scanTokenizer(path: string, isWanted: Wanted): ScannedTokenizer | null {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return null;
  }
  try {
    const { size } = fstatSync(fd);
    // Sizes of zero, as of pipes, are of no file worth the trouble.
    return size > 0 ? new TokenizerScan(fd, size, isWanted).run() : null;
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes of a file per token of its vocabulary: 60 to 80 in those of models. */
const BYTES_PER_TOKEN = 72;

/** One pass over a file. */
class TokenizerScan {
  readonly #window: JsonWindow;
  /** What is left of the file for `JSON.parse`. */
  readonly #rest = new ByteSink();
  readonly #isWanted: Wanted;
  readonly #reader: BpeReader;
  #hasVocabulary = false;
  #hasMerges = false;
  /** Where merges lie in the file that were passed over because the vocabulary comes behind them; null when there are none. */
  #passed: { readonly start: number; readonly end: number } | null = null;

  constructor(fd: number, bytes: number, isWanted: Wanted) {
    this.#isWanted = isWanted;
    this.#window = new JsonWindow(fd);
    this.#reader = new BpeReader(this.#window, Math.ceil(bytes / BYTES_PER_TOKEN));
  }

  run(): ScannedTokenizer {
    const window = this.#window;
    window.need();
    this.#object((name) => {
      if (name === '"model"' && window.peek() === OPEN_OBJECT) this.#object((inner) => this.#modelValue(inner));
      else this.#keepValue();
    });
    ensure(window.isAtEnd());
    const json: unknown = JSON.parse(this.#rest.toString());
    ensure(this.#isWanted(json, true));
    ensure(this.#hasVocabulary);
    if (this.#passed !== null) this.#takePassedMerges(this.#passed);
    ensure(this.#hasMerges);
    const { tokens, pairs } = this.#reader;
    return { json, tables: { tokens, pairs } };
  }

  /** Takes an object into the rest; `takeValue` takes the value of each member. */
  #object(takeValue: (name: string) => void): void {
    const window = this.#window;
    const names = new Set<string>();
    ensure(window.takes(OPEN_OBJECT));
    this.#rest.pushText('{');
    while (names.size > 0 || window.peek() !== CLOSE_OBJECT) {
      const name = window.takeName();
      // JSON.parse lets the last of equal names win.
      ensure(name !== null && !names.has(name) && window.takes(COLON));
      this.#rest.pushText(`${names.size > 0 ? ',' : ''}${name}:`);
      names.add(name);
      window.need();
      takeValue(name);
      window.need();
      if (!window.takes(COMMA)) break;
    }
    ensure(window.takes(CLOSE_OBJECT));
    window.need();
    this.#rest.pushText('}');
  }

  #keepValue(): void {
    ensure(this.#window.takeValue(this.#rest));
  }

  #modelValue(name: string): void {
    if (name === '"vocab"') {
      ensure(this.#isWanted(JSON.parse(`${this.#rest}{}}}`), false));
      this.#reader.takeVocabulary();
      this.#hasVocabulary = true;
      this.#rest.pushText('{}');
    } else if (name === '"merges"') {
      if (this.#hasVocabulary) this.#takeMerges();
      else this.#passMerges();
      this.#rest.pushText('[]');
    } else this.#keepValue();
  }

  #takeMerges(): void {
    this.#reader.takeMerges();
    this.#hasMerges = true;
  }

  #passMerges(): void {
    const window = this.#window;
    window.peek();
    const start = window.offset;
    ensure(window.takeValue(null));
    this.#passed = { start, end: window.offset };
  }

  #takePassedMerges({ start, end }: { readonly start: number; readonly end: number }): void {
    const window = this.#window;
    window.seek(start);
    this.#takeMerges();
    window.need();
    window.peek();
    ensure(window.offset === end);
  }
}
