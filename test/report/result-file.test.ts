import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { localStamp } from '../../src/report/finish.ts';
import { resultChunks, resultText } from '../../src/report/json.ts';
import { checkWritable, resultFileName, resultPath, writeResult } from '../../src/report/result-file.ts';
import { settingsOf } from '../../src/report/settings.ts';
import { folder } from '../record/builder.ts';

const dir = folder();
afterAll(dir.remove);

const DATE = '20261201-034500';
const nowhere = { resultDir: null, resultFilename: null };

describe('the name of the result file', () => {
  it.each([
    [{ backend: 'openai-chat', model: 'org/Model-8B' }, `openai-chat-infqps-Model-8B-${DATE}.json`],
    [{ label: 'base', model: 'm', request_rate: 10, max_concurrency: 16 }, `base-10.0qps-concurrency16-m-${DATE}.json`],
    [{ backend: 'vllm', model: 'm', request_rate: 2.5 }, `vllm-2.5qps-m-${DATE}.json`],
    [
      {
        backend: 'vllm',
        model: 'm',
        ramp_up_strategy: 'linear',
        ramp_up_start_rps: 1,
        ramp_up_end_rps: 9,
        max_concurrency: 2,
      },
      `vllm-ramp-up-linear-1qps-9qps-concurrency2-m-${DATE}.json`,
    ],
  ])('is as vLLM forms it: %o', (options, name) => {
    expect(resultFileName(settingsOf(options), DATE)).toBe(name);
  });

  it('never leaves its folder, whatever the server calls its model', () => {
    const nasty = fc.string({ unit: fc.constantFrom('.', '/', '\\', '\0', '\n', 'a', ' ', 'é', '..', ':') });
    fc.assert(
      fc.property(nasty, nasty, (model, label) => {
        const path = resultPath(settingsOf({ model, label }), { resultDir: '/results', resultFilename: null }, DATE);
        expect(dirname(path)).toBe('/results');
        expect(path).not.toContain('\0');
        expect(path.endsWith(`-${DATE}.json`)).toBe(true);
      }),
    );
  });

  it('fits a file system', () => {
    const name = resultFileName(settingsOf({ model: 'é'.repeat(400) }), DATE);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
    expect(name.endsWith(`-${DATE}.json`)).toBe(true);
  });

  it('is the one given, in the folder given', () => {
    const settings = settingsOf({ model: 'm' });
    expect(resultPath(settings, { resultDir: 'out', resultFilename: 'r.json' }, DATE)).toBe(join('out', 'r.json'));
    expect(resultPath(settings, { resultDir: 'out', resultFilename: '/abs/r.json' }, DATE)).toBe('/abs/r.json');
    expect(resultPath(settings, nowhere, DATE)).toBe(`openai-chat-infqps-m-${DATE}.json`);
  });

  it('has the local time', () => {
    expect(localStamp(new Date(2026, 11, 1, 3, 4, 5).toISOString())).toBe('20261201-030405');
    expect(localStamp('')).toBe('00000000-000000');
  });
});

const RESULT = new Map<string, unknown>([
  ['10', 1],
  ['a', Number.POSITIVE_INFINITY],
  ['view', { length: 2, at: (k: number) => Float64Array.of(k, 0.1) }],
  ['none', { length: 0, at: () => 0 }],
  ['nested', { x: [1, null], y: undefined }],
]);

describe('writing', () => {
  it('keeps the order of keys and replaces what JSON does not know', () => {
    expect(resultText(RESULT)).toBe(
      '{"10": 1, "a": "inf", "view": [[0, 0.1], [1, 0.1]], "none": [], "nested": {"x":[1,null]}}',
    );
    expect(resultText(new Map())).toBe('{}');
  });

  it('gives back identical doubles', () => {
    fc.assert(
      fc.property(fc.float64Array({ noNaN: true, noDefaultInfinity: true }), (values) => {
        const view = { length: values.length, at: (k: number) => values[k] as number };
        const back = JSON.parse(resultText(new Map([['v', view]]))).v as number[];
        expect(back.length).toBe(values.length);
        // JSON.stringify writes -0 as 0.
        expect(back.every((value, k) => value === values[k])).toBe(true);
      }),
    );
  });

  it('makes long arrays in pieces', () => {
    const view = { length: 5000, at: (k: number) => k };
    const chunks = [...resultChunks(new Map([['v', view]]))];
    expect(chunks.length).toBeGreaterThan(4);
    expect(JSON.parse(chunks.join('')).v[4999]).toBe(4999);
  });

  it('writes whole files and leaves nothing else behind', async () => {
    const path = join(dir.path, 'new', 'r.json');
    await writeResult(path, RESULT, false, '--json');
    await writeResult(path, new Map([['b', 2]]), false, '--json');
    expect(readFileSync(path, 'utf8')).toBe('{"b": 2}');
    expect(readdirSync(dirname(path))).toEqual(['r.json']);
  });

  it('keeps the old file when writing fails', async () => {
    const path = dir.file('keep.json', 'old');
    const broken = new Map([
      [
        'v',
        {
          length: 1,
          at: () => {
            throw new Error('no');
          },
        },
      ],
    ]);
    await expect(writeResult(path, broken, false, '--json')).rejects.toThrow(/--json/);
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(readdirSync(dir.path).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('appends on a line of its own, as vLLM does', async () => {
    const path = join(dir.path, 'append.json');
    for (const n of [1, 2]) await writeResult(path, new Map([['n', n]]), true, '--append-result');
    expect(readFileSync(path, 'utf8')).toBe('{"n": 1}\n{"n": 2}');
  });
});

describe('checkWritable', () => {
  it('makes the folder and leaves an existing file alone', async () => {
    await checkWritable(join(dir.path, 'x', 'y', 'r.json'), '--json');
    expect(readdirSync(join(dir.path, 'x', 'y'))).toEqual([]);
    const path = dir.file('there.json', 'old');
    await checkWritable(path, '--json');
    expect(readFileSync(path, 'utf8')).toBe('old');
  });

  it('refuses folders and places that cannot be', async () => {
    mkdirSync(join(dir.path, 'folder'));
    writeFileSync(join(dir.path, 'file'), '');
    for (const path of ['folder', 'file/x.json']) {
      const error: unknown = await checkWritable(join(dir.path, path), '--result-dir').catch((e: unknown) => e);
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).message).toContain('--result-dir');
    }
  });
});
