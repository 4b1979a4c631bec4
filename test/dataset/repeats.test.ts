import { describe, expect, it } from 'vitest';
import { repeatedPrompts } from '../../src/dataset/repeats.ts';
import type { Prompt, SampleRequest } from '../../src/dataset/sample.ts';

const samples = (...prompts: Prompt[]): SampleRequest[] =>
  prompts.map((prompt, k) => ({ prompt, promptLen: 1, outputLen: k, requestId: null }));

describe('prompts that were sent before', () => {
  it('are counted from their second time on', () => {
    expect(repeatedPrompts([])).toEqual({ count: 0, first: null });
    expect(repeatedPrompts(samples('a', 'b', 'c'))).toEqual({ count: 0, first: null });
    expect(repeatedPrompts(samples('a', 'b', 'a', 'a'))).toEqual({ count: 2, first: 2 });
  });

  it('are compared by what they hold', () => {
    const ids = [1, 2, 3];
    expect(repeatedPrompts(samples(ids, ids, [1, 2, 3], [1, 2])).count).toBe(2);
    const chat = () => [{ role: 'user', content: 'x' }];
    expect(repeatedPrompts(samples(chat(), chat(), ['x'], ['x'])).count).toBe(2);
    // A text that looks like a list is not that list.
    expect(repeatedPrompts(samples('[1]', [1], '"x"', 'x')).count).toBe(0);
  });
});
