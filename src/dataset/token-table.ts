/**
 * A vocabulary in flat arrays: the bytes that each token spells, by id and the other way round. 150,000 tokens take 3 MB and no object
 * each; as strings in a Map and an array they take 25 MB, and 100 MB while a file is parsed into them.
 */
import { BYTE_CHARS, byteOfChar } from './byte-alphabet.ts';
import { isCrowded, slotsFor, TAG } from './hash-slots.ts';

/** No such token. */
export const NO_TOKEN = -1;

/** Ids may leave gaps, but not so many that an array over all of them is a waste. */
const MAX_ID_GAPS = 1_000_000;

/** Tokens are added once, in the order of the file, then looked up. An entry is a token's place in that order. */
export class TokenTable {
  /** The bytes of all tokens, one after the other. */
  #blob: Uint8Array<ArrayBuffer>;
  /** Where each entry begins in them; entry e ends where e + 1 begins. */
  #starts: Uint32Array<ArrayBuffer>;
  /** Entry + 1 of each token, with a part of its hash; 0 for a free slot. */
  #slots: Int32Array<ArrayBuffer>;
  #count = 0;
  /** Id of each entry; null while the ids count the entries, as they do in nearly every vocabulary. */
  #ids: Int32Array | null = null;
  /** Entry of each id; null like {@link TokenTable.#ids}. */
  #entries: Int32Array | null = null;
  /** Tokens with characters that stand for no byte (only added tokens have such): text to entry. */
  readonly #odd = new Map<string, number>();
  readonly #oddEntries = new Set<number>();

  /** `expected`: how many tokens will come, more or less. What has to grow is copied. */
  constructor(expected: number) {
    this.#blob = new Uint8Array(8 * expected);
    this.#starts = new Uint32Array(expected + 2);
    this.#slots = new Int32Array(slotsFor(expected));
  }

  /** Number of tokens. */
  get count(): number {
    return this.#count;
  }

  /** Number of tokens with characters outside the byte alphabet. */
  get oddCount(): number {
    return this.#odd.size;
  }

  /** The bytes of all tokens; {@link TokenTable.start} and {@link TokenTable.end} tell which are a token's. */
  get blob(): Uint8Array {
    return this.#blob;
  }

  /** Adds the token that spells `bytes` from `from` to before `to`. False when it is there already. */
  add(bytes: Uint8Array, from: number, to: number, id: number): boolean {
    const hash = hashOf(bytes, from, to);
    const slot = this.#slotOf(hash, bytes, from, to);
    if (this.#slots[slot] !== 0) return false;
    this.#slots[slot] = (hash & TAG) | (this.#append(bytes, from, to, id) + 1);
    if (isCrowded(this.#slots, this.#count)) this.#rehash();
    return true;
  }

  /** Adds a token with characters outside the byte alphabet. False when it is there already. */
  addOdd(text: string, id: number): boolean {
    if (this.#odd.has(text)) return false;
    const bytes = Buffer.from(text, 'utf8');
    const entry = this.#append(bytes, 0, bytes.length, id);
    this.#odd.set(text, entry);
    this.#oddEntries.add(entry);
    return true;
  }

  /** All tokens are in: prepares the way from ids to tokens. False when two tokens share an id or ids lie too far apart. */
  finish(): boolean {
    const ids = this.#ids?.subarray(0, this.#count);
    if (ids === undefined) return true;
    const highest = ids.reduce((most, id) => Math.max(most, id), 0);
    if (highest > this.#count + MAX_ID_GAPS) return false;
    const entries = new Int32Array(highest + 1).fill(NO_TOKEN);
    for (const [entry, id] of ids.entries()) {
      if (entries[id] !== NO_TOKEN) return false;
      entries[id] = entry;
    }
    this.#entries = entries;
    return true;
  }

  /** Entry of the token that spells these bytes, or NO_TOKEN. */
  find(bytes: Uint8Array, from: number, to: number): number {
    return (this.#slots[this.#slotOf(hashOf(bytes, from, to), bytes, from, to)]! & ~TAG) - 1;
  }

  /** Id of an entry. */
  idAt(entry: number): number {
    return this.#ids === null ? entry : this.#ids[entry]!;
  }

  /** Id of a token as `tokenizer.json` writes it, or undefined. */
  idOf(text: string): number | undefined {
    const odd = this.#odd.get(text);
    if (odd !== undefined) return this.idAt(odd);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) {
      const byte = byteOfChar(text.charCodeAt(i));
      if (byte < 0) return undefined;
      bytes[i] = byte;
    }
    const entry = this.find(bytes, 0, bytes.length);
    return entry === NO_TOKEN ? undefined : this.idAt(entry);
  }

  /** Entry of an id, or NO_TOKEN; {@link TokenTable.finish} must have said yes. */
  entryOf(id: number): number {
    if (this.#entries === null) return id >= 0 && id < this.#count ? id : NO_TOKEN;
    return this.#entries[id] ?? NO_TOKEN;
  }

  /** Where an entry begins in {@link TokenTable.blob}. */
  start(entry: number): number {
    return this.#starts[entry]!;
  }

  /** Where an entry ends in {@link TokenTable.blob}. */
  end(entry: number): number {
    return this.#starts[entry + 1]!;
  }

  /** The token with this id as `tokenizer.json` writes it, or undefined. */
  textOf(id: number): string | undefined {
    const entry = this.entryOf(id);
    if (entry === NO_TOKEN) return undefined;
    const bytes = this.#blob.subarray(this.start(entry), this.end(entry));
    if (this.#oddEntries.has(entry)) return Buffer.from(bytes).toString('utf8');
    let text = '';
    for (const byte of bytes) text += BYTE_CHARS[byte]!;
    return text;
  }

  #append(bytes: Uint8Array, from: number, to: number, id: number): number {
    const entry = this.#count++;
    if (this.#count > ~TAG) throw new Error('too many tokens');
    if (entry + 2 > this.#starts.length) this.#starts = grown(this.#starts, new Uint32Array(this.#starts.length * 2));
    let at = this.#starts[entry]!;
    const end = at + to - from;
    if (end > this.#blob.length) this.#blob = grown(this.#blob, new Uint8Array(end + this.#blob.length));
    const blob = this.#blob;
    for (let i = from; i < to; i++) blob[at++] = bytes[i]!;
    this.#starts[entry + 1] = end;
    if (this.#ids !== null || id !== entry) this.#keepId(entry, id);
    return entry;
  }

  #keepId(entry: number, id: number): void {
    this.#ids ??= Int32Array.from({ length: Math.max(1024, entry * 2) }, (_, i) => i);
    if (entry >= this.#ids.length) this.#ids = grown(this.#ids, new Int32Array(entry * 2));
    this.#ids[entry] = id;
  }

  /** The slot that holds these bytes, or the free one where they belong. */
  #slotOf(hash: number, bytes: Uint8Array, from: number, to: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = firstSlot(hash) & mask; ; slot = (slot + 1) & mask) {
      const held = slots[slot]!;
      if (held === 0) return slot;
      if (((held ^ hash) & TAG) === 0 && this.#spells((held & ~TAG) - 1, bytes, from, to)) return slot;
    }
  }

  #spells(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    let at = this.#starts[entry]!;
    if (this.#starts[entry + 1]! - at !== to - from) return false;
    const blob = this.#blob;
    for (let i = from; i < to; i++) {
      if (blob[at++] !== bytes[i]) return false;
    }
    return true;
  }

  #rehash(): void {
    const old = this.#slots;
    const slots = new Int32Array(old.length * 2);
    const mask = slots.length - 1;
    for (const held of old) {
      if (held === 0) continue;
      const end = held & ~TAG;
      let slot = firstSlot(hashOf(this.#blob, this.#starts[end - 1]!, this.#starts[end]!)) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = held;
    }
    this.#slots = slots;
  }
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash;
}

/** The upper bits of a hash folded into the lower ones, which tell the slot. */
function firstSlot(hash: number): number {
  return hash ^ (hash >>> 15);
}

function grown<T extends Uint8Array | Uint32Array | Int32Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
