/** Data sets that make their prompts or put them together: what is refused, and what holds for any seed. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { fitToLength } from '../../src/dataset/exact-length.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import { bosFolder, fixture, modelFolder, requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();
let qwen: LocalTokenizer;
let bos: LocalTokenizer;
beforeAll(async () => {
  qwen = await openLocalTokenizer(modelFolder('qwen3'), 'qwen3');
  bos = await openLocalTokenizer(bosFolder(folder), 'bos');
});
afterAll(async () => {
  await qwen.close();
  await bos.close();
});

const refusal = (message: RegExp) => ({
  exitCode: 2,
  message: expect.stringMatching(message),
  hint: expect.stringMatching(/\w/),
});

describe('a tokenizer at hand', () => {
  const more: Partial<DataSetRequest>[] = [
    { name: 'random' },
    { name: 'prefix_repetition' },
    { name: 'sonnet', path: fixture('golden/data/sonnet.txt') },
    { name: 'burstgpt', path: fixture('golden/data/burstgpt.csv') },
    { name: 'timed_trace', path: fixture('datasets/vllm/traces/trace.jsonl') },
  ];

  it.each(more)('is needed by $name', async (request) => {
    await expect(loadSamples(requestFor(request), wordCounter())).rejects.toMatchObject(
      refusal(new RegExp(`^the ${request.name} data set .*: the tokenizer of the server cannot be used`)),
    );
    await expect(loadSamples(requestFor(request), null)).rejects.toMatchObject(
      refusal(new RegExp(`^--skip-tokenizer-init: the ${request.name} data set`)),
    );
  });
});

describe('random', () => {
  const random = (more: Partial<DataSetRequest>, tokenizer = qwen) =>
    loadSamples(requestFor({ name: 'random', ...more }), tokenizer);

  it('makes prompts of the asked lengths, which encode to as many tokens, with or without a special token in front', async () => {
    for (const length of [1, 2, 3, 128, 1024]) {
      for (const tokenizer of [qwen, bos]) {
        const input = length + tokenizer.specialTokensAdded;
        const { samples } = await random({ numPrompts: 12, randomInputLen: input, seed: length }, tokenizer);
        expect(samples.map(({ promptLen }) => promptLen)).toEqual(samples.map(() => length));
        expect(samples.map(({ prompt }) => tokenizer.encode(prompt as string, false).length)).toEqual(
          samples.map(() => length),
        );
      }
    }
  });

  it('keeps lengths within their ranges, the prefix in front of all', async () => {
    const ratio = { input: 0.5, output: 0.25 };
    const more = { randomInputLen: 40, randomOutputLen: 100, randomRangeRatio: ratio, randomPrefixLen: 30 };
    const { samples } = await random({ numPrompts: 60, ...more });
    const lens = samples.map(({ promptLen }) => promptLen);
    expect(Math.min(...lens)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...lens)).toBeLessThanOrEqual(90);
    expect(new Set(lens).size).toBeGreaterThan(10);
    const outputs = samples.map(({ outputLen }) => outputLen);
    expect(Math.min(...outputs)).toBeGreaterThanOrEqual(75);
    expect(Math.max(...outputs)).toBeLessThanOrEqual(125);
    const [first] = samples;
    const start = (first!.prompt as string).slice(0, 40);
    expect(samples.every(({ prompt }) => (prompt as string).startsWith(start))).toBe(true);
  });

  it('refuses range ratios outside [0, 1)', async () => {
    for (const [input, output] of [
      [1, 0],
      [0, 1],
      [-0.1, 0],
      [Number.NaN, 0],
    ] as const) {
      await expect(random({ randomRangeRatio: { input, output } })).rejects.toThrow(
        /^--random-range-ratio .*: it must/,
      );
    }
  });

  it('says how many tokens are missing when a text has no encoding of the length', async () => {
    // A tokenizer that never gives more than two tokens back.
    const short: LocalTokenizer = { ...qwen, encode: () => [1, 2], decode: () => 'x' };
    const { samples, notes } = await random({ numPrompts: 3, randomInputLen: 5 }, short);
    expect(samples.map(({ promptLen }) => promptLen)).toEqual([2, 2, 2]);
    expect(notes).toEqual([expect.stringMatching(/^over all prompts 9 tokens fewer than asked for/)]);
  });
});

describe('fitToLength', () => {
  /** A tokenizer of letters, in which "xy" is one token: ids are character codes. */
  const letters = {
    decode: (ids: readonly number[]) => String.fromCharCode(...ids),
    encode: (text: string) => [...text.replaceAll('xy', '*')].map((char) => char.charCodeAt(0)),
  };
  const codes = (text: string) => [...text].map((char) => char.charCodeAt(0));
  const never = () => {
    throw new Error('nothing is to be drawn');
  };

  it('leaves what fits, and cuts what is too long', () => {
    expect(fitToLength(letters, codes('abc'), 3, never)).toEqual({ text: 'abc', ids: codes('abc') });
    expect(fitToLength(letters, codes('abcde'), 3, never)).toEqual({ text: 'abc', ids: codes('abc') });
  });

  it('tops up what came out shorter, by exactly what is missing', () => {
    const drawn: number[] = [];
    const draw = (count: number) => {
      drawn.push(count);
      return codes('pq').slice(0, count);
    };
    expect(fitToLength(letters, codes('axyxy'), 5, draw)).toEqual({ text: 'a**pq', ids: codes('a**pq') });
    expect(drawn).toEqual([2]);
  });

  it('gives up after ten tries with the last text', () => {
    let draws = 0;
    const draw = (count: number) => {
      draws++;
      return codes('xy'.repeat(count)).slice(0, count);
    };
    const { text, ids } = fitToLength({ ...letters, encode: () => codes('ab') }, codes('a'), 3, draw);
    expect(draws).toBe(10);
    expect([text, ids]).toEqual(['abx', codes('ab')]);
  });
});

describe('prefix_repetition', () => {
  it('uses each prefix equally often, and nothing else is shared', async () => {
    const request = requestFor({
      name: 'prefix_repetition',
      numPrompts: 30,
      prefixRepetitionPrefixLen: 40,
      prefixRepetitionSuffixLen: 20,
      prefixRepetitionNumPrefixes: 6,
    });
    const { samples, notes } = await loadSamples(request, qwen);
    const starts = new Map<string, number>();
    for (const { prompt } of samples) {
      const start = (prompt as string).slice(0, 20);
      starts.set(start, (starts.get(start) ?? 0) + 1);
    }
    expect([...starts.values()]).toEqual([5, 5, 5, 5, 5, 5]);
    expect(new Set(samples.map(({ prompt }) => prompt)).size).toBe(30);
    expect(notes).toEqual([]);
    const uneven = await loadSamples({ ...request, numPrompts: 31 }, qwen);
    expect(uneven.samples).toHaveLength(30);
    expect(uneven.notes).toEqual(['--num-prompts 31 is no multiple of 6 prefixes: the run has 30 requests']);
  });
});

describe('sonnet', () => {
  const sonnet = (more: Partial<DataSetRequest>) =>
    loadSamples(requestFor({ name: 'sonnet', path: fixture('golden/data/sonnet.txt'), numPrompts: 5, ...more }), qwen);

  it('keeps prompts within the length, and begins them with the same lines', () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 32 - 1 }), async (seed) => {
        const { samples } = await sonnet({ seed, sonnetInputLen: 150, sonnetPrefixLen: 80, backend: 'openai-chat' });
        expect(samples.every(({ promptLen }) => promptLen <= 150)).toBe(true);
        const lines = samples.map(({ prompt }) => (prompt as string).split('\n'));
        expect(lines.every((own) => own[1] === 'Work bring seventeen member bright walk;')).toBe(true);
        expect(new Set(lines.map((own) => own.slice(0, 4).join())).size).toBe(1);
      }),
      { numRuns: 5 },
    ));

  it('reads lines that end in any way', async () => {
    const text = 'One line here.\nAnother line there.\nA third one.\n';
    const more = { sonnetInputLen: 60, sonnetPrefixLen: 30, numPrompts: 3 };
    const prompts = async (content: string) =>
      (await sonnet({ path: scratchFile(folder, 'poem', content), ...more })).samples.map(({ prompt }) => prompt);
    expect(await prompts(text.replaceAll('\n', '\r\n'))).toEqual(await prompts(text));
    expect(await prompts(text.replaceAll('\n', '\r'))).toEqual(await prompts(text));
  });

  it('gives up where no prompt can be short enough', async () => {
    await expect(sonnet({ sonnetInputLen: 21, sonnetPrefixLen: 0 })).rejects.toMatchObject(
      refusal(/sonnet\.txt: prompts come out longer than --sonnet-input-len 21 \(the last one has \d+ tokens\)$/),
    );
  });
});

describe('burstgpt', () => {
  const HEADER = 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n';
  const burst = (content: string, more: Partial<DataSetRequest> = {}) =>
    loadSamples(
      requestFor({ name: 'burstgpt', path: scratchFile(folder, 'burst.csv', content), numPrompts: 2, ...more }),
      qwen,
    );

  it('takes rows of GPT-4 with an answer, quoted or not', async () => {
    const rows =
      '1,GPT-4,5,6,11,API log\r\n2,ChatGPT,7,8,15,API log\n3,"GPT-4",9.0, 10,19,"API, ""log""\nof two lines"\n\n4,GPT-4,3,0,3,x\n5,GPT-4,3,,3,x\n';
    const { samples } = await burst(HEADER + rows);
    expect(samples.map(({ promptLen, outputLen }) => [promptLen, outputLen]).sort()).toEqual([
      [5, 6],
      [9, 10],
    ]);
    // The i-th prompt is a run of ids from i on.
    expect(samples.map(({ prompt }) => prompt)).toEqual(
      samples.map(({ promptLen }, i) => qwen.decode(Array.from({ length: promptLen }, (_, j) => i + j))),
    );
  });

  it.each([
    [
      'a column that is not there',
      'Timestamp,Model\n1,GPT-4\n',
      /burst\.csv, line 1: there is no column "Response tokens"$/,
    ],
    [
      'no fitting row',
      `${HEADER}1,ChatGPT,5,6,11,x\n`,
      /no row has the model "GPT-4" and more than 0 response tokens$/,
    ],
    [
      'a length that is no number',
      `${HEADER}1,GPT-4,5,six,11,x\n`,
      /line 2: "Response tokens" is "six" where a number/,
    ],
    [
      'a prompt without length',
      `${HEADER}1,GPT-4,,6,11,x\n`,
      /line 2: "Request tokens" is missing, not a number of tokens$/,
    ],
    ['a negative length', `${HEADER}1,GPT-4,-5,6,11,x\n`, /line 2: "Request tokens" is -5, not a number of tokens$/],
    ['too many fields', `${HEADER}1,GPT-4,5,6,11,x,y\n`, /line 2: 7 fields where the first line names 6$/],
    ['an open quote', `${HEADER}1,GPT-4,5,6,11,"x\n2,GPT-4,5,6,11,x\n`, /line 2: a quoted field is not closed$/],
    ['a quote within a field', `${HEADER}1,GPT-4,5,6,11,x"y"z\n`, /line 2: a quote stands in the middle of a field$/],
  ])('refuses %s', async (_, content, message) => {
    await expect(burst(content)).rejects.toMatchObject(refusal(message));
  });
});
