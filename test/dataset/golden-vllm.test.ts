/** The vectors recorded from vLLM 0.30.0 (Python) of the generated data sets, custom prompts, sonnet and burstgpt. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ignoresEos } from '../../src/dataset/facts.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { writeManifest } from '../../src/dataset/manifest.ts';
import { NumpyGenerator } from '../../src/dataset/numpy-generator.ts';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import { goldenCases } from '../support/fixtures.ts';
import { requestOfArgv } from './argv.ts';
import { bosFolder, modelFolder, scratchFolder } from './support.ts';

interface GoldenCase {
  readonly name: string;
  readonly mode: string;
  readonly tokenizer: string;
  readonly argv: readonly string[];
  readonly count?: number;
  readonly ignore_eos?: boolean;
  readonly request_ids?: string | null;
  readonly manifest_tsv?: string;
  readonly first_prompts?: readonly unknown[];
  readonly py_random_next3?: readonly number[];
  readonly np_random_next3?: readonly number[];
  readonly debug?: {
    readonly input_lens: readonly number[];
    readonly output_lens: readonly number[];
    readonly offsets: readonly number[];
    readonly vocab_size: number;
    readonly num_special_tokens_to_add: number;
  };
  readonly error?: { readonly type: string; readonly message: string };
}

const NAMES = /^(random|custom|sonnet|prefix_repetition|burstgpt)\//;
const cases = goldenCases<GoldenCase>('datasets').filter((c) => NAMES.test(c.name));

/** What the message must say in the cases that vLLM refuses. */
const REFUSALS: Readonly<Record<string, RegExp>> = {
  'random/bos_1_1': /^--random-input-len 1 is too small: with 1 special tokens, .* a prompt could have 0 tokens$/,
  'random/err_len0': /^--random-input-len 0 is too small: with 0 special tokens, .* a prompt could have 0 tokens$/,
  'random/err_seed_too_big': /^--seed 4294967296 is not a whole number from 0 to 4294967295$/,
  'random/err_seed_negative': /^--seed -1 is not a whole number from 0 to 4294967295$/,
  'custom/numeric_prompt': /custom_numeric_prompt\.jsonl, line 1: the prompt "123" is a number/,
  'custom/no_prompt_column': /custom_no_prompt\.jsonl: no row has a "prompt"/,
  'sonnet/err_short': /^--sonnet-input-len 10: the shortest prompt has 20 tokens/,
  'prefix_repetition/err_too_few': /^--num-prompts 3 .*--prefix-repetition-num-prefixes 5/,
};

describe('vectors recorded from vLLM 0.30.0', () => {
  const tokenizers = new Map<string, LocalTokenizer>();
  beforeAll(async () => {
    tokenizers.set('qwen3', await openLocalTokenizer(modelFolder('qwen3'), 'qwen3'));
    tokenizers.set('bos', await openLocalTokenizer(bosFolder(scratchFolder()), 'bos'));
  });
  afterAll(() => Promise.all([...tokenizers.values()].map((tokenizer) => tokenizer.close())));

  it('are there', () => {
    expect(cases.length).toBeGreaterThanOrEqual(37);
  });

  it('are all there are, with those of ShareGPT and Spec-Bench', () => {
    const others = goldenCases<GoldenCase>('datasets').filter(({ name }) => !NAMES.test(name));
    expect(others.filter(({ name }) => !/^(sharegpt|spec_bench)\//.test(name))).toEqual([]);
  });

  it.each(cases.filter((c) => c.error === undefined))('$name', async (c) => {
    const request = requestOfArgv(c.argv, c.mode, 'golden/');
    const loaded = await loadSamples(request, tokenizers.get(c.tokenizer)!);
    expect(ignoresEos(loaded.name, request.backend)).toBe(c.ignore_eos);
    const first = c.first_prompts ?? [];
    expect(loaded.samples.slice(0, first.length).map((sample) => sample.prompt)).toEqual(first);
    let manifest = '';
    await writeManifest(loaded.samples, (chunk) => {
      manifest += chunk;
    });
    expect(manifest).toBe(c.manifest_tsv);
    expect(loaded.samples).toHaveLength(c.count!);
    expect(loaded.samples.map((sample) => sample.requestId)).toEqual(
      loaded.samples.map((_, i) => (c.request_ids === null ? null : `r-${i}`)),
    );
    const { pyRandom, npRandom } = loaded;
    expect([pyRandom.random(), pyRandom.random(), pyRandom.random()]).toEqual(c.py_random_next3);
    expect([npRandom.random(), npRandom.random(), npRandom.random()]).toEqual(c.np_random_next3);
  });

  it.each(cases.filter((c) => c.debug !== undefined))('$name draws lengths and offsets as recorded', (c) => {
    const { seed, randomInputLen, randomOutputLen, randomRangeRatio } = requestOfArgv(c.argv, c.mode, '');
    const debug = c.debug!;
    const generator = new NumpyGenerator(seed);
    const draw = (mean: number, ratio: number, least: number, recorded: readonly number[]) => {
      const low = Math.max(least, Math.floor(mean * (1 - ratio)));
      const high = Math.max(least, Math.ceil(mean * (1 + ratio)));
      expect(generator.integers(low, high + 1, recorded.length)).toEqual(recorded);
    };
    draw(randomInputLen - debug.num_special_tokens_to_add, randomRangeRatio.input, 0, debug.input_lens);
    draw(randomOutputLen, randomRangeRatio.output, 1, debug.output_lens);
    expect(generator.integers(0, debug.vocab_size, debug.offsets.length)).toEqual(debug.offsets);
  });

  it.each(cases.filter((c) => c.error !== undefined))('$name fails, with the remedy', async (c) => {
    await expect(
      loadSamples(requestOfArgv(c.argv, c.mode, 'golden/'), tokenizers.get(c.tokenizer)!),
    ).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(REFUSALS[c.name] ?? /a refusal without a pattern/),
    });
  });
});
