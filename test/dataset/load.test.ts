import { describe, expect, it } from 'vitest';
import { detectFormat } from '../../src/dataset/detect.ts';
import { openInput } from '../../src/dataset/input-file.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { unreachableError } from '../../src/errors.ts';
import { requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();
const SHAREGPT =
  '[{"id": "a", "conversations": [{"from": "human", "value": "a b c d"}, {"from": "gpt", "value": "a b c d e"}]}]';
const SPEC_BENCH = '{"question_id": 1, "category": "qa", "turns": ["a b c"]}\n';

async function formatOf(content: string) {
  const file = await openInput(scratchFile(folder, 'data', content));
  try {
    return await detectFormat(file);
  } finally {
    await file.handle.close();
  }
}

describe('the format of a file', () => {
  const long = 'x'.repeat(300_000);
  it.each([
    [SHAREGPT, 'sharegpt'],
    [`\ufeff \r\n${JSON.stringify(JSON.parse(SHAREGPT), null, 4)}`, 'sharegpt'],
    ['[]', 'sharegpt'],
    ['[{"id": 5}]', 'sharegpt'],
    [`[{"id": "${long}`, 'sharegpt'],
    [SPEC_BENCH, 'spec_bench'],
    [`\ufeff${SPEC_BENCH}`, 'spec_bench'],
    [`{"turns": ["${long}"], "category": "rag"}`, 'spec_bench'],
    [`{"text": "${long}", "t\\u0075rns": []}`, 'spec_bench'],
    ['{"prompt": "a", "output_tokens": 5}', 'custom'],
    ['{"prompt": "a", "image_files": []}', 'custom_image'],
    ['{"conversations": []}\n', 'hf'],
    ['[{"problem": "a", "solution": "b", "id": 1}]', 'hf'],
    ['{"question": "a", "answer": "b"}', 'hf'],
    ['{"messages": [{"content": "a"}], "category": "b"}', 'speed_bench'],
    ['{"timestamp": 1, "input_length": 5, "hash_ids": [1]}', 'timed_trace'],
    ['Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,1,2,3,x', 'burstgpt'],
  ])('file %# is recognised', async (content, kind) => {
    expect(await formatOf(content)).toEqual({ kind });
  });
  it.each([
    ['<!DOCTYPE html>', 'a web page (HTML)'],
    ['[{"instruction": "a", "output": "b"}]', 'a JSON list of objects with "instruction", "output"'],
    ['{"a": {"turns": 1}}', 'JSON objects with "a"'],
    ['{}', 'a JSON object'],
    ['Shall I compare thee\nto a summer', 'text that begins "Shall I compare thee"'],
    [' \n', 'only white space'],
  ])('%j is unknown: %s', async (content, what) => {
    expect(await formatOf(content)).toEqual({ kind: 'unknown', what });
  });
});

describe('loadSamples', () => {
  const load = (content: string, more: object = {}) =>
    loadSamples(requestFor({ path: scratchFile(folder, 'data', content), numPrompts: 1, ...more }), wordCounter());

  it('recognises the data set and says which it took', async () => {
    expect((await load(SHAREGPT)).name).toBe('sharegpt');
    expect((await load(SPEC_BENCH)).name).toBe('spec_bench');
  });

  it.each([
    ['{"image_files": ["a.png"]}', {}, /data looks like a custom_image data set, which is not supported yet$/],
    ['hello', {}, /data is of no known data set format: it is text that begins "hello"$/],
    [SPEC_BENCH, { name: 'sharegpt' }, /data is not a sharegpt file: it looks like spec_bench$/],
    [SHAREGPT, { name: 'spec_bench' }, /data is not a spec_bench file: it looks like sharegpt$/],
    [SHAREGPT.slice(0, -1), { name: 'sharegpt' }, /data is cut off/],
    [SHAREGPT, { name: 'random-mm' }, /^the data set random-mm is not supported yet$/],
    [SHAREGPT, { path: null }, /^no data set was given$/],
    [SHAREGPT, { path: null, name: 'sharegpt' }, /^the data set sharegpt needs a file$/],
    [SHAREGPT, { seed: -1 }, /^--seed -1 is not a whole number from 0 to 4294967295$/],
    [SHAREGPT, { seed: 2 ** 32 }, /^--seed 4294967296 is not/],
    [SHAREGPT, { seed: 1.5 }, /^--seed 1\.5 is not/],
  ])('refuses file %# with %j', async (content, more, message) => {
    await expect(load(content, more)).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });

  it('says what a file is that is not what its name said, beside the place where that shows', async () => {
    await expect(load('<html>', { name: 'sharegpt' })).rejects.toMatchObject({
      message: expect.stringMatching(/"<" where a value should be \(byte 0, line 1\)$/),
      hint: expect.stringMatching(/^It is a web page \(HTML\)\. /),
    });
  });

  it('does not blame the file for a tokenizer that fails, nor for a missing one', async () => {
    const path = scratchFile(folder, 'data', SPEC_BENCH);
    const failing = { ...wordCounter(), countAll: () => Promise.reject(unreachableError('no server')) };
    await expect(loadSamples(requestFor({ path }), failing)).rejects.toMatchObject({
      exitCode: 4,
      message: 'no server',
    });
    await expect(loadSamples(requestFor({ path }), null)).rejects.toThrow(/^--skip-tokenizer-init: the spec_bench/);
    const shareGpt = scratchFile(folder, 'share', SHAREGPT);
    await expect(loadSamples(requestFor({ path: shareGpt }), null)).rejects.toThrow(
      /^--skip-tokenizer-init: the sharegpt/,
    );
  });
});
