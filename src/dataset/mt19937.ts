/**
 * The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998, the 2002 reference code), the generator behind both Python's
 * `random` and numpy's legacy `np.random`. The two differ only in how a seed fills the state and in how words become numbers, so
 * both are built on this class.
 */
const N = 624;
const M = 397;
const MATRIX_A = 0x9908b0df;

/** State of one generator: 624 words and a position. */
export class Mt19937 {
  readonly #state = new Uint32Array(N);
  #next = N;

  /** Fills the state from one 32-bit word (`init_genrand`): how numpy's `RandomState(int)` seeds. */
  initGenrand(seed: number): void {
    const state = this.#state;
    state[0] = seed >>> 0;
    for (let i = 1; i < N; i++) {
      const previous = state[i - 1]! ^ (state[i - 1]! >>> 30);
      state[i] = (Math.imul(1812433253, previous) + i) >>> 0;
    }
    this.#next = N;
  }

  /** Fills the state from any number of 32-bit words (`init_by_array`): how Python's `random.seed(int)` seeds. */
  initByArray(key: readonly number[]): void {
    this.initGenrand(19650218);
    const state = this.#state;
    let i = 1;
    let j = 0;
    const step = (multiplier: number, added: number) => {
      const previous = state[i - 1]! ^ (state[i - 1]! >>> 30);
      state[i] = ((state[i]! ^ Math.imul(previous, multiplier)) + added) >>> 0;
      i++;
      if (i >= N) {
        state[0] = state[N - 1]!;
        i = 1;
      }
    };
    for (let k = Math.max(N, key.length); k > 0; k--) {
      step(1664525, key[j]! + j);
      j = j + 1 >= key.length ? 0 : j + 1;
    }
    for (let k = N - 1; k > 0; k--) step(1566083941, -i);
    state[0] = 0x80000000;
  }

  /** The next 32 random bits, as a number from 0 to 2^32 − 1. */
  next32(): number {
    if (this.#next >= N) this.#twist();
    let y = this.#state[this.#next++]!;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  /** A double in [0, 1) with 53 random bits from two words (`genrand_res53`), as both Python and numpy make it. */
  nextDouble(): number {
    const high = this.next32() >>> 5;
    const low = this.next32() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  /** An independent generator in the same state. */
  clone(): Mt19937 {
    const copy = new Mt19937();
    copy.#state.set(this.#state);
    copy.#next = this.#next;
    return copy;
  }

  #twist(): void {
    const state = this.#state;
    for (let i = 0; i < N; i++) {
      const y = (state[i]! & 0x80000000) | (state[(i + 1) % N]! & 0x7fffffff);
      state[i] = state[(i + M) % N]! ^ (y >>> 1) ^ (y & 1 ? MATRIX_A : 0);
    }
    this.#next = 0;
  }
}
