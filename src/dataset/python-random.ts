/**
 * Python's `random.Random` (CPython 3.8 to 3.13), replayed exactly: the same seed gives the same shuffles and choices, so that a
 * run here measures the very prompts that `vllm bench serve` would. Only what the data sets use is here.
 */
import { Mt19937 } from './mt19937.ts';

/** Largest range for which {@link PythonRandom.randbelow} stays within exact doubles. */
const MAX_RANGE = 2 ** 53;

/** One stream of random numbers, with Python's method names (in camel case). */
export class PythonRandom {
  #mt = new Mt19937();

  /** `random.seed(seed)`; any whole number, also beyond 2^53 as a bigint. */
  constructor(seed: number | bigint) {
    this.seed(seed);
  }

  /** `random.seed(seed)` for an int: the absolute value in 32-bit words, low word first, feeds `init_by_array`. */
  seed(seed: number | bigint): void {
    let rest = BigInt(seed);
    if (rest < 0n) rest = -rest;
    const key: number[] = [];
    do {
      key.push(Number(rest & 0xffffffffn));
      rest >>= 32n;
    } while (rest > 0n);
    this.#mt.initByArray(key);
  }

  /** `random.random()`: a double in [0, 1). */
  random(): number {
    return this.#mt.nextDouble();
  }

  /** `random.getrandbits(bits)` for 1 to 53 bits; wider ones are put together low word first, the last word cut to its high bits. */
  getrandbits(bits: number): number {
    if (bits <= 32) return this.#mt.next32() >>> (32 - bits);
    const low = this.#mt.next32();
    return (this.#mt.next32() >>> (64 - bits)) * 4294967296 + low;
  }

  /** `random._randbelow(n)`: a whole number in [0, n), by rejection on n's bit length. n from 1 to 2^53. */
  randbelow(n: number): number {
    if (!(n >= 1 && n < MAX_RANGE)) throw new RangeError(`randbelow(${n}): n must be from 1 to 2^53 - 1`);
    const bits = n < 4294967296 ? 32 - Math.clz32(n) : 64 - Math.clz32(Math.floor(n / 4294967296));
    let value = this.getrandbits(bits);
    while (value >= n) value = this.getrandbits(bits);
    return value;
  }

  /** `random.shuffle(items)`: in place, from the end. */
  shuffle(items: { length: number; [index: number]: unknown }): void {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.randbelow(i + 1);
      const kept = items[i];
      items[i] = items[j];
      items[j] = kept;
    }
  }

  /** `random.choice(items)`. Throws RangeError on an empty list, as Python raises IndexError. */
  choice<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('Cannot choose from an empty sequence');
    return items[this.randbelow(items.length)]!;
  }

  /** `random.choices(items, k=count)`: with replacement, one `random()` each (another draw than `choice`). */
  choices<T>(items: readonly T[], count: number): T[] {
    if (items.length === 0) throw new RangeError('Cannot choose from an empty sequence');
    return Array.from({ length: count }, () => items[Math.floor(this.random() * items.length)]!);
  }

  /** `random.sample(items, count)`: without replacement. Python picks from a pool or by a set of seen ones, whichever is smaller. */
  sample<T>(items: readonly T[], count: number): T[] {
    const n = items.length;
    if (!(count >= 0 && count <= n)) throw new RangeError('Sample larger than population or is negative');
    const setSize = 21 + (count > 5 ? 4 ** Math.ceil(Math.log(count * 3) / Math.log(4)) : 0);
    return n <= setSize ? this.#sampleFromPool(items, count) : this.#sampleBySet(items, count);
  }

  /** An independent stream in the same state. */
  clone(): PythonRandom {
    const copy = new PythonRandom(0);
    copy.#mt = this.#mt.clone();
    return copy;
  }

  #sampleFromPool<T>(items: readonly T[], count: number): T[] {
    const pool = [...items];
    return Array.from({ length: count }, (_, i) => {
      const j = this.randbelow(pool.length - i);
      const picked = pool[j]!;
      pool[j] = pool[pool.length - i - 1]!;
      return picked;
    });
  }

  #sampleBySet<T>(items: readonly T[], count: number): T[] {
    const seen = new Set<number>();
    return Array.from({ length: count }, () => {
      let j = this.randbelow(items.length);
      while (seen.has(j)) j = this.randbelow(items.length);
      seen.add(j);
      return items[j]!;
    });
  }
}
