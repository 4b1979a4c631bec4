/** numpy's generators against values recorded from numpy 2.4.6. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NumpyGenerator } from '../../src/dataset/numpy-generator.ts';
import { NumpyRandom } from '../../src/dataset/numpy-random.ts';
import recorded from '../fixtures/numpy/random.json' with { type: 'json' };

type Draws = readonly [number, number, readonly number[]];

/** Equal but for the last bits of `log` and `pow`. */
function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [i, value] of expected.entries()) {
    expect(Math.abs(actual[i]! - value)).toBeLessThanOrEqual(1e-13 * Math.abs(value));
  }
}

const hashOf = (numbers: readonly number[]) =>
  createHash('sha256')
    .update(Buffer.from(Uint32Array.from(numbers).buffer))
    .digest('hex');

describe('NumpyRandom (legacy np.random)', () => {
  it.each(recorded.legacy)('seed $seed', (c) => {
    const random = new NumpyRandom(c.seed);
    expect(c.random.map(() => random.random())).toEqual(c.random);
    for (const [low, high, numbers] of c.randint as unknown as Draws[]) {
      expect(random.randints(low, high, numbers.length)).toEqual(numbers);
    }
    expect(random.permutation(c.permutation.length)).toEqual(c.permutation);
    expect(random.choice(100, c.choice.length, false)).toEqual(c.choice);
    expect(random.choice(100, c.choiceReplaced.length, true)).toEqual(c.choiceReplaced);
    expectClose(
      c.gauss.map(() => random.gauss()),
      c.gauss,
    );
    for (const [shape, scale, values] of c.gamma as unknown as Draws[]) {
      expectClose(
        values.map(() => random.gamma(shape, scale)),
        values,
      );
    }
    expectClose(
      c.gaussAfter.map(() => random.gauss()),
      c.gaussAfter,
    );
    expect(c.last.map(() => random.random())).toEqual(c.last);
  });

  it('stays right over a long stream', () => {
    const { seed, low, high, size, sha256 } = recorded.long.legacy;
    expect(hashOf(new NumpyRandom(seed).randints(low, high, size))).toBe(sha256);
  });

  it('a clone goes on as the original does, the kept half of a Gauss pair included', () => {
    const random = new NumpyRandom(3);
    random.gauss();
    const copy = random.clone();
    const ahead = [random.gauss(), random.gauss(), random.random()];
    expect([copy.gauss(), copy.gauss(), copy.random()]).toEqual(ahead);
  });

  it('seeding forgets the kept half of a Gauss pair', () => {
    const random = new NumpyRandom(3);
    random.gauss();
    random.seed(3);
    expect(random.gauss()).toBe(new NumpyRandom(3).gauss());
  });

  it.each([-1, 2 ** 32, 0.5, Number.NaN])('refuses the seed %s', (seed) => {
    expect(() => new NumpyRandom(seed)).toThrow('Seed must be between 0 and 2**32 - 1');
  });

  it('refuses ranges, sizes and shapes that numpy refuses', () => {
    const random = new NumpyRandom(0);
    expect(() => random.randint(3, 3)).toThrow(RangeError);
    expect(() => random.choice(3, 4, false)).toThrow(RangeError);
    expect(() => random.gamma(-1)).toThrow(RangeError);
    expect(() => random.gamma(1, -1)).toThrow(RangeError);
  });
});

describe('NumpyGenerator (np.random.default_rng)', () => {
  it.each(recorded.generator)('seed $seed', (c) => {
    const generator = new NumpyGenerator(c.seed);
    for (const [low, high, numbers] of c.steps as unknown as Draws[]) {
      expect(generator.integers(low, high, numbers.length)).toEqual(numbers);
    }
  });

  it('stays right over a long stream', () => {
    const { seed, low, high, size, sha256 } = recorded.long.generator;
    expect(hashOf(new NumpyGenerator(seed).integers(low, high, size))).toBe(sha256);
  });

  it('stays in the range, and draws nothing for a range of one number', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        fc.integer({ min: -1000, max: 1000 }),
        fc.integer({ min: 1, max: 2 ** 32 - 1 }),
        (seed, low, range) => {
          const generator = new NumpyGenerator(seed);
          const twin = new NumpyGenerator(seed);
          expect(twin.integer(low, low + 1)).toBe(low);
          const value = generator.integer(low, low + range);
          expect(value).toBeGreaterThanOrEqual(low);
          expect(value).toBeLessThan(low + range);
          expect(twin.integer(low, low + range)).toBe(value);
        },
      ),
    );
  });

  it('refuses empty and too wide ranges, and other seeds', () => {
    const generator = new NumpyGenerator(0);
    expect(() => generator.integer(3, 3)).toThrow(RangeError);
    expect(() => generator.integer(0, 2 ** 32)).toThrow(RangeError);
    expect(() => new NumpyGenerator(-1)).toThrow(RangeError);
    expect(() => new NumpyGenerator(2 ** 32)).toThrow(RangeError);
  });
});
