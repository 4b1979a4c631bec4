/** Decoding of byte-level tokens as Rust's `tokenizers` does it: all bytes joined, then read as UTF-8, what is invalid as U+FFFD. */
import type { LocalTokenizer } from './tokenizer.ts';

/**
 * A `decode` for tokenizers whose decoder is `ByteLevel`. `tokenOf` gives a token's text (undefined: no such id, left out), `special`
 * the ids that `skipSpecialTokens` leaves out.
 */
export function byteLevelDecoder(
  tokenOf: (id: number) => string | undefined,
  special: ReadonlySet<number>,
): LocalTokenizer['decode'] {
  const bytesOfChar = charBytes();
  const memory: Uint8Array[] = [];
  // Not `ignoreBOM: false`: a U+FEFF at the start is text like any other.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const bytesOf = (id: number): Uint8Array => (memory[id] ??= tokenBytes(tokenOf(id) ?? '', bytesOfChar));
  let buffer = new Uint8Array(64 * 1024);
  return (ids, skipSpecialTokens = false) => {
    let length = 0;
    for (const id of ids) {
      if (skipSpecialTokens && special.has(id)) continue;
      const bytes = bytesOf(id);
      if (length + bytes.length > buffer.length) buffer = enlarged(buffer, bytes.length);
      // Tokens are a few bytes long: a loop is faster than `set`.
      for (let i = 0; i < bytes.length; i++) buffer[length++] = bytes[i]!;
    }
    return decoder.decode(buffer.subarray(0, length));
  };
}

function enlarged(buffer: Uint8Array, by: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(buffer.length * 2 + by);
  larger.set(buffer);
  return larger;
}

/** The bytes that a token spells; a token with a character outside the byte alphabet (an added token) is taken as plain text. */
function tokenBytes(token: string, bytesOfChar: ReadonlyMap<string, number>): Uint8Array {
  const bytes: number[] = [];
  for (const char of token) {
    const byte = bytesOfChar.get(char);
    if (byte === undefined) return Buffer.from(token, 'utf8');
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

/** GPT-2's alphabet of bytes: printable Latin-1 stands for itself, each other byte for a character from U+0100 on. Character to byte. */
export function charBytes(): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table.set(String.fromCharCode(printable ? byte : next++), byte);
  }
  return table;
}
