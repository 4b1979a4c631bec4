import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { PythonRandom } from '../../src/dataset/python-random.ts';
import { requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();

function sample(content: string, more: Partial<DataSetRequest> = {}, tokenizer = wordCounter()) {
  const path = scratchFile(folder, 'spec.jsonl', content);
  return loadSamples(requestFor({ disableShuffle: true, ...more, name: 'spec_bench', path }), tokenizer);
}

const row = (prompt: string, category?: string) => JSON.stringify({ category, turns: [prompt, 'second'] });

describe('Spec-Bench', () => {
  it('sends the first turn as it is, with its category', async () => {
    const { samples, name } = await sample(`${row('one two', 'qa')}\r\n\n  \n${row('three\n\u2028', 'math')}`, {
      numPrompts: 2,
    });
    expect(name).toBe('spec_bench');
    expect(samples).toEqual([
      { prompt: 'one two', promptLen: 2, outputLen: 256, requestId: 'r-0', category: 'qa' },
      { prompt: 'three\n\u2028', promptLen: 1, outputLen: 256, requestId: 'r-1', category: 'math' },
    ]);
  });

  it('shuffles with seed 0 whatever --seed says, filters before that, and repeats rows when there are too few', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', undefined), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: -1, max: 40 }),
        fc.nat(100),
        fc.constantFrom(null, '', 'a'),
        async (categories, numPrompts, seed, specBenchCategory) => {
          fc.pre(specBenchCategory !== 'a' || categories.includes('a'));
          const content = categories.map((category, i) => row(`prompt ${i}`, category)).join('\n');
          const { samples, pyRandom } = await sample(content, {
            numPrompts,
            seed,
            specBenchCategory,
            disableShuffle: false,
          });

          const kept = categories.flatMap((category, i) =>
            specBenchCategory && category !== specBenchCategory ? [] : [i],
          );
          const random = new PythonRandom(0);
          random.shuffle(kept);
          const wanted = numPrompts <= 0 ? kept.length : numPrompts;
          const expected = kept.slice(0, wanted);
          if (expected.length < wanted) {
            random.seed(0);
            while (expected.length < wanted) expected.push(random.choice(kept));
          }
          expect(samples.map((s) => s.prompt)).toEqual(expected.map((i) => `prompt ${i}`));
          expect(samples.map((s) => s.requestId)).toEqual(expected.map((_, i) => `r-${i}`));
          expect(pyRandom.random()).toBe(random.random());
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    ['{"question_id": 1}', /spec\.jsonl, line 1: the row has no "turns"$/],
    [`${row('a')}\n\n{"category": "qa"}`, /line 3: the row has no "turns"$/],
    ['{"turns": "text"}', /line 1: "turns" is a text where a list of texts should be$/],
    ['{"turns": null}', /line 1: "turns" is null where/],
    ['{"turns": []}', /line 1: "turns" is an empty list where/],
    ['{"turns": [["a"]]}', /line 1: the first turn is a list, not a text$/],
    ['{"turns": [5]}', /line 1: the first turn is a number, not a text$/],
    [`${row('a')}\n5`, /line 2: a number where a JSON object should be$/],
    [`${row('a')}\n${row('b').slice(0, -4)}`, /line 2: not a JSON object$/],
    ['\n \n', /spec\.jsonl has no rows$/],
  ])('refuses %j', async (content, message) => {
    await expect(sample(content)).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });

  it('tells the categories that there are when the asked one is missing', async () => {
    await expect(sample(`${row('a', 'qa')}\n${row('b', 'math')}`, { specBenchCategory: 'Qa' })).rejects.toMatchObject({
      exitCode: 2,
      hint: 'It has math, qa.',
    });
    await expect(sample(row('a'), { specBenchCategory: 'qa' })).rejects.toMatchObject({
      hint: 'Its rows name no categories.',
    });
  });

  it('applies the chat template on the client in stock mode only, and says when there is none', async () => {
    const templated = {
      ...wordCounter(),
      encode: () => [],
      decode: () => '',
      vocabSize: 0,
      specialIds: [],
      addedIds: [],
      specialTokensAdded: 0,
      applyChatTemplate: (messages: readonly { role: string; content: string }[], options: object) =>
        `<${messages[0]?.role}> ${messages[0]?.content} ${JSON.stringify(options)}`,
    };
    const stock = await sample(row('hello'), { mode: 'stock', numPrompts: 1, skipChatTemplate: true }, templated);
    expect(stock.samples[0]).toMatchObject({ prompt: '<user> hello {"addGenerationPrompt":true}', promptLen: 3 });
    const shim = await sample(row('hello'), { mode: 'shim', numPrompts: 1 }, templated);
    expect(shim.samples[0]?.prompt).toBe('hello');
    await expect(sample(row('hello'), { mode: 'stock' })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^the tokenizer words has no chat template/),
    });
    await expect(
      sample(row('hello'), { mode: 'stock' }, { ...templated, applyChatTemplate: () => null } as never),
    ).rejects.toThrow('has no chat template');
  });
});
