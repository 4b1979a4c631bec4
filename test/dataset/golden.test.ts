/** The ShareGPT and Spec-Bench vectors recorded from vLLM 0.30.0 (Python). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataSetName, DataSetRequest } from '../../src/dataset/data-set.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { writeManifest } from '../../src/dataset/manifest.ts';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import recorded from '../fixtures/golden/datasets.json' with { type: 'json' };
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
  readonly error?: { readonly type: string; readonly message: string };
}

const cases = (recorded.cases as readonly GoldenCase[]).filter((c) => /^(sharegpt|spec_bench)\//.test(c.name));

function requestOf({ mode, argv }: GoldenCase): DataSetRequest {
  const value = (flag: string) => (argv.includes(flag) ? argv[argv.indexOf(flag) + 1]! : null);
  const number = (flag: string) => (value(flag) === null ? null : Number(value(flag)));
  return requestFor({
    name: value('--dataset-name') as DataSetName,
    path: fixture(`golden/${value('--dataset-path')}`),
    mode: mode as 'shim' | 'stock',
    numPrompts: number('--num-prompts')!,
    seed: number('--seed') ?? 0,
    disableShuffle: argv.includes('--disable-shuffle'),
    noOversample: argv.includes('--no-oversample'),
    enableMultimodalChat: argv.includes('--enable-multimodal-chat'),
    skipChatTemplate: argv.includes('--skip-chat-template'),
    sharegptOutputLen: number('--sharegpt-output-len'),
    specBenchOutputLen: number('--spec-bench-output-len') ?? 256,
    specBenchCategory: value('--spec-bench-category'),
  });
}

describe('vectors recorded from vLLM 0.30.0', () => {
  const tokenizers = new Map<string, LocalTokenizer>();
  beforeAll(async () => {
    tokenizers.set('qwen3', await openLocalTokenizer(modelFolder('qwen3'), 'qwen3'));
    tokenizers.set('bos', await openLocalTokenizer(bosFolder(scratchFolder()), 'bos'));
  });
  afterAll(() => Promise.all([...tokenizers.values()].map((tokenizer) => tokenizer.close())));

  it('are there', () => {
    expect(cases.length).toBeGreaterThanOrEqual(22);
  });

  it.each(cases.filter((c) => c.error === undefined))('$name', async (c) => {
    const loaded = await loadSamples(requestOf(c), tokenizers.get(c.tokenizer)!);
    let manifest = '';
    await writeManifest(loaded.samples, (chunk) => {
      manifest += chunk;
    });
    expect(manifest).toBe(c.manifest_tsv);
    expect(loaded.samples).toHaveLength(c.count!);
    expect(c.request_ids).toBe('r-{i}');
    expect(loaded.samples.map((sample) => sample.requestId)).toEqual(loaded.samples.map((_, i) => `r-${i}`));
    const first = c.first_prompts ?? [];
    expect(loaded.samples.slice(0, first.length).map((sample) => sample.prompt)).toEqual(first);
    const { pyRandom } = loaded;
    expect([pyRandom.random(), pyRandom.random(), pyRandom.random()]).toEqual(c.py_random_next3);
  });

  it.each(cases.filter((c) => c.error !== undefined))('$name fails, with the remedy', async (c) => {
    expect(c.error?.type).toBe('IndexError');
    await expect(loadSamples(requestOf(c), tokenizers.get(c.tokenizer)!)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^--spec-bench-category nope: .*spec_bench\.jsonl has no row of that category$/),
      hint: expect.stringContaining('writing'),
    });
  });
});
