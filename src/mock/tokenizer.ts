/**
 * The mock's tokenizer: deterministic, without state, and reversible. A text is cut into the words the mock itself uses (one
 * token each), line breaks and other ASCII punctuation (one token each), and pieces of at most four bytes of everything else, so that a token
 * is about a word or four bytes, as with real vocabularies. The bytes of a piece are packed into its id, which
 * makes decoding exact without a table; all ids fit a signed 32-bit integer.
 */
import { UNICODE_TOKENS, WORDS } from './words.ts';

/** Ids of the special tokens of the chat template. */
export const SPECIAL = { bos: 1, imEnd: 2, imStart: 3, thinkOpen: 4, thinkClose: 5 } as const;

const SPECIAL_TEXT = new Map<string, number>([
  ['<|im_end|>', SPECIAL.imEnd],
  ['<|im_start|>', SPECIAL.imStart],
  ['<think>', SPECIAL.thinkOpen],
  ['</think>', SPECIAL.thinkClose],
]);
const ROLES = ['user', 'assistant', 'system', 'tool'] as const;
const FIRST_ROLE_ID = 8;
const FIRST_WORD_ID = 16;
const FIRST_UNICODE_ID = 512;
/** Pieces of 1..3 bytes begin here: one base per length, then the bytes big-endian. */
const BYTES_BASE: readonly number[] = [0, 1024, 1024 + 0x100, 1024 + 0x100 + 0x10000];
/** Pieces of four ASCII bytes: 7 bits each. */
const ASCII4_BASE = 0x10000000;

const WORD_ID = new Map<string, number>(WORDS.map((word, i) => [word, FIRST_WORD_ID + i]));
const UNICODE_ID = new Map<string, number>(UNICODE_TOKENS.map((text, i) => [text, FIRST_UNICODE_ID + i]));

/** 1 for ASCII letters and digits, the bytes words are made of. */
const LETTER = new Uint8Array(256);
for (const byte of Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')) LETTER[byte] = 1;

/** An entry of the vocabulary as bytes. */
interface Entry {
  readonly bytes: Uint8Array;
  readonly id: number;
}

/** Entries beyond ASCII letters by their first byte. */
const BY_FIRST_BYTE: (readonly Entry[] | undefined)[] = new Array(256).fill(undefined);
for (const [text, id] of UNICODE_ID) {
  const bytes = Buffer.from(text);
  const first = bytes[0] as number;
  BY_FIRST_BYTE[first] = [...(BY_FIRST_BYTE[first] ?? []), { bytes, id }];
}

/** Words by a hash of their bytes: most words of a long prompt are unknown, and are told so by one look. */
const HASH_MASK = 4095;
const HASH_START = 7;
const hashStep = (hash: number, byte: number): number => (hash * 31 + byte) | 0;
const WORD_BY_HASH: (readonly Entry[] | undefined)[] = new Array(HASH_MASK + 1).fill(undefined);
for (const [text, id] of WORD_ID) {
  const bytes = Buffer.from(text);
  const hash = bytes.reduce(hashStep, HASH_START) & HASH_MASK;
  WORD_BY_HASH[hash] = [...(WORD_BY_HASH[hash] ?? []), { bytes, id }];
}

/** Does the entry stand at `i`? */
function standsAt(entry: Entry, text: Uint8Array, i: number): boolean {
  const { bytes } = entry;
  for (let k = 0; k < bytes.length; k++) if (text[i + k] !== bytes[k]) return false;
  return true;
}

function otherEntry(text: Uint8Array, i: number): Entry | undefined {
  return BY_FIRST_BYTE[text[i] as number]?.find((entry) => standsAt(entry, text, i));
}

/** What {@link nextPiece} found besides the end: the id of a vocabulary entry, or -1 and the bytes per token to cut. */
interface Piece {
  id: number;
  step: 3 | 4;
}

/** Finds the piece that starts at `i` and returns its end. Counting and encoding both walk by it, so they cannot disagree. */
function nextPiece(text: Uint8Array, i: number, found: Piece): number {
  const first = text[i] as number;
  const lettersFrom = first === 32 ? i + 1 : i;
  let hash = first === 32 ? hashStep(HASH_START, 32) : HASH_START;
  let end = lettersFrom;
  while (end < text.length && LETTER[text[end] as number] === 1) {
    hash = hashStep(hash, text[end] as number);
    end++;
  }
  found.step = 4;
  found.id = -1;
  if (end > lettersFrom) {
    const candidates = WORD_BY_HASH[hash & HASH_MASK];
    const word = candidates?.find((entry) => entry.bytes.length === end - i && standsAt(entry, text, i));
    if (word !== undefined) found.id = word.id;
    return end;
  }
  const entry = otherEntry(text, i);
  if (entry !== undefined) {
    found.id = entry.id;
    return i + entry.bytes.length;
  }
  if (first < 128) return i + 1;
  found.step = 3;
  do end++;
  while (end < text.length && (text[end] as number) >= 128 && otherEntry(text, end) === undefined);
  return end;
}

/** Number of tokens of a text, without any special token. Linear; about 5 ns per byte. */
export function countTokens(text: string): number {
  const bytes = Buffer.from(text, 'utf8');
  const found: Piece = { id: -1, step: 4 };
  let count = 0;
  let i = 0;
  while (i < bytes.length) {
    const end = nextPiece(bytes, i, found);
    count += found.id >= 0 ? 1 : Math.ceil((end - i) / found.step);
    i = end;
  }
  return count;
}

/** Token ids of a text, without any special token. */
export function encodeText(text: string): number[] {
  const bytes = Buffer.from(text, 'utf8');
  const found: Piece = { id: -1, step: 4 };
  const ids: number[] = [];
  let i = 0;
  while (i < bytes.length) {
    const end = nextPiece(bytes, i, found);
    if (found.id >= 0) ids.push(found.id);
    else
      for (let at = i; at < end; at += found.step)
        ids.push(packBytes(bytes.subarray(at, Math.min(end, at + found.step))));
    i = end;
  }
  return ids;
}

function packBytes(bytes: Uint8Array): number {
  const radix = bytes.length === 4 ? 128 : 256;
  let value = 0;
  for (const byte of bytes) value = value * radix + byte;
  return bytes.length === 4 ? ASCII4_BASE + value : (BYTES_BASE[bytes.length] as number) + value;
}

function unpackBytes(id: number): number[] {
  const four = id >= ASCII4_BASE;
  const length = four ? 4 : id >= (BYTES_BASE[3] as number) ? 3 : id >= (BYTES_BASE[2] as number) ? 2 : 1;
  let value = id - (four ? ASCII4_BASE : (BYTES_BASE[length] as number));
  const radix = four ? 128 : 256;
  const bytes: number[] = [];
  for (let i = 0; i < length; i++) {
    bytes.unshift(value % radix);
    value = Math.floor(value / radix);
  }
  return bytes.map((byte) => byte & 0xff);
}

function specialOf(id: number): string | undefined {
  if (id === SPECIAL.bos) return '<s>';
  for (const [text, special] of SPECIAL_TEXT) if (special === id) return text;
  return id >= FIRST_ROLE_ID && id < FIRST_ROLE_ID + ROLES.length ? ROLES[id - FIRST_ROLE_ID] : undefined;
}

/** Text of token ids; ids that stand for nothing are left out. Inverse of {@link encodeText} for valid strings. */
export function decodeTokens(ids: readonly number[]): string {
  const parts: Buffer[] = ids.map((id) => {
    if (!Number.isInteger(id) || id < 0) return Buffer.alloc(0);
    const text = specialOf(id) ?? WORDS[id - FIRST_WORD_ID] ?? UNICODE_TOKENS[id - FIRST_UNICODE_ID];
    if (text !== undefined) return Buffer.from(text, 'utf8');
    return id >= (BYTES_BASE[1] as number) ? Buffer.from(unpackBytes(id)) : Buffer.alloc(0);
  });
  return Buffer.concat(parts).toString('utf8');
}

/** Id of one word of the vocabulary that {@link WORDS} or {@link UNICODE_TOKENS} hold; other texts give their first id. */
export function tokenId(text: string): number {
  return WORD_ID.get(text) ?? UNICODE_ID.get(text) ?? SPECIAL_TEXT.get(text) ?? encodeText(text)[0] ?? 0;
}

/** A chat message as far as the template looks at it. */
export interface TemplateMessage {
  readonly role: string;
  readonly content: string;
}

function roleIds(role: string): number[] {
  const at = (ROLES as readonly string[]).indexOf(role);
  return at < 0 ? encodeText(role) : [FIRST_ROLE_ID + at];
}

/** Token ids of messages in the mock's chat template (ChatML): `<|im_start|>role\n…<|im_end|>\n` each, then the prompt to answer. */
export function encodeMessages(messages: readonly TemplateMessage[], generationPrompt: boolean): number[] {
  const newline = encodeText('\n');
  const ids: number[] = [];
  for (const { role, content } of messages) {
    ids.push(SPECIAL.imStart, ...roleIds(role), ...newline);
    for (const id of encodeText(content)) ids.push(id);
    ids.push(SPECIAL.imEnd, ...newline);
  }
  if (generationPrompt) ids.push(SPECIAL.imStart, ...roleIds('assistant'), ...newline);
  return ids;
}

/** `encodeMessages(…).length` without making the ids. */
export function countMessages(messages: readonly TemplateMessage[], generationPrompt: boolean): number {
  let count = generationPrompt ? 3 : 0;
  for (const { role, content } of messages) count += 4 + roleIds(role).length + countTokens(content);
  return count;
}
