/**
 * Byte-pair encoding of pieces of text to token ids (Sennrich et al. 2016, as Rust's `tokenizers` does it: of all neighbours the pair
 * with the lowest rank is merged first, the leftmost of equals). Works on ids and flat arrays: the library's own way, on strings and
 * objects, takes most of the time on scripts without spaces, whose pieces are long.
 */

import { bpeModelOf, tablesOf } from './bpe-model.ts';
import type { BpeTables } from './bpe-reader.ts';
import { BYTE_CHARS } from './byte-alphabet.ts';
import { MinHeap } from './min-heap.ts';
import { NO_PAIR, type PairTable } from './pair-table.ts';
import { NO_TOKEN, type TokenTable } from './token-table.ts';
import type { TokenizerJson } from './tokenizer-files.ts';
import { writeUtf8 } from './utf8.ts';

/** Up to this many symbols the best pair is found by looking at all of them; beyond, by a heap. */
const SCAN_UP_TO = 32;

/** No neighbour, no symbol. */
const NONE = -1;

/** Positions in a heap entry: rank · POSITIONS + position stays exact in a double. */
const POSITIONS = 2 ** 32;

// What merging the bytes of a token yields, as far as it was tried.
const UNTRIED = 0;
const ITSELF = 1;
const OTHERS = 2;

/** Encodes pieces. */
export class ByteBpe {
  /** The ids of the piece that was encoded last, as many as {@link ByteBpe.encodePart} said. */
  ids = new Int32Array(256);
  readonly #tokens: TokenTable;
  readonly #pairs: PairTable;
  readonly #byteIds: Int32Array;
  /** By entry: UNTRIED, ITSELF or OTHERS. */
  readonly #yields: Uint8Array;
  #bytes = new Uint8Array(256);
  #ranks = new Int32Array(256);
  #next = new Int32Array(256);
  #previous = new Int32Array(256);

  /** `ignoreMerges`: a piece that is itself a token is taken as it is. Every byte must be a token. */
  private constructor({ tokens, pairs }: BpeTables, ignoreMerges: boolean) {
    this.#tokens = tokens;
    this.#pairs = pairs;
    this.#byteIds = Int32Array.from(BYTE_CHARS, (char) => tokens.idOf(char)!);
    this.#yields = new Uint8Array(tokens.count).fill(ignoreMerges ? ITSELF : UNTRIED);
  }

  /**
   * Null when the model is no byte-level BPE whose every byte is a token. `tables`: its vocabulary and merges where they were not parsed
   * with the rest.
   */
  static of(json: TokenizerJson, tables: BpeTables | null = null): ByteBpe | null {
    const model = bpeModelOf(json);
    const found = tables ?? (model && tablesOf(model));
    return model && found && new ByteBpe(found, model.ignore_merges === true);
  }

  /** Token ids of a piece. */
  encode(piece: string): number[] {
    const count = this.encodePart(piece, 0, piece.length);
    return Array.from(this.ids.subarray(0, count));
  }

  /** Encodes the characters of `text` from `from` to before `to`. The ids lie in {@link ByteBpe.ids}; returns how many. */
  encodePart(text: string, from: number, to: number): number {
    this.#makeRoom((to - from) * 3);
    const count = writeUtf8(text, from, to, this.#bytes);
    const entry = this.#tokens.find(this.#bytes, 0, count);
    if (entry === NO_TOKEN) return this.#merge(count);
    if (this.#yields[entry] !== ITSELF) {
      const merged = this.#merge(count);
      if (this.#yields[entry] === UNTRIED) this.#yields[entry] = merged === 1 ? ITSELF : OTHERS;
      return merged;
    }
    this.ids[0] = this.#tokens.idAt(entry);
    return 1;
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes.length >= bytes) return;
    this.#bytes = new Uint8Array(bytes * 2);
    this.ids = new Int32Array(bytes * 2);
    this.#ranks = new Int32Array(bytes * 2);
    this.#next = new Int32Array(bytes * 2);
    this.#previous = new Int32Array(bytes * 2);
  }

  /** Merges the first `count` bytes. */
  #merge(count: number): number {
    for (let i = 0; i < count; i++) this.ids[i] = this.#byteIds[this.#bytes[i]!]!;
    return count <= SCAN_UP_TO ? this.#mergeByScan(count) : this.#mergeByHeap(count);
  }

  #mergeByScan(count: number): number {
    const { ids } = this;
    const ranks = this.#ranks;
    const pairs = this.#pairs;
    for (let i = 0; i < count - 1; i++) ranks[i] = pairs.rank(ids[i]!, ids[i + 1]!);
    for (let left = count; ; left--) {
      let best = NO_PAIR;
      let at = NONE;
      for (let i = 0; i < left - 1; i++) {
        if (ranks[i]! < best) {
          best = ranks[i]!;
          at = i;
        }
      }
      if (at === NONE) return left;
      ids[at] = pairs.merged(best);
      for (let i = at + 1; i < left - 1; i++) {
        ids[i] = ids[i + 1]!;
        ranks[i - 1] = ranks[i]!;
      }
      if (at > 0) ranks[at - 1] = pairs.rank(ids[at - 1]!, ids[at]!);
      if (at < left - 2) ranks[at] = pairs.rank(ids[at]!, ids[at + 1]!);
    }
  }

  /** Symbols as a linked list, pairs in a heap by rank and place; an entry whose pair has gone is passed over. */
  #mergeByHeap(count: number): number {
    const { ids } = this;
    const next = this.#next;
    const previous = this.#previous;
    const pairs = this.#pairs;
    const heap = new MinHeap();
    const offer = (at: number): void => {
      if (at === NONE || next[at] === NONE) return;
      const rank = pairs.rank(ids[at]!, ids[next[at]!]!);
      if (rank !== NO_PAIR) heap.push(rank * POSITIONS + at);
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
      const rank = Math.floor(entry / POSITIONS);
      if (pairs.rank(ids[at]!, ids[after]!) !== rank) continue;
      ids[at] = pairs.merged(rank);
      ids[after] = NONE;
      next[at] = next[after]!;
      if (next[after] !== NONE) previous[next[after]!] = at;
      offer(previous[at]!);
      offer(at);
    }
    let left = 0;
    for (let at = 0; at !== NONE; at = next[at]!) ids[left++] = ids[at]!;
    return left;
  }
}
