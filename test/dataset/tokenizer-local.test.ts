/** Exactness of local tokenizers against Python's, on vectors recorded from transformers 5.24 (hard texts, random token ids, templates). */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import { startCountingThreads } from '../../src/dataset/tokenizer-threads.ts';
import recorded from '../fixtures/datasets/tokenizers.json' with { type: 'json' };
import { bosFolder, modelFolder, scratchFile, scratchFolder } from './support.ts';

const folder = scratchFolder();

describe.each(['qwen3', 'llama3'] as const)('%s', (name) => {
  const expected = recorded[name];
  let tokenizer: LocalTokenizer;
  beforeAll(async () => {
    tokenizer = await openLocalTokenizer(modelFolder(name), name);
  });
  afterAll(() => tokenizer.close());

  it('encodes as Python does, the first time and again from memory', async () => {
    for (const round of [1, 2]) {
      for (const [i, text] of recorded.texts.entries())
        expect(tokenizer.encode(text), `round ${round}: ${text}`).toEqual(expected.ids[i]);
    }
    expect(await tokenizer.countAll(recorded.texts)).toEqual(expected.ids.map((ids) => ids.length));
  });

  it('decodes as Python does, also bytes that are no UTF-8, and encodes the result the same', () => {
    for (const { ids, decoded, skipped, again } of expected.random) {
      expect(tokenizer.decode(ids)).toBe(decoded);
      expect(tokenizer.decode(ids, true)).toBe(skipped);
      expect(tokenizer.encode(decoded, false)).toEqual(again);
    }
  });

  it('knows its vocabulary and special tokens', () => {
    expect(tokenizer.vocabSize).toBe(expected.vocab_size);
    expect([...tokenizer.specialIds].sort()).toEqual(expected.special_ids.toSorted());
    expect(tokenizer.specialTokensAdded).toBe(expected.added);
    expect(tokenizer.id).toBe(name);
  });

  it('applies its chat template', () => {
    for (const { messages, gen, kwargs, text } of expected.templates) {
      expect(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: gen, kwargs })).toBe(text);
    }
  });

  it('leaves out ids that do not exist, and makes nothing of nothing', () => {
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.decode([9_999_999, tokenizer.encode('a')[0]!])).toBe('a');
    expect(tokenizer.encode('')).toEqual([]);
  });
});

describe('a tokenizer that puts a special token in front', () => {
  it('counts it, unless told not to', async () => {
    const plain = await openLocalTokenizer(modelFolder('qwen3'), 'plain');
    const bos = await openLocalTokenizer(bosFolder(folder), 'bos');
    expect(bos.specialTokensAdded).toBe(1);
    expect(bos.encode('Hello world')).toEqual([151643, ...plain.encode('Hello world')]);
    expect(bos.encode('Hello world', false)).toEqual(plain.encode('Hello world'));
    expect(await bos.countAll(['', 'Hello world'])).toEqual([1, 3]);
  });
});

describe('small tokenizers', () => {
  const wordLevel = {
    model: { type: 'WordPiece', vocab: { '[UNK]': 0, hello: 1, world: 2, '##s': 3 }, unk_token: '[UNK]', continuing_subword_prefix: '##' },
    normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' }, post_processor: null, decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
    added_tokens: [{ id: 0, content: '[UNK]', special: true }],
  }; // biome-ignore format: one tokenizer
  const made = (name: string, files: Record<string, unknown>) => {
    const path = join(folder, name);
    mkdirSync(path, { recursive: true });
    for (const [file, content] of Object.entries(files)) {
      scratchFile(path, file, typeof content === 'string' ? content : JSON.stringify(content));
    }
    return path;
  };

  it('of other kinds than byte-level BPE work too', async () => {
    const path = made('words', {
      'tokenizer.json': wordLevel,
      'tokenizer_config.json': { unk_token: { content: '[UNK]' } },
    });
    const tokenizer = await openLocalTokenizer(path, 'words');
    expect(tokenizer.encode('hello worlds nope')).toEqual([1, 2, 3, 0]);
    expect(tokenizer.decode([1, 2, 3])).toBe('hello worlds');
    expect(tokenizer.decode([1, 0, 77], true)).toBe('hello');
    expect([tokenizer.vocabSize, tokenizer.specialIds, tokenizer.specialTokensAdded]).toEqual([4, [0], 0]);
    expect(tokenizer.applyChatTemplate([], { addGenerationPrompt: true })).toBeNull();
  });

  it('take the template from chat_template.jinja before the config, and from a list the one named default', async () => {
    const render = async (files: Record<string, unknown>, name: string) =>
      (await openLocalTokenizer(made(name, { 'tokenizer.json': wordLevel, ...files }), name)).applyChatTemplate(
        [{ role: 'user', content: 'x' }],
        { addGenerationPrompt: false },
      );
    const list = [{ name: 'tool_use', template: 'tools' }, { name: 'default', template: '{{ messages[0].role }}{{ bos_token }}' }]; // biome-ignore format: pair
    const config = { chat_template: list, bos_token: '<s>' };
    expect(await render({ 'tokenizer_config.json': config }, 'list')).toBe('user<s>');
    expect(
      await render({ 'tokenizer_config.json': config, 'chat_template.jinja': 'jinja {{ bos_token }}' }, 'jinja'),
    ).toBe('jinja <s>');
    await expect(render({ 'chat_template.jinja': "{{ raise_exception('no users') }}" }, 'raise')).rejects.toMatchObject(
      {
        exitCode: 2,
        message: expect.stringMatching(/^the chat template of the tokenizer raise failed: .*no users/),
      },
    );
  });

  it.each([
    ['none', {}, /^--tokenizer: there is no tokenizer\.json in .*none$/],
    ['sentencepiece', { 'tokenizer.model': 'x' }, /has a tokenizer\.model, but no tokenizer\.json$/],
    ['cut', { 'tokenizer.json': '{"model": {' }, /cut\/tokenizer\.json is not a JSON object$/],
    ['list', { 'tokenizer.json': '[]' }, /tokenizer\.json is not a JSON object$/],
    ['empty', { 'tokenizer.json': '{}' }, /tokenizer\.json holds no vocabulary$/],
    [
      'config',
      { 'tokenizer.json': wordLevel, 'tokenizer_config.json': 'x' },
      /tokenizer_config\.json is not a JSON object$/,
    ],
    [
      'odd',
      { 'tokenizer.json': { ...wordLevel, pre_tokenizer: { type: 'Odd' } } },
      /is of a kind that is not supported: .*Odd/,
    ],
  ])('that cannot be used are refused: %s', async (name, files, message) => {
    await expect(openLocalTokenizer(made(`bad-${name}`, files), name)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(message),
    });
  });
});

describe('counting threads', () => {
  let entry: URL;
  beforeAll(async () => {
    const out = join(folder, 'thread.mjs');
    await build({
      entryPoints: ['src/dataset/tokenizer-thread.ts'],
      outfile: out,
      bundle: true,
      format: 'esm',
      platform: 'node',
      logLevel: 'error',
    });
    entry = pathToFileURL(out);
  });

  it('count the same in the same order, and end when closed', async () => {
    const pool = await startCountingThreads(modelFolder('llama3'), entry, 2);
    const texts = Array.from({ length: 700 }, (_, i) => recorded.texts[i % recorded.texts.length]!);
    const counts = await pool!.countAll(texts);
    expect(counts).toEqual(texts.map((_, i) => recorded.llama3.ids[i % recorded.texts.length]!.length));
    expect(await pool!.countAll([])).toEqual([]);
    await pool!.close();
  });

  it('are not started where they gain nothing or their program is missing', async () => {
    expect(await startCountingThreads('x', entry, 1)).toBeNull();
    expect(await startCountingThreads('x', new URL('./none.js', import.meta.url), 4)).toBeNull();
  });

  it('that fail say so', async () => {
    const pool = await startCountingThreads(join(folder, 'nowhere'), entry, 2);
    await expect(pool!.countAll(['a'])).rejects.toThrow(/nowhere does not exist/);
    await expect(pool!.countAll(['a'])).rejects.toThrow(/nowhere does not exist/);
    await pool!.close();
  });
});
