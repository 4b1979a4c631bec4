/** More vectors of vLLM 0.30.0, recorded for these tests: hf, speed_bench and timed_trace, and more of the generated data sets. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSamples } from '../../src/dataset/load.ts';
import { writeManifest } from '../../src/dataset/manifest.ts';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import recorded from '../fixtures/datasets/vllm.json' with { type: 'json' };
import { requestOfArgv } from './argv.ts';
import { modelFolder } from './support.ts';

interface Case {
  readonly name: string;
  readonly argv: readonly string[];
  readonly count: number;
  readonly manifest_sha256: string;
  readonly first_lines: readonly string[];
  readonly request_ids: string | readonly string[] | null;
  readonly py_random_next3: readonly number[];
  readonly np_random_next3: readonly number[];
  readonly timestamps?: readonly number[];
}

describe('vectors recorded from vLLM 0.30.0', () => {
  let tokenizer: LocalTokenizer;
  beforeAll(async () => {
    tokenizer = await openLocalTokenizer(modelFolder('qwen3'), 'qwen3');
  });
  afterAll(() => tokenizer.close());

  it.each(recorded.cases as readonly Case[])('$name', async (c) => {
    const { samples, pyRandom, npRandom } = await loadSamples(requestOfArgv(c.argv, 'stock', ''), tokenizer);
    let manifest = '';
    await writeManifest(samples, (chunk) => {
      manifest += chunk;
    });
    expect(manifest.split('\n').slice(1, 4)).toEqual(c.first_lines);
    expect(samples).toHaveLength(c.count);
    expect(createHash('sha256').update(manifest).digest('hex')).toBe(c.manifest_sha256);
    const ids =
      typeof c.request_ids === 'string' || c.request_ids === null
        ? samples.map((_, i) => c.request_ids && `r-${i}`)
        : c.request_ids;
    expect(samples.map((sample) => sample.requestId)).toEqual(ids);
    expect([pyRandom.random(), pyRandom.random(), pyRandom.random()]).toEqual(c.py_random_next3);
    expect([npRandom.random(), npRandom.random(), npRandom.random()]).toEqual(c.np_random_next3);
    expect(samples.map((sample) => sample.plannedS)).toEqual(c.timestamps ?? samples.map(() => undefined));
  });
});
