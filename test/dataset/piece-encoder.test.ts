/** The short ways of byte-level tokenizers against the library itself, which is given the whole file. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as library from '@huggingface/tokenizers';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LocalTokenizer } from '../../src/dataset/tokenizer.ts';
import { readTokenizerFiles } from '../../src/dataset/tokenizer-files.ts';
import { openLocalTokenizer } from '../../src/dataset/tokenizer-local.ts';
import { asciiJson, type ByteLevelJson, byteLevelJson } from './byte-level.ts';
import { modelFolder, scratchFile, scratchFolder } from './support.ts';

const folder = scratchFolder();

/** What is used of the library here. */
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: readonly number[], options: object): string;
}

function libraryOf(json: unknown, config: object): Library {
  const { Tokenizer } = library as unknown as { Tokenizer: new (json: unknown, config: object) => Library };
  return new Tokenizer(json, config);
}

let made = 0;
async function opened(text: string, config: object = {}): Promise<LocalTokenizer> {
  const path = join(folder, String(made++));
  mkdirSync(path);
  scratchFile(path, 'tokenizer.json', text);
  scratchFile(path, 'tokenizer_config.json', JSON.stringify(config));
  return openLocalTokenizer(path, 'made');
}

/** Is the vocabulary of this file read without the library? */
async function isScanned(text: string): Promise<boolean> {
  const path = join(folder, String(made++));
  mkdirSync(path);
  scratchFile(path, 'tokenizer.json', text);
  return (await readTokenizerFiles(path, '--tokenizer')).tables !== null;
}

describe.each(['qwen3', 'llama3'] as const)('%s', (name) => {
  let ours: LocalTokenizer;
  let theirs: Library;
  let added: readonly string[];
  beforeAll(async () => {
    const read = (file: string) => JSON.parse(readFileSync(join(modelFolder(name), file), 'utf8')) as ByteLevelJson;
    const json = read('tokenizer.json');
    added = json.added_tokens.map((token) => token['content'] as string);
    theirs = libraryOf(json, read('tokenizer_config.json'));
    ours = await openLocalTokenizer(modelFolder(name), name);
  });

  it('encodes any text to the ids of the library', async () => {
    const words = [
      'the',
      ' answer',
      "'LL",
      '1234567',
      '\r\n',
      '\t',
      '  ',
      '\u0085',
      '\ufeff',
      'é',
      'e\u0301',
      '中文',
      'สวัสดี',
      'क्षि',
      '😀',
      '\ud800',
      '\0',
      'Ġ',
      '<|',
      '_',
    ];
    const unit = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...words) },
      { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
      { weight: 1, arbitrary: fc.constantFrom(...added) },
    ); // biome-ignore format: a list of words
    const texts: string[] = [];
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 30 }), fc.boolean(), (parts, special) => {
        const text = parts.join('');
        texts.push(text);
        expect(ours.encode(text, special)).toEqual(theirs.encode(text, { add_special_tokens: special }).ids);
      }),
      { numRuns: 400 },
    );
    expect(await ours.countAll(texts)).toEqual(texts.map((text) => ours.encode(text).length));
  });

  it('decodes any ids to the text of the library', () => {
    const options = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
    const id = fc.nat(ours.vocabSize + ours.addedIds.length - 1);
    fc.assert(
      fc.property(fc.array(id, { minLength: 1, maxLength: 30 }), (ids) => {
        const special = new Set(ours.specialIds);
        expect(ours.decode(ids)).toBe(theirs.decode(ids, options));
        const left = ids.filter((one) => !(special.has(one) || ours.addedIds.includes(one)));
        if (left.length > 0) expect(ours.decode(left, true)).toBe(theirs.decode(left, options));
      }),
      { numRuns: 400 },
    );
  });
});

describe('a small tokenizer', () => {
  const merges = ['t h', 'Ġ th', 'Ġth e', 'h e', 'Ã ©', 'Ġ Ġ', 'ĠĠ ĠĠ', '1 2', '12 3', '- -'];
  const split = (more: object) => ({
    type: 'Sequence',
    pretokenizers: [
      { type: 'Split', behavior: 'Isolated', invert: false, ...more },
      { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
    ],
  });
  const token = (content: string, id: number, more: object = {}) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
    ...more,
  });
  const variants: [string, object][] = [
    ['cut by a pattern that covers all', { pre_tokenizer: split({ pattern: { Regex: '\\s*\\S+|\\s+' } }) }],
    ['cut by a pattern that leaves gaps', { pre_tokenizer: split({ pattern: { Regex: '\\d' } }) }],
    ['cut by a pattern that matches nothing at times', { pre_tokenizer: split({ pattern: { Regex: 'h*' } }) }],
    ['cut at a text', { pre_tokenizer: split({ pattern: { String: ' ' } }) }],
    ['whose separators are removed', { pre_tokenizer: split({ pattern: { Regex: '\\s' }, behavior: 'Removed' }) }],
    ['cut by a pattern of the pieces themselves', { pre_tokenizer: split({ pattern: { Regex: '\\w+' }, behavior: 'Removed', invert: true }) }],
    ['cut in two steps', { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, ...split({ pattern: { Regex: '\\s?\\S+|\\s+' } }).pretokenizers] } }],
    ['that normalizes', { normalizer: { type: 'NFC' } }],
    ['that normalizes in no steps', { normalizer: { type: 'Sequence', normalizers: [] } }],
    ['that normalizes in one step', { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFD' }] } }],
    ['that normalizes in two steps', { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }, { type: 'Lowercase' }] } }],
    ['with added tokens', { added_tokens: [token('<s>', 300), token('the', 301, { special: false }), token('e\u0301', 302, { normalized: true, rstrip: true })] }],
    ['with an added token in the place of another', { added_tokens: [token('<s>', 256)] }],
    ['that puts a token in front', { added_tokens: [token('<s>', 300)], post_processor: { type: 'TemplateProcessing', single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }], pair: [], special_tokens: {} } }],
    ['that puts tokens around', { post_processor: { type: 'RobertaProcessing', cls: ['th', 257], sep: ['the', 258] } }],
    ['that puts a token in front which it does not have', { model: { ...byteLevelJson(merges).model, unk_token: 'th' }, post_processor: { type: 'BertProcessing', cls: ['[CLS]', 1], sep: ['th', 2] } }],
    ['that ignores merges', byteLevelJson(merges, { ignore_merges: true })],
  ]; // biome-ignore format: a table

  it.each(variants)('%s encodes and decodes as the library', async (_, more) => {
    const json = { ...byteLevelJson(merges), ...more };
    const theirs = libraryOf(json, {});
    const unit = fc.constantFrom(
      't',
      'h',
      'e',
      ' ',
      'the',
      ' the',
      'é',
      'e\u0301',
      '1',
      '123',
      '-',
      '\n',
      '<s>',
      '中',
      'H',
    );
    for (const text of [JSON.stringify(json), asciiJson(json, 2)]) {
      const ours = await opened(text);
      expect(await isScanned(text)).toBe(true);
      fc.assert(
        fc.property(fc.string({ unit, maxLength: 25 }), fc.boolean(), (written, special) => {
          const ids = theirs.encode(written, { add_special_tokens: special }).ids;
          expect(ours.encode(written, special)).toEqual(ids.filter((id) => id !== undefined));
          if (ids.length > 0)
            expect(ours.decode(ids)).toBe(theirs.decode(ids, { clean_up_tokenization_spaces: false }));
        }),
        { numRuns: 60 },
      );
    }
  });

  it.each([
    ['a name twice', (text: string) => text.replace('"th":', '"!":7000,"th":')],
    ['an id twice', (text: string) => text.replace('"th":256', '"th":0')],
    ['other members twice', (text: string) => text.replace('{', '{"decoder":null,')],
  ])('whose file has %s is parsed as a whole, and taken as JSON.parse takes it', async (_, change) => {
    const text = change(JSON.stringify(byteLevelJson(merges)));
    expect(await isScanned(text)).toBe(false);
    const ours = await opened(text);
    const theirs = libraryOf(JSON.parse(text), {});
    for (const written of ['the the!', 'th', ' the é  123--', '!!']) {
      expect(ours.encode(written)).toEqual(theirs.encode(written, { add_special_tokens: true }).ids);
    }
    expect(ours.decode(ours.encode('!'))).toBe('!');
    expect(ours.vocabSize).toBe(Object.keys((JSON.parse(text) as ByteLevelJson).model.vocab).length);
  });

  it.each([
    ['of another kind', { model: { ...byteLevelJson(merges).model, type: 'WordPiece', unk_token: '!' } }],
    ['with bytes to fall back to', byteLevelJson(merges, { byte_fallback: true })],
    ['with another decoder', { decoder: { type: 'Fuse' } }],
    ['with a space in front', { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true } }],
    ['cut by something else', { pre_tokenizer: { type: 'WhitespaceSplit' } }],
  ])('%s is left to the library', async (_, more) => {
    expect(await isScanned(JSON.stringify({ ...byteLevelJson(merges), ...more }))).toBe(false);
  });
});
