/**
 * A small seeded generator for texts, jitter and faults (mulberry32: 32-bit state, one multiplication pair per draw). The mock
 * needs draws that are cheap and the same in each run, not draws of statistical quality.
 */
export class Rng {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** A whole number 0..2^32-1. */
  nextU32(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    return this.nextU32() / 4294967296;
  }

  /** A whole number 0..n-1 (the bias of the multiplication method is below 2^-20 for the n used here). */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }
}

/** Seed of one stream, mixed from the server's seed and the stream's numbers so that neighbours do not resemble each other. */
export function mixSeed(seed: number, a: number, b: number): number {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13) ^ a, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 16) ^ b, 0x27d4eb2f);
  return (h ^ (h >>> 15)) >>> 0;
}
