/** GPT-2's alphabet of bytes: printable Latin-1 stands for itself, each other byte for a character from U+0100 on. */

/** The character that stands for each byte. */
export const BYTE_CHARS: readonly string[] = alphabet();

/** Byte of each character code of the alphabet; −1 for codes that are not in it. */
const BYTES = new Int16Array(0x200).fill(-1);
for (const [byte, char] of BYTE_CHARS.entries()) BYTES[char.charCodeAt(0)] = byte;

/** The byte that a character code (UTF-16) stands for; −1 when it stands for none. */
export function byteOfChar(code: number): number {
  return code < 0x200 ? BYTES[code]! : -1;
}

function alphabet(): readonly string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    return String.fromCharCode(printable ? byte : next++);
  });
}
