/**
 * Byte-pair encoding of one piece of text to token ids (Sennrich et al. 2016, as Rust's `tokenizers` does it: of all neighbours the pair
 * with the lowest rank is merged first, the leftmost of equals). Works on ids and flat arrays: the library's own way, on strings and
 * objects, takes most of the time on scripts without spaces, whose pieces are long.
 */
import { charBytes } from './byte-decoder.ts';
import type { TokenizerJson } from './tokenizer-files.ts';

/** Up to this many symbols the best pair is found by looking at all of them; beyond, by a heap. */
const SCAN_UP_TO = 32;

/** No such pair, no neighbour. */
const NONE = -1;

/** Positions in a heap entry: rank · POSITIONS + position stays exact in a double. */
const POSITIONS = 2 ** 32;

/** Encodes pieces; not for use by two callers in turns (it works in arrays of its own, but keeps nothing between calls). */
export class ByteBpe {
  readonly #byteIds: Int32Array;
  readonly #pairs: PairTable;
  /** Piece to id where a piece that is itself a token is taken as it is (`ignore_merges`); else null. */
  readonly #whole: ReadonlyMap<string, number> | null;
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(256);
  #ids = new Int32Array(256);
  #next = new Int32Array(256);
  #previous = new Int32Array(256);

  private constructor(byteIds: Int32Array, pairs: PairTable, whole: ReadonlyMap<string, number> | null) {
    this.#byteIds = byteIds;
    this.#pairs = pairs;
    this.#whole = whole;
  }

  /** Null when the model is no byte-level BPE whose every byte is a token. */
  static of(json: TokenizerJson): ByteBpe | null {
    const model = json.model as BpeModel;
    if (model.type !== 'BPE' || Array.isArray(model.vocab) || !Array.isArray(model.merges)) return null;
    const odd = [model.dropout, model.continuing_subword_prefix, model.end_of_word_suffix, model.byte_fallback];
    if (odd.some(Boolean)) return null;
    const vocab = new Map(Object.entries(model.vocab as Readonly<Record<string, number>>));
    const byteIds = new Int32Array(256).fill(NONE);
    for (const [char, byte] of charBytes()) byteIds[byte] = vocab.get(char) ?? NONE;
    const pairs = pairTable(model.merges, vocab);
    if (pairs === null || byteIds.includes(NONE)) return null;
    return new ByteBpe(byteIds, pairs, model.ignore_merges === true ? spelledOut(vocab) : null);
  }

  /** Token ids of a piece. */
  encode(piece: string): number[] {
    const whole = this.#whole?.get(piece);
    if (whole !== undefined) return [whole];
    this.#makeRoom(piece.length * 3);
    const count = this.#encoder.encodeInto(piece, this.#bytes).written;
    for (let i = 0; i < count; i++) this.#ids[i] = this.#byteIds[this.#bytes[i]!]!;
    return count <= SCAN_UP_TO ? this.#mergeByScan(count) : this.#mergeByHeap(count);
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes.length >= bytes) return;
    this.#bytes = new Uint8Array(bytes * 2);
    this.#ids = new Int32Array(bytes * 2);
    this.#next = new Int32Array(bytes * 2);
    this.#previous = new Int32Array(bytes * 2);
  }

  #mergeByScan(count: number): number[] {
    const ids = this.#ids;
    let left = count;
    for (;;) {
      let best = NONE;
      let at = NONE;
      for (let i = 0; i < left - 1; i++) {
        const slot = this.#pairs.find(ids[i]!, ids[i + 1]!);
        if (slot !== NONE && (best === NONE || this.#pairs.rank(slot) < this.#pairs.rank(best))) {
          best = slot;
          at = i;
        }
      }
      if (best === NONE) return Array.from(ids.subarray(0, left));
      ids[at] = this.#pairs.merged(best);
      ids.copyWithin(at + 1, at + 2, left);
      left--;
    }
  }

  /** Symbols as a linked list, pairs in a heap by rank and place; an entry whose pair has gone is passed over. */
  #mergeByHeap(count: number): number[] {
    const ids = this.#ids;
    const next = this.#next;
    const previous = this.#previous;
    const heap = new MinHeap();
    const offer = (at: number): void => {
      if (at === NONE || next[at] === NONE) return;
      const slot = this.#pairs.find(ids[at]!, ids[next[at]!]!);
      if (slot !== NONE) heap.push(this.#pairs.rank(slot) * POSITIONS + at);
    };
    for (let i = 0; i < count; i++) {
      next[i] = i + 1 < count ? i + 1 : NONE;
      previous[i] = i - 1;
    }
    for (let i = 0; i < count; i++) offer(i);
    while (heap.size > 0) {
      const entry = heap.pop();
      const at = entry % POSITIONS;
      const after = next[at]!;
      if (ids[at] === NONE || after === NONE) continue;
      const slot = this.#pairs.find(ids[at]!, ids[after]!);
      if (slot === NONE || this.#pairs.rank(slot) !== Math.floor(entry / POSITIONS)) continue;
      ids[at] = this.#pairs.merged(slot);
      ids[after] = NONE;
      next[at] = next[after]!;
      if (next[after] !== NONE) previous[next[after]!] = at;
      offer(previous[at]!);
      offer(at);
    }
    const result: number[] = [];
    for (let at = 0; at !== NONE; at = next[at]!) result.push(ids[at]!);
    return result;
  }
}

/** `model` of a tokenizer.json with type BPE. */
interface BpeModel {
  readonly type?: string;
  readonly vocab: unknown;
  readonly merges?: unknown;
  readonly dropout?: unknown;
  readonly continuing_subword_prefix?: unknown;
  readonly end_of_word_suffix?: unknown;
  readonly byte_fallback?: unknown;
  readonly ignore_merges?: unknown;
}

/** Pairs of ids that merge: an open-addressing hash table in flat arrays. A slot is an index into it. */
class PairTable {
  readonly #mask: number;
  readonly #lefts: Int32Array;
  readonly #rights: Int32Array;
  readonly #ranks: Int32Array;
  readonly #merged: Int32Array;

  constructor(pairs: number) {
    // At most half full, so that few steps find a pair or tell that there is none.
    const size = 2 ** Math.ceil(Math.log2(Math.max(2, pairs * 2)));
    this.#mask = size - 1;
    this.#lefts = new Int32Array(size).fill(NONE);
    this.#rights = new Int32Array(size);
    this.#ranks = new Int32Array(size);
    this.#merged = new Int32Array(size);
  }

  set(left: number, right: number, rank: number, merged: number): void {
    let slot = this.#start(left, right);
    while (this.#lefts[slot] !== NONE && !this.#is(slot, left, right)) slot = (slot + 1) & this.#mask;
    this.#lefts[slot] = left;
    this.#rights[slot] = right;
    this.#ranks[slot] = rank;
    this.#merged[slot] = merged;
  }

  /** The slot of a pair, or NONE. */
  find(left: number, right: number): number {
    let slot = this.#start(left, right);
    while (this.#lefts[slot] !== NONE) {
      if (this.#is(slot, left, right)) return slot;
      slot = (slot + 1) & this.#mask;
    }
    return NONE;
  }

  rank(slot: number): number {
    return this.#ranks[slot]!;
  }

  merged(slot: number): number {
    return this.#merged[slot]!;
  }

  #is(slot: number, left: number, right: number): boolean {
    return this.#lefts[slot] === left && this.#rights[slot] === right;
  }

  #start(left: number, right: number): number {
    const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    return (mixed ^ (mixed >>> 15)) & this.#mask;
  }
}

/** Null when a merge names tokens that the vocabulary lacks. */
function pairTable(merges: readonly unknown[], vocab: ReadonlyMap<string, number>): PairTable | null {
  const table = new PairTable(merges.length);
  for (const [rank, merge] of merges.entries()) {
    const [left, right] = (typeof merge === 'string' ? merge.split(' ') : merge) as [string, string];
    const leftId = vocab.get(left);
    const rightId = vocab.get(right);
    const mergedId = vocab.get(left + right);
    if (leftId === undefined || rightId === undefined || mergedId === undefined) return null;
    table.set(leftId, rightId, rank, mergedId);
  }
  return table;
}

/** The vocabulary by the text that each token spells, for those that are whole texts. */
function spelledOut(vocab: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const bytes = charBytes();
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const spelled = new Map<string, number>();
  for (const [token, id] of vocab) {
    const codes = Array.from(token, (char) => bytes.get(char) ?? NONE);
    if (codes.includes(NONE)) continue;
    try {
      spelled.set(decoder.decode(Uint8Array.from(codes)), id);
    } catch {
      // A part of a character: no text is that token.
    }
  }
  return spelled;
}

/** A binary heap of numbers. */
class MinHeap {
  readonly #items: number[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(item: number): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent]! <= item) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  /** Takes out the smallest; there must be one. */
  pop(): number {
    const items = this.#items;
    const smallest = items[0]!;
    const last = items.pop()!;
    const size = items.length;
    if (size === 0) return smallest;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && items[child + 1]! < items[child]!) child++;
      if (items[child]! >= last) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return smallest;
  }
}
