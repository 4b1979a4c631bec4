import { describe, expect, it } from 'vitest';
import { PythonRandom } from '../../src/dataset/python-random.ts';
import { drawLora } from '../../src/schedule/lora.ts';

describe('drawLora', () => {
  it("draws as Python's random.choice", () => {
    // CPython 3.11: random.seed(3); [random.choice(['a', 'b', 'c']) for _ in range(12)]; random.random()
    const random = new PythonRandom(3);
    expect(drawLora(random, ['a', 'b', 'c'], 'random', 12).join('')).toBe('accabcbccaca');
    expect(random.random()).toBe(0.9088184001853248);
  });

  it('goes round without drawing', () => {
    const random = new PythonRandom(3);
    expect(drawLora(random, ['a', 'b', 'c'], 'round-robin', 5)).toEqual(['a', 'b', 'c', 'a', 'b']);
    expect(random.random()).toBe(new PythonRandom(3).random());
  });

  it('has nothing to draw without modules', () => {
    expect(drawLora(new PythonRandom(3), [], 'random', 5)).toEqual([]);
  });
});
