/**
 * numpy's legacy `np.random` / `RandomState` (MT19937), replayed exactly: the stream behind vLLM's arrival times, the tokens of
 * prefix_repetition and the rows of burstgpt. numpy froze this stream in 1.17, so it is the same in every later version.
 *
 * Whole numbers are exact. What goes through `log` or `pow` may differ in the last bit, since V8's differ from glibc's.
 */
import { Mt19937 } from './mt19937.ts';

/** The widest range that is drawn from one 32-bit word. */
const WORD = 2 ** 32;

/** One stream of random numbers, with numpy's method names (in camel case). */
export class NumpyRandom {
  #mt = new Mt19937();
  /** The second value of a pair from {@link gauss}, kept for the next call as numpy keeps it; null when there is none. */
  #spareGauss: number | null = null;

  /** `np.random.seed(seed)` with a whole number from 0 to 2^32 − 1. Throws RangeError on any other, as numpy raises ValueError. */
  constructor(seed: number) {
    this.seed(seed);
  }

  /** Starts the stream anew. */
  seed(seed: number): void {
    if (!(Number.isInteger(seed) && seed >= 0 && seed < WORD)) {
      throw new RangeError('Seed must be between 0 and 2**32 - 1');
    }
    this.#mt.initGenrand(seed);
    this.#spareGauss = null;
  }

  /** `random_sample()`: a double in [0, 1). */
  random(): number {
    return this.#mt.nextDouble();
  }

  /**
   * `randint(low, high)`: a whole number in [low, high), by rejection of 32-bit words masked to the range's bits; a range of one number
   * draws nothing. Throws RangeError when the range is empty or wider than 2^32.
   */
  randint(low: number, high: number): number {
    if (!(high > low && high - low <= WORD)) throw new RangeError(`randint(${low}, ${high}): low must be below high`);
    return low + this.#upTo(high - low - 1);
  }

  /** `randint(low, high, size=size)`. */
  randints(low: number, high: number, size: number): number[] {
    return Array.from({ length: size }, () => this.randint(low, high));
  }

  /** `permutation(n)`: the numbers from 0 to n − 1, shuffled. */
  permutation(n: number): number[] {
    const numbers = Array.from({ length: n }, (_, i) => i);
    this.shuffle(numbers);
    return numbers;
  }

  /** `shuffle(items)`: in place, from the end. */
  shuffle(items: { length: number; [index: number]: unknown }): void {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.#upTo(i);
      const kept = items[i];
      items[i] = items[j];
      items[j] = kept;
    }
  }

  /** `choice(n, size, replace)` without weights: a part of a permutation, or independent draws. */
  choice(n: number, size: number, replace: boolean): number[] {
    if (replace) return this.randints(0, n, size);
    if (size > n) throw new RangeError("Cannot take a larger sample than population when 'replace=False'");
    return this.permutation(n).slice(0, size);
  }

  /** `standard_exponential()`. */
  exponential(): number {
    return -Math.log(1 - this.random());
  }

  /** `standard_normal()`: the polar method, two values at a time, the second one first. */
  gauss(): number {
    if (this.#spareGauss !== null) {
      const kept = this.#spareGauss;
      this.#spareGauss = null;
      return kept;
    }
    let x: number;
    let y: number;
    let square: number;
    do {
      x = 2 * this.random() - 1;
      y = 2 * this.random() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square === 0);
    const factor = Math.sqrt((-2 * Math.log(square)) / square);
    this.#spareGauss = factor * x;
    return factor * y;
  }

  /** `gamma(shape, scale)`. Throws RangeError on a negative shape or scale. */
  gamma(shape: number, scale = 1): number {
    if (!(shape >= 0 && scale >= 0)) throw new RangeError('shape and scale must not be negative');
    return scale * this.#standardGamma(shape);
  }

  /** An independent stream in the same state. */
  clone(): NumpyRandom {
    const copy = new NumpyRandom(0);
    copy.#mt = this.#mt.clone();
    copy.#spareGauss = this.#spareGauss;
    return copy;
  }

  #standardGamma(shape: number): number {
    if (shape === 1) return this.exponential();
    if (shape === 0) return 0;
    return shape < 1 ? this.#smallGamma(shape) : this.#largeGamma(shape);
  }

  /** Shape below 1: rejection by Ahrens and Dieter's GS (1974). */
  #smallGamma(shape: number): number {
    for (;;) {
      const u = this.random();
      const v = this.exponential();
      if (u <= 1 - shape) {
        const x = u ** (1 / shape);
        if (x <= v) return x;
      } else {
        const y = -Math.log((1 - u) / shape);
        const x = (1 - shape + shape * y) ** (1 / shape);
        if (x <= v + y) return x;
      }
    }
  }

  /** Shape above 1: Marsaglia and Tsang (2000). */
  #largeGamma(shape: number): number {
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      let x: number;
      let v: number;
      do {
        x = this.gauss();
        v = 1 + c * x;
      } while (v <= 0);
      v = v * v * v;
      const u = this.random();
      if (u < 1 - 0.0331 * (x * x) * (x * x)) return d * v;
      if (Math.log(u) < 0.5 * x * x + d * (1 - v + Math.log(v))) return d * v;
    }
  }

  /** A whole number from 0 to `max`, both included; nothing is drawn for 0. */
  #upTo(max: number): number {
    if (max === 0) return 0;
    const unused = Math.clz32(max);
    let value = (this.#mt.next32() << unused) >>> unused;
    while (value > max) value = (this.#mt.next32() << unused) >>> unused;
    return value;
  }
}
