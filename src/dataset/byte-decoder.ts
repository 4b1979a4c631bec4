/** Decoding of byte-level tokens as Rust's `tokenizers` does it: all bytes joined, then read as UTF-8, what is invalid as U+FFFD. */
import { byteOfChar } from './byte-alphabet.ts';
import type { TokenTable } from './token-table.ts';
import type { LocalTokenizer } from './tokenizer.ts';

/**
 * A `decode` for tokenizers whose decoder is `ByteLevel`. `tokenOf` gives a token's text (undefined: no such id, left out), `special`
 * the ids that `skipSpecialTokens` leaves out.
 */
export function byteLevelDecoder(
  tokenOf: (id: number) => string | undefined,
  special: ReadonlySet<number>,
): LocalTokenizer['decode'] {
  const memory: Uint8Array[] = [];
  const joined = new JoinedBytes();
  return (ids, skipSpecialTokens = false) => {
    for (const id of ids) {
      if (skipSpecialTokens && special.has(id)) continue;
      memory[id] ??= tokenBytes(tokenOf(id) ?? '');
      const bytes = memory[id];
      joined.append(bytes, 0, bytes.length);
    }
    return joined.takeText();
  };
}

/** The same from a table of tokens. `added` are the texts of added tokens by id, which take the place of what the table has there. */
export function tableDecoder(
  tokens: TokenTable,
  added: ReadonlyMap<number, string>,
  special: ReadonlySet<number>,
): LocalTokenizer['decode'] {
  const addedBytes = new Map(Array.from(added, ([id, text]) => [id, tokenBytes(text)]));
  const joined = new JoinedBytes();
  return (ids, skipSpecialTokens = false) => {
    for (const id of ids) {
      if (skipSpecialTokens && special.has(id)) continue;
      const bytes = addedBytes.get(id);
      const entry = bytes === undefined ? tokens.entryOf(id) : -1;
      if (bytes !== undefined) joined.append(bytes, 0, bytes.length);
      else if (entry >= 0) joined.append(tokens.blob, tokens.start(entry), tokens.end(entry));
    }
    return joined.takeText();
  };
}

/** The bytes of a text, as they come. */
class JoinedBytes {
  // Not `ignoreBOM: false`: a U+FEFF at the start is text like any other.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #bytes = new Uint8Array(4096);
  #length = 0;

  append(bytes: Uint8Array, from: number, to: number): void {
    const length = this.#length + to - from;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    // Tokens are a few bytes long: a loop is faster than `set`.
    const into = this.#bytes;
    for (let i = from, at = this.#length; i < to; ) into[at++] = bytes[i++]!;
    this.#length = length;
  }

  /** The text so far; the next one begins. */
  takeText(): string {
    const text = this.#decoder.decode(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return text;
  }
}

/** The bytes that a token spells; a token with a character outside the byte alphabet (an added token) is taken as plain text. */
function tokenBytes(token: string): Uint8Array {
  const bytes = Int16Array.from(token, (char) => byteOfChar(char.codePointAt(0)!));
  return bytes.includes(-1) ? Buffer.from(token, 'utf8') : Uint8Array.from(bytes);
}
