/** The merges of a BPE model in flat arrays. */
import { isCrowded, slotsFor, TAG } from './hash-slots.ts';

/** Greater than any rank: no such pair. */
export const NO_PAIR = 0x7fffffff;

/** Pairs of token ids that merge. The rank of a pair is its place in the order of the file. */
export class PairTable {
  /** Left and right of each rank, side by side. */
  #pairs: Int32Array<ArrayBuffer>;
  #merged: Int32Array<ArrayBuffer>;
  /** Rank + 1 of each pair, with a part of its hash; 0 for a free slot. */
  #slots: Int32Array<ArrayBuffer>;
  #count = 0;

  /** `expected`: how many merges will come, more or less. What has to grow is copied. */
  constructor(expected: number) {
    const room = Math.max(1, expected);
    this.#pairs = new Int32Array(2 * room);
    this.#merged = new Int32Array(room);
    this.#slots = new Int32Array(slotsFor(expected));
  }

  /** The next merge: `left` and `right` become `merged`. Of a pair that comes twice the later rank counts, as in the libraries. */
  add(left: number, right: number, merged: number): void {
    const rank = this.#count++;
    if (this.#count > ~TAG) throw new Error('too many merges');
    if (rank === this.#merged.length) {
      this.#merged = grown(this.#merged);
      this.#pairs = grown(this.#pairs);
    }
    this.#pairs[2 * rank] = left;
    this.#pairs[2 * rank + 1] = right;
    this.#merged[rank] = merged;
    const hash = hashOf(left, right);
    this.#slots[this.#slotOf(this.#slots, hash, left, right)] = (hash & TAG) | (rank + 1);
    if (isCrowded(this.#slots, this.#count)) this.#rehash();
  }

  /** Rank of a pair, or NO_PAIR. */
  rank(left: number, right: number): number {
    const held = this.#slots[this.#slotOf(this.#slots, hashOf(left, right), left, right)]!;
    return held === 0 ? NO_PAIR : (held & ~TAG) - 1;
  }

  /** What the pair of this rank becomes. */
  merged(rank: number): number {
    return this.#merged[rank]!;
  }

  /** The slot of a pair, or the free one where it belongs. */
  #slotOf(slots: Int32Array, hash: number, left: number, right: number): number {
    const pairs = this.#pairs;
    const mask = slots.length - 1;
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const held = slots[slot]!;
      if (held === 0) return slot;
      if (((held ^ hash) & TAG) !== 0) continue;
      const at = 2 * ((held & ~TAG) - 1);
      if (pairs[at] === left && pairs[at + 1] === right) return slot;
    }
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    for (const held of this.#slots) {
      if (held === 0) continue;
      const at = 2 * ((held & ~TAG) - 1);
      const left = this.#pairs[at]!;
      const right = this.#pairs[at + 1]!;
      slots[this.#slotOf(slots, hashOf(left, right), left, right)] = held;
    }
    this.#slots = slots;
  }
}

function hashOf(left: number, right: number): number {
  const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
