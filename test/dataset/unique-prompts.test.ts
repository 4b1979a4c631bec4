import { describe, expect, it } from 'vitest';
import { loadSamples } from '../../src/dataset/load.ts';
import type { SampleRequest } from '../../src/dataset/sample.ts';
import { withNonce, withNonces } from '../../src/dataset/unique-prompts.ts';
import { requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const sample = (prompt: SampleRequest['prompt'], promptLen: number): SampleRequest => ({
  prompt,
  promptLen,
  outputLen: 9,
  requestId: 'r-0',
});

describe('withNonces', () => {
  it('puts another nonce before each prompt and counts what it adds', async () => {
    // As a data set whose lengths are without special tokens has it: only the growth is added.
    const samples = [sample('a b', 2), sample('a b', 7), sample(['c', 'd e'], 3)];
    expect(await withNonces(samples, 'f00d', wordCounter())).toEqual([
      sample('f00d-0: a b', 3),
      sample('f00d-1: a b', 8),
      sample(['f00d-2-0: c', 'f00d-2-1: d e'], 5),
    ]);
  });

  it('keeps lengths without a tokenizer', async () => {
    expect(await withNonces([sample('a', 1)], 'n', null)).toEqual([sample('n-0: a', 1)]);
  });

  it('puts it into the first text of messages', () => {
    const image = { type: 'image_url', image_url: { url: 'x' } };
    const text = { type: 'text', text: 'hi' };
    const messages = [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: [text] },
    ];
    expect(withNonce(messages, 'n')).toEqual([{ role: 'system', content: 'n: be kind' }, messages[1]]);
    expect(withNonce([{ role: 'user', content: [image, text] }], 'n')).toEqual([
      { role: 'user', content: [image, { type: 'text', text: 'n: hi' }] },
    ]);
    expect(withNonce([{ role: 'user', content: [image] }], 'n')).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'n: ' }, image] },
    ]);
  });

  it('cannot do so with token ids', () => {
    expect(() => withNonce([1, 2], 'n')).toThrow(/^--unique-prompts: the prompts are token ids/);
  });
});

describe('loadSamples', () => {
  it('makes prompts unique that oversampling has repeated', async () => {
    const path = scratchFile(scratchFolder(), 'one.jsonl', '{"prompt": "a b"}');
    const request = requestFor({ name: 'custom', path, numPrompts: 5, skipChatTemplate: true, uniqueNonce: 'n' });
    const { samples } = await loadSamples(request, wordCounter());
    expect(samples.map(({ prompt }) => prompt)).toEqual([0, 1, 2, 3, 4].map((i) => `n-${i}: a b`));
    expect(samples.map(({ promptLen }) => promptLen)).toEqual([3, 3, 3, 3, 3]);
  });
});
