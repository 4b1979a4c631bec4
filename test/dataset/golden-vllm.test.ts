/** The vectors recorded from vLLM 0.30.0 (Python) of the generated data sets, custom prompts, sonnet and burstgpt. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataSetName, DataSetRequest } from '../../src/dataset/data-set.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { writeManifest } from '../../src/dataset/manifest.ts';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import { goldenCases } from '../support/fixtures.ts';
import { bosFolder, fixture, modelFolder, requestFor, scratchFolder } from './support.ts';

interface GoldenCase {
  readonly name: string;
  readonly mode: string;
  readonly tokenizer: string;
  readonly argv: readonly string[];
  readonly count?: number;
  readonly request_ids?: string | null;
  readonly manifest_tsv?: string;
  readonly first_prompts?: readonly unknown[];
  readonly py_random_next3?: readonly number[];
  readonly np_random_next3?: readonly number[];
  readonly error?: { readonly type: string; readonly message: string };
}

const NAMES = /^(random|custom|sonnet|prefix_repetition|burstgpt)\//;
const cases = goldenCases<GoldenCase>('datasets').filter((c) => NAMES.test(c.name));

/** What the options of the recorded command line ask for; `--output-len` is not among them. */
function requestOf({ mode, argv }: GoldenCase): DataSetRequest {
  const value = (flag: string) => (argv.includes(flag) ? argv[argv.indexOf(flag) + 1]! : null);
  const number = (flag: string, key: string) => (value(flag) === null ? {} : { [key]: Number(value(flag)) });
  const path = value('--dataset-path');
  const ratio = Number(value('--random-range-ratio') ?? 0);
  return requestFor({
    name: value('--dataset-name') as DataSetName,
    path: path === null ? null : fixture(`golden/${path}`),
    mode: mode as 'shim' | 'stock',
    backend: value('--backend') ?? 'openai',
    disableShuffle: argv.includes('--disable-shuffle'),
    noOversample: argv.includes('--no-oversample'),
    enableMultimodalChat: argv.includes('--enable-multimodal-chat'),
    skipChatTemplate: argv.includes('--skip-chat-template'),
    chatTemplateKwargs: JSON.parse(value('--chat-template-kwargs') ?? 'null') as Record<string, unknown> | null,
    randomRangeRatio: { input: ratio, output: ratio },
    ...number('--num-prompts', 'numPrompts'),
    ...number('--seed', 'seed'),
    ...number('--custom-output-len', 'customOutputLen'),
    ...number('--random-input-len', 'randomInputLen'),
    ...number('--random-output-len', 'randomOutputLen'),
    ...number('--random-prefix-len', 'randomPrefixLen'),
    ...number('--random-batch-size', 'randomBatchSize'),
    ...number('--sonnet-input-len', 'sonnetInputLen'),
    ...number('--sonnet-output-len', 'sonnetOutputLen'),
    ...number('--sonnet-prefix-len', 'sonnetPrefixLen'),
    ...number('--prefix-repetition-prefix-len', 'prefixRepetitionPrefixLen'),
    ...number('--prefix-repetition-suffix-len', 'prefixRepetitionSuffixLen'),
    ...number('--prefix-repetition-num-prefixes', 'prefixRepetitionNumPrefixes'),
    ...number('--prefix-repetition-output-len', 'prefixRepetitionOutputLen'),
  });
}

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

  it.each(cases.filter((c) => c.error === undefined))('$name', async (c) => {
    const loaded = await loadSamples(requestOf(c), tokenizers.get(c.tokenizer)!);
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

  it.each(cases.filter((c) => c.error !== undefined))('$name fails, with the remedy', async (c) => {
    await expect(loadSamples(requestOf(c), tokenizers.get(c.tokenizer)!)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(REFUSALS[c.name] ?? /a refusal without a pattern/),
    });
  });
});
