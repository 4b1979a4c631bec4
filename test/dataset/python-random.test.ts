import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PythonRandom } from '../../src/dataset/python-random.ts';
import recorded from '../fixtures/datasets/python-random.json' with { type: 'json' };

const range = (n: number) => Array.from({ length: n }, (_, i) => i);

describe('PythonRandom against values recorded from CPython 3.11', () => {
  for (const c of recorded.cases) {
    const fresh = () => new PythonRandom(BigInt(c.seed));
    describe(`seed ${c.seed}`, () => {
      it('random()', () => {
        const random = fresh();
        const values = range(701).map(() => random.random());
        expect([...values.slice(0, 3), values[700]]).toEqual(c.random);
      });
      it('getrandbits()', () => {
        const random = fresh();
        for (const [bits, value] of c.getrandbits) expect(random.getrandbits(bits!)).toBe(value);
      });
      it('randbelow()', () => {
        const random = fresh();
        for (const [n, value] of c.randbelow) expect(random.randbelow(n!)).toBe(value);
      });
      it('shuffle()', () => {
        for (const n of [0, 1, 2, 3, 10, 1000] as const) {
          const items = range(n);
          fresh().shuffle(items);
          expect(n < 50 ? items : items.slice(0, 10)).toEqual(c[`shuffle${n}`]);
        }
      });
      it('choice() and choices()', () => {
        const random = fresh();
        expect(range(8).map(() => random.choice(range(94145)))).toEqual(c.choice);
        expect(fresh().choices(range(517), 8)).toEqual(c.choices);
      });
      it('sample(), from a pool and by a set, and the state it leaves', () => {
        for (const [n, k, picked, after] of c.sample as [number, number, number[], number][]) {
          const random = fresh();
          expect(random.sample(range(n), k)).toEqual(picked);
          expect(random.random()).toBe(after);
        }
      });
    });
  }
});

describe('PythonRandom', () => {
  it('a number and a bigint seed are the same seed, and so are s and -s', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (seed) => {
        const value = new PythonRandom(seed).random();
        expect(new PythonRandom(BigInt(seed)).random()).toBe(value);
        expect(new PythonRandom(-BigInt(seed)).random()).toBe(value);
      }),
      { numRuns: 50 },
    );
  });
  it('shuffle permutes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.nat(), (items, seed) => {
        const shuffled = [...items];
        new PythonRandom(seed).shuffle(shuffled);
        expect(shuffled.toSorted()).toEqual(items.toSorted());
      }),
    );
  });
  it('a clone goes on from the same state and leaves the original alone', () => {
    const random = new PythonRandom(3);
    random.random();
    const copy = random.clone();
    const ahead = [copy.random(), copy.random()];
    expect([random.random(), random.random()]).toEqual(ahead);
  });
  it('refuses an empty list and an impossible range', () => {
    const random = new PythonRandom(0);
    expect(() => random.choice([])).toThrow('empty sequence');
    expect(() => random.choices([], 1)).toThrow('empty sequence');
    expect(() => random.sample([1], 2)).toThrow('larger than population');
    expect(() => random.randbelow(0)).toThrow(RangeError);
  });
});
