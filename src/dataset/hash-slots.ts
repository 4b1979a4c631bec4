/**
 * Slots of hash tables with open addressing in flat arrays: each holds a number in its lower 24 bits, and above them a part of the hash of
 * what the number stands for, so that most of what is not sought is passed over without looking at it.
 */

/** The bits that hold a part of the hash. */
export const TAG = 0xff000000;

/** Slots for so many entries: a power of two. */
export function slotsFor(entries: number): number {
  return 2 ** Math.ceil(Math.log2((entries * 8) / 5 + 2));
}

/** Is it time for a larger table? From 5/8 on the ways get long. */
export function isCrowded(slots: Int32Array, entries: number): boolean {
  return entries * 8 > slots.length * 5;
}
