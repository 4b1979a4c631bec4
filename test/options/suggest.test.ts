import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, suggest } from '../../src/options/suggest.ts';

describe('edit distance', () => {
  it.each([
    ['', '', 0],
    ['abc', 'abc', 0],
    ['abc', 'abd', 1],
    ['abc', 'ab', 1],
    ['abc', 'acb', 1],
    ['kitten', 'sitting', 3],
    ['', 'abc', 3],
  ])('%j %j', (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

  it('is symmetric, zero for equal words only, and at most the longer length', () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
      }),
    );
  });
});

describe('suggestion', () => {
  const known = ['max-concurrency', 'num-prompts', 'seed', 'label'];
  it.each([
    ['max-concurency', 'max-concurrency'],
    ['num-prompt', 'num-prompts'],
    ['sede', 'seed'],
    ['concurrency', 'max-concurrency'],
    ['xyzzy', undefined],
    ['x', undefined],
  ])('%s', (word, found) => expect(suggest(word, known)).toBe(found));
});
