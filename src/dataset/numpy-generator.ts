/**
 * numpy's `np.random.default_rng(seed)`: SeedSequence feeding PCG64 (O'Neill's PCG XSL-RR 128/64), as far as the random data set
 * uses it. numpy guarantees the bit stream of PCG64, and `integers` has been the same since 1.17.
 */

/** PCG64's multiplier 0x2360ed051fc65da44385df649fccf645 in 16-bit limbs, lowest first. */
const MULTIPLIER = [0xf645, 0x9fcc, 0xdf64, 0x4385, 0x5da4, 0x1fc6, 0xed05, 0x2360] as const;
const LIMBS = 8;

/** A 128-bit number as eight 16-bit limbs, lowest first: their products and sums stay exact in doubles, so no BigInt is needed. */
type Limbs = Float64Array;

/** A generator of 32-bit words and of whole numbers in a range. */
export class NumpyGenerator {
  readonly #state: Limbs = new Float64Array(LIMBS);
  readonly #increment: Limbs;
  readonly #product: Limbs = new Float64Array(LIMBS);
  /** The high half of a 64-bit output whose low half has been handed out; −1 when there is none. */
  #spare = -1;

  /** `default_rng(seed)` with a whole number from 0 to 2^32 − 1. */
  constructor(seed: number) {
    if (!(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32)) throw new RangeError(`default_rng(${seed})`);
    // Eight words are four 64-bit numbers, low word first: state high, state low, increment high, increment low.
    const words = seedWords(seed, LIMBS);
    const start = limbsOf([words[2]!, words[3]!, words[0]!, words[1]!]);
    this.#increment = oddIncrement(limbsOf([words[6]!, words[7]!, words[4]!, words[5]!]));
    this.#step();
    addTo(this.#state, start);
    this.#step();
  }

  /** The next 32 random bits: the low half of a fresh 64-bit output, then its high half. */
  next32(): number {
    if (this.#spare >= 0) {
      const high = this.#spare;
      this.#spare = -1;
      return high;
    }
    this.#step();
    const s = this.#state;
    const high = (word(s, 6) ^ word(s, 2)) >>> 0;
    const low = (word(s, 4) ^ word(s, 0)) >>> 0;
    const turn = s[7]! >>> 10;
    const [first, second] = turn < 32 ? [low, high] : [high, low];
    const by = turn & 31;
    this.#spare = rotated(second, first, by);
    return rotated(first, second, by);
  }

  /**
   * `integers(low, high)`: a whole number in [low, high), by Lemire's multiplication (2019) on 32-bit words; a range of one number
   * draws nothing. Throws RangeError when the range is empty or wider than 2^32 − 1.
   */
  integer(low: number, high: number): number {
    const range = high - low;
    if (!(range >= 1 && range < 2 ** 32)) throw new RangeError(`integers(${low}, ${high}): low must be below high`);
    if (range === 1) return low;
    let draw = this.next32();
    let rest = Math.imul(draw, range) >>> 0;
    if (rest < range) {
      const threshold = (2 ** 32 - range) % range;
      while (rest < threshold) {
        draw = this.next32();
        rest = Math.imul(draw, range) >>> 0;
      }
    }
    return low + highWord(draw, range, rest);
  }

  /** `integers(low, high, size=size)`. */
  integers(low: number, high: number, size: number): number[] {
    return Array.from({ length: size }, () => this.integer(low, high));
  }

  /** `permutation(n)`: the numbers from 0 to n − 1, shuffled from the end by rejection of masked words (not by `integers`). */
  permutation(n: number): number[] {
    const numbers = Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const unused = Math.clz32(i);
      let j = (this.next32() << unused) >>> unused;
      while (j > i) j = (this.next32() << unused) >>> unused;
      const kept = numbers[i]!;
      numbers[i] = numbers[j]!;
      numbers[j] = kept;
    }
    return numbers;
  }

  /** state = state · multiplier + increment, modulo 2^128. */
  #step(): void {
    const state = this.#state;
    const product = this.#product;
    let carry = 0;
    for (let k = 0; k < LIMBS; k++) {
      let sum = this.#increment[k]! + carry;
      for (let i = 0; i <= k; i++) sum += state[i]! * MULTIPLIER[k - i]!;
      carry = Math.floor(sum / 65536);
      product[k] = sum - carry * 65536;
    }
    state.set(product);
  }
}

/** The upper 32 bits of a · b, whose lower 32 bits are `low`. */
function highWord(a: number, b: number, low: number): number {
  // Two 48-bit products, so that nothing is rounded: a · b = top · 2^16 + bottom.
  const bottom = a * (b & 0xffff);
  const top = a * (b >>> 16);
  return (top + (bottom - (bottom % 65536)) / 65536 - (low >>> 16)) / 65536;
}

/** The low word of (high:low) rotated right by 0 to 31 bits. */
function rotated(low: number, high: number, by: number): number {
  return by === 0 ? low : ((low >>> by) | (high << (32 - by))) >>> 0;
}

/** The 32-bit word that starts at limb `i`. */
function word(limbs: Limbs, i: number): number {
  return limbs[i]! | (limbs[i + 1]! << 16);
}

/** Limbs of four 32-bit words, lowest first. */
function limbsOf(words: readonly number[]): Limbs {
  return Float64Array.from({ length: LIMBS }, (_, i) => (words[i >> 1]! >>> (16 * (i & 1))) & 0xffff);
}

/** 2 · sequence + 1. */
function oddIncrement(sequence: Limbs): Limbs {
  return sequence.map((limb, i) => ((limb << 1) & 0xffff) | (i === 0 ? 1 : sequence[i - 1]! >>> 15));
}

function addTo(target: Limbs, other: Limbs): void {
  let carry = 0;
  for (let i = 0; i < LIMBS; i++) {
    const sum = target[i]! + other[i]! + carry;
    carry = sum >= 65536 ? 1 : 0;
    target[i] = sum & 0xffff;
  }
}

const POOL_WORDS = 4;

/** `SeedSequence(seed).generate_state(count)` for a seed of one 32-bit word (O'Neill's seed_seq_fe hash). */
function seedWords(seed: number, count: number): readonly number[] {
  const hash = hasher(0x43b0d7e5, 0x931e8875);
  const pool = Array.from({ length: POOL_WORDS }, (_, i) => hash(i === 0 ? seed : 0));
  for (let from = 0; from < POOL_WORDS; from++) {
    for (let to = 0; to < POOL_WORDS; to++) if (to !== from) pool[to] = mixed(pool[to]!, hash(pool[from]!));
  }
  const out = hasher(0x8b51f9dd, 0x58f38ded);
  return Array.from({ length: count }, (_, i) => out(pool[i % POOL_WORDS]!));
}

/** A hash of words whose constant goes on with each word. */
function hasher(start: number, multiplier: number): (value: number) => number {
  let constant = start;
  return (value) => {
    const flipped = value ^ constant;
    constant = Math.imul(constant, multiplier);
    const scaled = Math.imul(flipped, constant);
    return (scaled ^ (scaled >>> 16)) >>> 0;
  };
}

function mixed(x: number, y: number): number {
  const sum = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
  return (sum ^ (sum >>> 16)) >>> 0;
}
