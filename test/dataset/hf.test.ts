/** Files, kinds, orders and the hub of the hf data set; its samples are compared with vLLM's in vectors-vllm.test.ts. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { hubFiles } from '../../src/dataset/hf-hub.ts';
import { fileOrder, type RowPlace, shuffledAtOnce, shuffledStream } from '../../src/dataset/hf-order.ts';
import { openHfFile } from '../../src/dataset/hf-rows.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import type { Download } from '../../src/dataset/tokenizer-hub.ts';
import { fixture, requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();
const parquet = fixture('datasets/vllm/conversations_parquet/train.parquet');

const hf = (path: string, more: Partial<DataSetRequest> = {}) =>
  loadSamples(
    requestFor({ name: 'hf', path, numPrompts: 3, disableShuffle: true, skipChatTemplate: true, ...more }),
    wordCounter(),
  );
const lines = (...rows: readonly object[]) =>
  scratchFile(folder, 'rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
const refusal = (message: RegExp) => ({ exitCode: 2, message: expect.stringMatching(message) });

describe('a file', () => {
  it.each([
    ['datasets/vllm/conversations/train.jsonl', 'conversations'],
    ['datasets/vllm/conversations_parquet/train.parquet', 'conversations'],
    ['datasets/vllm/gsm8k/train.parquet', 'GSM8K'],
    ['datasets/vllm/aimo/train.parquet', 'AIMO'],
    ['datasets/vllm/zeta/train.jsonl', 'next edit prediction (zeta)'],
    ['datasets/vllm/humaneval/train.json', 'HumanEval'],
    ['datasets/vllm/instruct_coder/train.parquet', 'InstructCoder'],
    ['datasets/vllm/mt_bench/train.parquet', 'MT-Bench'],
  ])('%s is read by the rules of its columns, and says so', async (path, label) => {
    const { samples, notes } = await hf(fixture(path));
    expect(samples).toHaveLength(3);
    expect(notes[0]).toBe(`${fixture(path)}: read by the rules of ${label} data sets`);
  });

  it.each([
    ['datasets/vllm/conversations/train.jsonl'],
    ['datasets/vllm/gsm8k'],
    ['datasets/vllm/gsm8k/train.parquet'],
  ])('%s is recognised', async (path) => {
    expect((await hf(fixture(path), { name: 'auto' })).name).toBe('hf');
  });

  it('holds the same rows in each format', async () => {
    const list = JSON.parse(
      `[${readFileSync(fixture('datasets/vllm/conversations/train.jsonl'), 'utf8').trim().replaceAll('\n', ',')}]`,
    ) as Record<string, unknown>[];
    const json = scratchFile(folder, 'list.json', JSON.stringify(list, null, 2));
    for (const path of [parquet, json, fixture('datasets/vllm/conversations/train.jsonl')]) {
      const file = await openHfFile(path);
      expect(file.count).toBe(60);
      expect(file.columns).toEqual(['id', 'conversations']);
      // Across the row groups of seven.
      const rows = await file.read(5, 16, ['id', 'conversations']);
      expect(rows.map(({ values }) => values)).toEqual(list.slice(5, 16));
      expect((await file.read(58, 99, ['id'])).map(({ values }) => values['id'])).toEqual(['58', '59']);
      await file.close();
    }
  });

  it('keeps Blazedit rows within its distances, counting all rows in the ids', async () => {
    const row = (norm_distance: unknown) => ({ code: 'c', change_request: 'r', norm_distance });
    const { samples } = await hf(lines(row(0.5), row(1.5), row(1)), { numPrompts: 2 });
    expect(samples.map(({ requestId, outputLen }) => [requestId, outputLen])).toEqual([
      ['r-0', 4000],
      ['r-2', 4000],
    ]);
    const near = { numPrompts: 3, noOversample: true, blazeditMinDistance: 0.25, blazeditMaxDistance: 0.5 };
    const some = await hf(lines(row(0.2), row(0.25), row(0.4), row(0.5), row(0.51)), near);
    expect(some.samples.map(({ requestId }) => requestId)).toEqual(['r-1', 'r-2', 'r-3']);
    expect(samples[0]?.prompt).toBe(
      'Given a code file, please apply the change requests and generate the new file.\n\nOriginal file:\n```python\nc\n```\n\n' +
        'Change request:\nr\n\nPlease generate the new code file in the "New file" section below.',
    );
  });

  it('passes over conversations that are too short or long, and limits none when a length is given', async () => {
    const turns = (...values: unknown[]) => ({ conversations: values.map((value) => ({ from: 'x', value })) });
    const words = (n: number) => new Array<string>(n).fill('w').join(' ');
    const path = lines(
      turns(words(5)),
      turns(words(3), words(5)),
      turns(words(5), words(3)),
      turns(words(1025), words(5)),
      turns(words(1024), words(1025)),
      turns(words(1024), words(1024)),
      turns(words(4), words(4)),
    );
    const lens = async (more: Partial<DataSetRequest>) =>
      (await hf(path, { numPrompts: 9, noOversample: true, ...more })).samples.map((s) => [s.promptLen, s.outputLen]);
    expect(await lens({})).toEqual([
      [1024, 1024],
      [4, 4],
    ]);
    expect(await lens({ hfOutputLen: 2 })).toEqual([3, 5, 1025, 1024, 1024, 4].map((promptLen) => [promptLen, 2]));
  });
});

describe('what is damaged or of another kind', () => {
  const bytes = readFileSync(parquet);
  const cut = (length: number) => scratchFile(folder, 'cut.parquet', bytes.subarray(0, length));
  /** The file with some bytes of its pages turned over. */
  const spoiled = () => {
    const copy = Buffer.from(bytes);
    for (let i = 60; i < 400; i++) copy[i] = copy[i]! ^ 0xff;
    return scratchFile(folder, 'spoiled.parquet', copy);
  };
  const wrongFooter = () => {
    const copy = Buffer.from(bytes);
    copy.writeUInt32LE(copy.length, copy.length - 8);
    return scratchFile(folder, 'footer.parquet', copy);
  };

  it.each([
    [
      'a file cut in the middle',
      () => cut(bytes.length >> 1),
      /cut\.parquet is cut off: a Parquet file ends with PAR1, this one \(byte \d+\) does not$/,
    ],
    ['a file cut in its first bytes', () => cut(6), /cut\.parquet is cut off/],
    [
      'a footer that is too long',
      wrongFooter,
      /footer\.parquet is damaged: its footer \(byte \d+\) claims \d+ bytes, more than the file has$/,
    ],
    [
      'a damaged row group',
      spoiled,
      /spoiled\.parquet is damaged: row group 0 \(rows 0 to 6, from byte \d+\) cannot be read: /,
    ],
    [
      'no Parquet at all',
      () => scratchFile(folder, 'x.parquet', '{"a": 1}'),
      /x\.parquet is no Parquet file: it does not begin with PAR1$/,
    ],
    [
      'a cut JSON list',
      () => scratchFile(folder, 'cut.json', '[{"question": "a"}, {"ques'),
      /cut\.json is not valid JSON: /,
    ],
    [
      'a cut line',
      () => scratchFile(folder, 'cut.jsonl', '{"question": "a"}\n{"question": "b'),
      /cut\.jsonl, line 2: not a JSON object$/,
    ],
    [
      'a line that is no object',
      () => scratchFile(folder, 'n.jsonl', '{"question": "a"}\n7'),
      /n\.jsonl, line 2: a number where a JSON object should be$/,
    ],
    [
      'an entry that is no object',
      () => scratchFile(folder, 'n.json', '[{"question": "a"}, 7]'),
      /n\.json, entry 1: a number where a JSON object/,
    ],
    ['an empty list', () => scratchFile(folder, 'e.json', '[]'), /e\.json has no rows$/],
    [
      'a value of the wrong type',
      () => lines({ question: 'a' }, { question: 5 }),
      /rows\.jsonl, line 2: "question" is a number where a text should be$/,
    ],
    [
      'a missing value',
      () => lines({ question: 'a' }, { answer: 'b' }),
      /rows\.jsonl, line 2: "question" is missing where a text should be$/,
    ],
    [
      'turns without text',
      () => lines({ conversations: [{ value: 'a' }, { text: 'b' }] }),
      /line 1: "conversations" is missing where a text "value"/,
    ],
    [
      'images',
      () => lines({ image: 'x', conversations: [{ value: 'a' }, { value: 'b' }] }),
      /line 1: the row holds an image$/,
    ],
    ['unknown columns', () => lines({ a: 1, b: 2 }), /rows\.jsonl has none of the sets of columns .*: it has a, b$/],
    [
      'nothing usable',
      () => lines({ conversations: [] }, { conversations: [] }),
      /rows\.jsonl: none of its 2 rows can be used$/,
    ],
    ['a folder without data', () => scratchFolder(), /holds no Parquet, JSON or JSON lines files$/],
  ])('%s is refused, with the place', async (_, path, message) => {
    await expect(hf(path())).rejects.toMatchObject(refusal(message));
  });

  it('refuses names that are not known, and kinds whose columns are not there', async () => {
    await expect(hf('no/such-data-set')).rejects.toMatchObject(
      refusal(/no such file, and vLLM knows no data set of that name$/),
    );
    await expect(hf('lmarena-ai/VisionArena-Chat')).rejects.toMatchObject(
      refusal(/holds images, video, sound or tools/),
    );
    await expect(hf(parquet, { hfName: 'openai/gsm8k' })).rejects.toMatchObject(
      refusal(/train\.parquet lacks the column question of GSM8K data sets$/),
    );
  });
});

describe('a folder', () => {
  it('gives the files of the split, of the subset', async () => {
    const root = scratchFolder();
    const put = (path: string, ...questions: string[]) => {
      mkdirSync(join(root, path, '..'), { recursive: true });
      scratchFile(
        join(root, path, '..'),
        path.split('/').at(-1)!,
        questions.map((q) => `{"question": "${q}"}\n`).join(''),
      );
    };
    put('main/train-0.jsonl', 'a', 'b');
    put('main/test.jsonl', 'c');
    put('other/test/1.jsonl', 'd');
    put('README.md');
    const prompts = async (more: Partial<DataSetRequest>) =>
      (await hf(root, { numPrompts: 9, noOversample: true, ...more })).samples.map(({ prompt }) => prompt);
    expect(await prompts({ hfSplit: 'test' })).toEqual(['c', 'd']);
    expect(await prompts({ hfSplit: 'test', hfSubset: 'main' })).toEqual(['c']);
    // GSM8K is measured on its test part unless told otherwise.
    expect(await prompts({ hfName: 'openai/gsm8k' })).toEqual(['c', 'd']);
    expect(await prompts({})).toEqual(['a', 'b']);
    await expect(prompts({ hfSplit: 'validation' })).rejects.toThrow(
      /^--hf-split validation: no file .* belongs to it$/,
    );
    await expect(prompts({ hfSubset: 'none' })).rejects.toThrow(/^--hf-subset none: no file .* belongs to it$/);
  });
});

describe('orders', () => {
  const counts = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 14 });
  const key = ({ file, row }: RowPlace) => file * 1e6 + row;

  it('have every row once', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (rows, seed) => {
        const all = [...fileOrder(rows)].map(key);
        const sorted = (places: Iterable<RowPlace>) => [...places].map(key).sort((a, b) => a - b);
        expect(sorted(shuffledStream(rows, seed))).toEqual(all);
        expect(sorted(shuffledAtOnce(rows, seed))).toEqual(all);
      }),
      { numRuns: 30 },
    );
  });

  it('are the same streamed and at once while the rows fit the buffer', () => {
    expect([...shuffledStream([700], 5)]).toEqual([...shuffledAtOnce([700], 5)]);
    expect([...shuffledStream([1700], 5)]).not.toEqual([...shuffledAtOnce([1700], 5)]);
  });

  it('streamed take nothing from far ahead: the first rows come from the first thousand', () => {
    const first = [...shuffledStream([5000], 1)].slice(0, 500);
    expect(Math.max(...first.map(({ row }) => row))).toBeLessThan(1000);
  });
});

describe('the hub', () => {
  const PART = { name: 'openai/gsm8k', subset: 'main', split: 'test' };
  const LISTING = { main: { test: ['https://hub/0', 'https://hub/1'], train: ['https://hub/2'] }, socratic: {} };

  function hub(listing: unknown = LISTING, status = 200) {
    const asked: { url: string; headers: Readonly<Record<string, string>> }[] = [];
    const download: Download = async (url, headers) => {
      asked.push({ url, headers });
      const content = url.includes('/api/') ? JSON.stringify(listing) : `bytes of ${url}`;
      return { status, bytes: Buffer.from(content) };
    };
    return { asked, download };
  }

  it('gives the files of a part, which are downloaded once', async () => {
    const home = scratchFolder();
    const { asked, download } = hub();
    const paths = await hubFiles(PART, { HOME: home, HF_TOKEN: 'key', HF_ENDPOINT: 'https://mirror/' }, download);
    expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual([
      'bytes of https://hub/0',
      'bytes of https://hub/1',
    ]);
    expect(asked.map(({ url }) => url)).toEqual([
      'https://mirror/api/datasets/openai/gsm8k/parquet',
      'https://hub/0',
      'https://hub/1',
    ]);
    expect(asked[0]?.headers).toEqual({ authorization: 'Bearer key' });
    const again = await hubFiles(PART, { HOME: home, HF_HUB_OFFLINE: '1' }, () => Promise.reject(new Error('asked')));
    expect(again).toEqual(paths);
    expect(readdirSync(join(home, '.cache/tabby-load/datasets/openai--gsm8k/main'))).toEqual(['test']);
  });

  it.each([
    [
      'no connection',
      () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
      {},
      /^--dataset-path: openai\/gsm8k is no file or folder here, and https:\/\/huggingface\.co cannot be reached \(ENOTFOUND\)$/,
    ],
    [
      'no permission',
      hub({}, 401).download,
      {},
      /answered 401 for openai\/gsm8k: there is no such data set, or it asks for a login/,
    ],
    ['no such subset', hub({ a: {} }).download, {}, /^--hf-subset: openai\/gsm8k has no subset main$/],
    [
      'no such split',
      hub({ main: { train: ['u'] } }).download,
      {},
      /^--hf-split: openai\/gsm8k has no split test in main$/,
    ],
    ['no list', hub([]).download, {}, /list of files of openai\/gsm8k cannot be read$/],
    [
      'downloads forbidden',
      hub().download,
      { HF_HUB_OFFLINE: '1' },
      /is in no cache, and HF_HUB_OFFLINE forbids downloading it$/,
    ],
  ] as const)('%s: one message', async (_, download, env, message) => {
    await expect(hubFiles(PART, { HOME: scratchFolder(), ...env }, download)).rejects.toMatchObject(refusal(message));
  });
});
