/** Reading of a vocabulary and its merges from the bytes of a `tokenizer.json`. All methods throw on what is not as it should be. */
import { BYTE_CHARS } from './byte-alphabet.ts';
import type { JsonWindow } from './json-window.ts';
import { PairTable } from './pair-table.ts';
import { SpelledText } from './spelled-text.ts';
import { NO_TOKEN, TokenTable } from './token-table.ts';

/** A vocabulary and its merges. */
export interface BpeTables {
  readonly tokens: TokenTable;
  /** By token ids. */
  readonly pairs: PairTable;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A vocabulary with more tokens outside the byte alphabet is not spelled in it: no need to read on. */
const MAX_ODD = 10_000;

/** Longest id, in digits: nine fit into an Int32Array. */
const ID_DIGITS = 9;

/** Ends the reading of a file that is not as it should be. */
export function ensure(isPlain: boolean): asserts isPlain {
  if (!isPlain) throw new Error('not a plain byte-level BPE');
}

/** Reads from a window where it stands. */
export class BpeReader implements BpeTables {
  readonly tokens: TokenTable;
  readonly pairs: PairTable;
  readonly #window: JsonWindow;
  readonly #text: SpelledText;

  /** `expected`: number of tokens, more or less. */
  constructor(window: JsonWindow, expected: number) {
    this.#window = window;
    this.#text = new SpelledText(window);
    this.tokens = new TokenTable(expected);
    this.pairs = new PairTable(expected);
  }

  /** The object with an id for each token. */
  takeVocabulary(): void {
    const window = this.#window;
    ensure(window.takes(OPEN_OBJECT));
    do {
      window.need();
      ensure(window.takes(QUOTE));
      const end = this.#text.take(0);
      ensure(window.takes(COLON));
      const id = this.#takeId();
      const { odd, bytes } = this.#text;
      ensure(odd === null ? this.tokens.add(bytes, 0, end, id) : this.tokens.addOdd(odd, id));
      ensure(this.tokens.oddCount <= MAX_ODD);
    } while (window.takes(COMMA));
    ensure(window.takes(CLOSE_OBJECT) && this.tokens.finish());
    // With a byte that is no token, some texts have no tokens.
    ensure(BYTE_CHARS.every((char) => this.tokens.idOf(char) !== undefined));
  }

  #takeId(): number {
    const window = this.#window;
    const first = window.peek() - 0x30;
    let id = 0;
    let digits = 0;
    for (; digits <= ID_DIGITS; digits++) {
      const digit = window.buffer[window.at]! - 0x30;
      if (digit < 0 || digit > 9) break;
      id = id * 10 + digit;
      window.at++;
    }
    ensure(digits > 0 && digits <= ID_DIGITS && (first !== 0 || digits === 1));
    return id;
  }

  /** The list of merges. The vocabulary must have been read. */
  takeMerges(): void {
    const window = this.#window;
    window.need();
    ensure(window.takes(OPEN_LIST));
    if (window.peek() !== CLOSE_LIST) {
      do {
        window.need();
        if (window.takes(OPEN_LIST)) this.#takePair();
        else this.#takeSpacedPair();
      } while (window.takes(COMMA));
    }
    ensure(window.takes(CLOSE_LIST));
  }

  /** `"left", "right"]` */
  #takePair(): void {
    const window = this.#window;
    const text = this.#text;
    ensure(window.takes(QUOTE));
    const middle = text.take(0);
    const oddLeft = text.odd;
    ensure(window.takes(COMMA) && window.takes(QUOTE));
    const end = text.take(oddLeft === null ? middle : 0);
    const oddRight = text.odd;
    ensure(window.takes(CLOSE_LIST));
    if (oddLeft === null && oddRight === null) this.#addMerge(middle, end);
    else
      this.#addOddMerge(oddLeft ?? text.shown(0, middle), oddRight ?? text.shown(oddLeft === null ? middle : 0, end));
  }

  /** `"left right"` */
  #takeSpacedPair(): void {
    ensure(this.#window.takes(QUOTE));
    const text = this.#text;
    const end = text.take(0, true);
    if (text.odd === null) {
      ensure(text.space >= 0);
      this.#addMerge(text.space, end);
    } else {
      const [left, right, more] = text.odd.split(' ');
      ensure(left !== undefined && right !== undefined && more === undefined);
      this.#addOddMerge(left, right);
    }
  }

  /** The bytes up to `middle` and those from there to `end` merge. */
  #addMerge(middle: number, end: number): void {
    const tokens = this.tokens;
    const { bytes } = this.#text;
    const left = tokens.find(bytes, 0, middle);
    const right = tokens.find(bytes, middle, end);
    const merged = tokens.find(bytes, 0, end);
    ensure(left !== NO_TOKEN && right !== NO_TOKEN && merged !== NO_TOKEN);
    this.pairs.add(tokens.idAt(left), tokens.idAt(right), tokens.idAt(merged));
  }

  #addOddMerge(leftText: string, rightText: string): void {
    const left = this.tokens.idOf(leftText);
    const right = this.tokens.idOf(rightText);
    const merged = this.tokens.idOf(leftText + rightText);
    ensure(left !== undefined && right !== undefined && merged !== undefined);
    this.pairs.add(left, right, merged);
  }
}
