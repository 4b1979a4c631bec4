import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifestChunks, openManifest, promptHash, saveManifest, writeManifest } from '../../src/dataset/manifest.ts';
import type { Prompt, SampleRequest } from '../../src/dataset/sample.ts';
import recorded from '../fixtures/datasets/json-hashes.json' with { type: 'json' };

const sample = (prompt: Prompt, promptLen = 3, outputLen = 5): SampleRequest => ({
  prompt,
  promptLen,
  outputLen,
  requestId: null,
});

describe('promptHash', () => {
  it('hashes the UTF-8 of a text', () => {
    // printf 'abc' | sha256sum; printf 'Zürich 🚀' | sha256sum
    expect(promptHash('abc')).toBe('ba7816bf8f01cfea');
    expect(promptHash('Zürich 🚀')).toBe('3d0eef980e1bb3e4');
  });
  it.each(recorded.cases.slice(0, 5))('hashes the JSON of a list: $sha16', ({ json, sha16 }) => {
    expect(promptHash(JSON.parse(json))).toBe(sha16);
  });
  it('takes half a surrogate pair as U+FFFD', () => {
    expect(promptHash('a\ud800b')).toBe(promptHash('a\ufffdb'));
  });
});

describe('the manifest', () => {
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'manifest-'));
  });
  afterAll(() => rm(dir, { recursive: true }));

  it('has a header and a line for each sample', async () => {
    let text = '';
    const { sha256, count } = await writeManifest([sample('abc'), sample('abc', 7, 9)], (chunk) => {
      text += chunk;
    });
    expect(text).toBe('i\tsha\tprompt_len\toutput_len\n0\tba7816bf8f01cfea\t3\t5\n1\tba7816bf8f01cfea\t7\t9\n');
    expect(count).toBe(2);
    expect(sha256).toBe('431a6d941b261326a92256ba00a24ab36fa118a356a871cca90d01dff91ea4ca');
  });
  it('comes in chunks of whole lines, the digest the same as that of the file', async () => {
    const samples = Array.from({ length: 5000 }, (_, i) => sample(`prompt ${i % 10}`, i, 1));
    const chunks = [...manifestChunks(samples)];
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) expect(chunk.endsWith('\n')).toBe(true);
    const path = join(dir, 'm.tsv');
    await writeFile(path, 'what was there before'.repeat(100_000));
    const file = await openManifest(path, '--samples-out');
    expect((await readFile(path)).length).toBe(2_100_000);
    const saved = await saveManifest(file, samples);
    await file.close();
    expect(await readFile(path, 'utf8')).toBe(chunks.join(''));
    expect(saved).toEqual(await writeManifest(samples));
    expect(chunks.join('').split('\n')).toHaveLength(5002);
  });
  it('says which option names a path that cannot be written', async () => {
    await expect(openManifest(join(dir, 'no', 'm.tsv'), '--samples-out')).rejects.toThrow(
      /^--samples-out: cannot write .*: its folder does not exist$/,
    );
    await expect(openManifest(dir, 'TABBY_SAMPLES_OUT')).rejects.toThrow(/^TABBY_SAMPLES_OUT: .*: it is a folder$/);
  });
});
