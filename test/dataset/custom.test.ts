/** What custom data sets may hold, and what is said of what they may not. */
import { describe, expect, it } from 'vitest';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { numericColumn, pythonFloatOf, pythonIntOf } from '../../src/dataset/pandas-column.ts';
import type { LocalTokenizer, TokenCounter } from '../../src/dataset/tokenizer.ts';
import { requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();

function load(
  rows: readonly object[] | string,
  more: Partial<DataSetRequest> = {},
  tokenizer: TokenCounter | null = wordCounter(),
) {
  const content = typeof rows === 'string' ? rows : rows.map((row) => JSON.stringify(row)).join('\n');
  const path = scratchFile(folder, 'prompts.jsonl', content);
  return loadSamples(
    requestFor({ name: 'custom', path, disableShuffle: true, skipChatTemplate: true, ...more }),
    tokenizer,
  );
}

const lengths = async (values: readonly unknown[], numPrompts = values.length) =>
  (
    await load(
      values.map((value) => ({ prompt: 'a b', output_tokens: value })),
      { customOutputLen: -1, numPrompts },
    )
  ).samples.map((sample) => sample.outputLen);

describe('custom', () => {
  it('takes all rows for 0 or less, and repeats rows for more than there are', async () => {
    const rows = [{ prompt: 'a' }, { prompt: 'a b' }, { prompt: 'a b c' }];
    const all = await load(rows, { numPrompts: 0 });
    expect(all.samples).toEqual(
      rows.map(({ prompt }, i) => ({ prompt, promptLen: i + 1, outputLen: 256, requestId: `r-${i}` })),
    );
    const more = await load(rows, { numPrompts: 5 });
    expect(more.samples).toHaveLength(5);
    expect(more.notes).toEqual([expect.stringContaining('3 fitting rows, not 5')]);
    expect((await load(rows, { numPrompts: 5, noOversample: true })).samples).toHaveLength(3);
  });

  it('reads lengths as pandas and int() do', async () => {
    expect(await lengths([10, 12.9, '15', ' 7.9 ', true, '1_0'])).toEqual([10, 12, 15, 7, 1, 10]);
    // One value that is no number, and the others stay what they are: int() of each, as far as they are picked.
    expect(await lengths(['+3', '1_0', true, 4.9, 'x'], 4)).toEqual([3, 10, 1, 4]);
    await expect(lengths(['7.9', 'x'])).rejects.toThrow(/line 1: "output_tokens" is "7.9", not a number of tokens$/);
    await expect(lengths(['7', 'x'])).rejects.toThrow(/line 2: "output_tokens" is "x", not a number of tokens$/);
    await expect(lengths([3, [4]])).rejects.toThrow(/line 2: "output_tokens" is \[4\], not/);
    await expect(lengths([3, null])).rejects.toThrow(/line 2: the row has no "output_tokens"/);
    await expect(lengths([3, -1])).rejects.toThrow(/line 2: "output_tokens" is -1, not/);
  });

  it('minds rows only when they are picked', async () => {
    const rows = [{ prompt: 'a', output_tokens: 1 }, { prompt: 5 }, { output_tokens: 2 }];
    expect((await load(rows, { numPrompts: 1, customOutputLen: -1 })).samples).toHaveLength(1);
    await expect(load(rows, { numPrompts: 2 })).rejects.toThrow(/line 2: "prompt" is a number where a text should be$/);
    const withGap = [rows[0]!, {}, rows[2]!];
    await expect(load(withGap, { numPrompts: 3 })).rejects.toThrow(/line 2: "prompt" is missing where a text/);
  });

  it('asks one token of each without a tokenizer, as vLLM does', async () => {
    const { samples } = await load(
      [{ prompt: 'a b c', output_tokens: 9 }],
      { numPrompts: 1, customOutputLen: -1 },
      null,
    );
    expect(samples).toEqual([{ prompt: 'a b c', promptLen: 1, outputLen: 1, requestId: 'r-0' }]);
  });

  it.each([
    [
      'no lengths at all',
      [{ prompt: 'a' }],
      { customOutputLen: -1 },
      /no row has "output_tokens", which --custom-output-len -1/,
    ],
    ['no prompt', [{ text: 'a' }], {}, /no row has a "prompt"$/],
    ['prompts that are numbers', [{ prompt: '1' }, { prompt: ' 2.5 ' }], {}, /line 1: the prompt "1" is a number/],
    ['prompts that are true', [{ prompt: true }], {}, /line 1: the prompt true is a number/],
    ['a line that is no JSON', '{"prompt": "a"}\n{"prompt": ', {}, /line 2: not a JSON object$/],
    ['blank lines only', '\n\n', {}, /has no rows$/],
  ])('refuses %s', async (_, rows, more, message) => {
    await expect(load(rows as readonly object[] | string, more)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(message),
      hint: expect.stringMatching(/\w/),
    });
  });

  describe('and the chat template', () => {
    const local: LocalTokenizer = {
      ...wordCounter(),
      id: 'local',
      encode: () => [],
      decode: () => '',
      vocabSize: 0,
      specialIds: [],
      addedIds: [],
      specialTokensAdded: 0,
      applyChatTemplate: ([message], { addGenerationPrompt, kwargs }) =>
        `<${message?.role}> ${message?.content} ${addGenerationPrompt} ${JSON.stringify(kwargs)}`,
    };

    it('is applied here, with its arguments, and counted', async () => {
      const more = { skipChatTemplate: false, numPrompts: 1, chatTemplateKwargs: { x: 1 } };
      const { samples, notes } = await load([{ prompt: 'a b' }], more, local);
      expect(samples[0]).toMatchObject({ prompt: '<user> a b true {"x":1}', promptLen: 5 });
      expect(notes).toEqual([]);
    });

    it('is said to be applied twice towards a chat endpoint', async () => {
      const more = { skipChatTemplate: false, numPrompts: 1, backend: 'openai-chat' };
      expect((await load([{ prompt: 'a' }], more, local)).notes).toEqual([expect.stringContaining('around it')]);
    });

    it('is left to TabbyAPI when its tokenizer counts, and cannot be had from another server', async () => {
      const more = { skipChatTemplate: false, numPrompts: 1 };
      const { samples, notes } = await load([{ prompt: 'a b' }], more);
      expect(samples[0]?.prompt).toBe('a b');
      expect(notes).toEqual([expect.stringContaining('the server applies its chat template')]);
      await expect(load([{ prompt: 'a' }], { ...more, mode: 'stock' })).rejects.toThrow(/cannot apply a chat template/);
    });

    it('is missed when the tokenizer has none', async () => {
      const bare = { ...local, applyChatTemplate: () => null };
      await expect(load([{ prompt: 'a' }], { skipChatTemplate: false, numPrompts: 1 }, bare)).rejects.toMatchObject({
        message: 'the tokenizer local has no chat template',
        hint: expect.stringContaining('--skip-chat-template'),
      });
    });
  });
});

describe('columns as pandas sees them', () => {
  // Recorded from pandas 3.1.1: read_json(lines=True) of one column.
  it.each([
    [
      ['1', '2'],
      [1, 2],
    ],
    [
      ['1.5', 2],
      [1.5, 2],
    ],
    [['1e5'], [1e5]],
    [
      [' 12 ', '1_000'],
      [12, 1000],
    ],
    [
      ['Infinity', '-5'],
      [Number.POSITIVE_INFINITY, -5],
    ],
    [
      ['nan', null, undefined],
      [Number.NaN, Number.NaN, Number.NaN],
    ],
    [
      [true, 3],
      [1, 3],
    ],
    [['', '1'], null],
    [['0x10'], null],
    [['True'], null],
    [['1', 'a'], null],
    [[[3], 3], null],
    [[{}], null],
  ])('%j', (values, expected) => {
    expect(numericColumn(values)).toEqual(expected);
  });

  it("read numbers as Python's float() and int()", () => {
    expect(['1.', '.5', '-1e-3', '1_2.5_0'].map(pythonFloatOf)).toEqual([1, 0.5, -0.001, 12.5]);
    expect(['1__0', '_1', '1_', 'e5', '--1', ''].map(pythonFloatOf)).toEqual([null, null, null, null, null, null]);
    expect(['7', ' -3 ', '1_0', '007'].map(pythonIntOf)).toEqual([7, -3, 10, 7]);
    expect(['7.0', '1__0', '', 'x', null, undefined, [1], Number.NaN].map(pythonIntOf)).toEqual(
      new Array(8).fill(null),
    );
    expect([7.9, -7.9, -0.5, true, false].map(pythonIntOf)).toEqual([7, -7, 0, 1, 0]);
  });
});
