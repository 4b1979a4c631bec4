/** A vocabulary that is read from the bytes of a file is the one that JSON.parse reads, or none. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BYTE_CHARS } from '../../src/dataset/byte-alphabet.ts';
import { NO_PAIR } from '../../src/dataset/pair-table.ts';
import { type ScannedTokenizer, scanTokenizer } from '../../src/dataset/tokenizer-scan.ts';
import { asciiJson, type ByteLevelJson, byteLevelJson } from './byte-level.ts';
import { modelFolder, scratchFile, scratchFolder } from './support.ts';

const folder = scratchFolder();

function scan(content: string | Buffer, isWanted: Parameters<typeof scanTokenizer>[1] = () => true) {
  return scanTokenizer(scratchFile(folder, 'tokenizer.json', content), isWanted);
}

/** What of `json` is not in `scanned`, or otherwise there. Empty: all is the same. */
function differences(scanned: ScannedTokenizer | null, json: ByteLevelJson): string[] {
  if (scanned === null) return ['nothing was read'];
  const { tokens, pairs } = scanned.tables;
  const { vocab, merges, ...model } = json.model;
  const wrong: string[] = [];
  const entries = Object.entries(vocab);
  if (tokens.count !== entries.length) wrong.push(`${tokens.count} tokens`);
  for (const [token, id] of entries) {
    if (tokens.idOf(token) !== id || tokens.textOf(id) !== token) wrong.push(`token ${token}`);
  }
  const ranks = new Map(
    merges.map((merge, rank) => [(typeof merge === 'string' ? merge.split(' ') : merge).join(' '), rank]),
  );
  for (const [merge, rank] of ranks) {
    const [left, right] = merge.split(' ') as [string, string];
    if (pairs.rank(vocab[left]!, vocab[right]!) !== rank) wrong.push(`rank of ${merge}`);
    if (pairs.merged(rank) !== vocab[left + right]) wrong.push(`what becomes of ${merge}`);
  }
  const rest = { ...json, model: { ...model, vocab: {}, merges: [] } };
  if (JSON.stringify(sorted(scanned.json)) !== JSON.stringify(sorted(rest))) wrong.push('the rest');
  return wrong.slice(0, 5);
}

/** The same with the members of all objects in order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}

const small = byteLevelJson(['t h', 'Ġ th', 'Ġth e', 'Ã ¶', '" \\', 'Ġ Ġ', 'ĠĠ ĠĠ']);

describe('the vocabulary of a real model', () => {
  it.each(['qwen3', 'llama3'] as const)('%s: every token, every merge and the rest', (name) => {
    const path = join(modelFolder(name), 'tokenizer.json');
    const scanned = scanTokenizer(path, () => true);
    expect(differences(scanned, JSON.parse(readFileSync(path, 'utf8')) as ByteLevelJson)).toEqual([]);
    const { count } = scanned!.tables.tokens;
    expect(scanned!.tables.pairs.rank(count - 1, count - 1)).toBe(NO_PAIR);
    expect(scanned!.tables.tokens.idOf('no such token')).toBeUndefined();
    expect([scanned!.tables.tokens.textOf(-1), scanned!.tables.tokens.textOf(200_000)]).toEqual([undefined, undefined]);
  });
});

describe('the same file', () => {
  const paired = {
    ...small,
    model: {
      ...small.model,
      merges: small.model.merges.map((merge) => (merge as string).split(' ') as [string, string]),
    },
  };
  it.each([
    ['in one line', JSON.stringify(small)],
    ['on many lines', JSON.stringify(small, null, 2)],
    ['with line ends of Windows and tabs', JSON.stringify(small, null, '\t').replaceAll('\n', '\r\n')],
    ['in ASCII', asciiJson(small)],
    ['in ASCII, capital digits', asciiJson(small).replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`)],
    ['with letters and quotes as escapes', JSON.stringify(small).replaceAll('"t h"', '"\\u0074\\u0020h"').replace('"\\""', '"\\u0022"')],
    ['with slashes as escapes', JSON.stringify(small).replaceAll('"/"', '"\\/"')],
    ['with the members in order of their names', JSON.stringify(sorted(small))],
    ['with white space longer than what is read at a time', JSON.stringify(small).replace(':', `:${' '.repeat(5000)}`)],
    ['with white space at the end', `${JSON.stringify(small)}${'\n'.repeat(300_000)}`],
  ])('%s', (_, text) => {
    expect(differences(scan(text), small)).toEqual([]);
  }); // biome-ignore format: a table

  it('with merges as pairs', () => {
    expect(differences(scan(JSON.stringify(paired)), paired)).toEqual([]);
    expect(differences(scan(asciiJson(paired, 1)), paired)).toEqual([]);
    expect(differences(scan(JSON.stringify(sorted(paired), null, 1)), paired)).toEqual([]);
  });

  it('with ids in any order, and gaps between them', () => {
    const ids = Object.keys(small.model.vocab).map((token, i) => [token, (i * 7919) % 100_003] as const);
    const json = { ...small, model: { ...small.model, vocab: Object.fromEntries(ids) } };
    expect(differences(scan(JSON.stringify(json)), json)).toEqual([]);
    expect(scan(JSON.stringify(json))!.tables.tokens.textOf(1)).toBeUndefined();
  });
});

describe('tokens that are not spelled in bytes', () => {
  it('are kept as texts, merges of them too', () => {
    const odd = ['<｜begin▁of▁sentence｜>', 'two words', '\n', '日本', '😀', '€', '日', '本', ''];
    const vocab = Object.fromEntries([...Object.keys(small.model.vocab), ...odd].map((token, id) => [token, id]));
    const merges = [...small.model.merges, '日 本', ['Ġ', 'Ġ']] as (string | [string, string])[];
    const json = { ...small, model: { ...small.model, vocab, merges } };
    for (const text of [JSON.stringify(json), asciiJson(json)]) {
      expect(differences(scan(text), json)).toEqual([]);
      // "âĤ¬" spells the bytes of "€", which is another token.
      expect(scan(text)!.tables.tokens.idOf('âĤ¬')).toBeUndefined();
    }
  });
});

describe('a file that is not plain', () => {
  const text = JSON.stringify(small);
  const model = (more: object) => JSON.stringify({ ...small, model: { ...small.model, ...more } });
  const last = Object.keys(small.model.vocab).length - 1;
  it.each([
    ['no object', '[]'],
    ['empty', ''],
    ['without a vocabulary', JSON.stringify({ ...small, model: { type: 'BPE', merges: [] } })],
    ['without merges', JSON.stringify({ ...small, model: { type: 'BPE', vocab: small.model.vocab } })],
    ['with a list for a vocabulary', model({ vocab: [['a', -1]] })],
    ['with an object for merges', model({ merges: {} })],
    ['with an empty vocabulary', model({ vocab: {} })],
    ['without one of the bytes', text.replace('"!":', '"!!":')],
    ['with a merge of what is no token', model({ merges: ['x y'] })],
    ['with a merge of three', model({ merges: ['t h e'] })],
    ['with a merge of one', model({ merges: ['th'] })],
    ['with a pair of three', model({ merges: [['t', 'h', 'e']] })],
    ['with a number for a merge', model({ merges: [1] })],
    ['with a token twice', text.replace('"th":', '"t":').replace('"t h",', '')],
    ['with an id twice', text.replace(`:${last}`, `:${last - 1}`)],
    ['with a negative id', text.replace(':7,', ':-7,')],
    ['with a fraction', text.replace(':7,', ':7.0,')],
    ['with an exponent', text.replace(':7,', ':7e0,')],
    ['with a zero in front', text.replace(':7,', ':07,')],
    ['with a long id', text.replace(':7,', ':12345678901,')],
    ['with ids far apart', text.replace(':7,', ':123456789,')],
    ['with a comma at the end of the vocabulary', text.replace(`:${last}}`, `:${last},}`)],
    ['with a comma at the end of the merges', text.replace('"]', '",]')],
    ['with a member twice', text.replace('{', '{"decoder":null,')],
    ['with a name in escapes', text.replace('"vocab"', '"voc\\u0061b"')],
    ['with an escape that is none', text.replace('"!"', '"\\x21"')],
    ['with half a character', text.replace('"vocab":{', '"vocab":{"\\ud83d":9999,')],
    ['with a control character in a token', text.replace('"vocab":{', '"vocab":{"\n":9999,')],
    ['with something behind', `${text} x`],
    ['with something behind much white space', `${text}${' '.repeat(300_000)}x`],
    ['with a zero byte behind', `${text}\0`],
    ['with something behind its merges', JSON.stringify(sorted(small)).replace(/"\],/, '"] 1,')],
    ['with a mark in front', `\ufeff${text}`],
  ])('%s', (_, content) => {
    expect(content === text).toBe(false);
    expect(scan(content)).toBeNull();
  }); // biome-ignore format: a table

  it('in another encoding', () => {
    expect(scan(Buffer.from(text, 'latin1'))).toBeNull();
    expect(scan(Buffer.from(text, 'utf16le'))).toBeNull();
    expect(
      scan(Buffer.from(text.replace('"Ġ"', '"@@"')).map((byte) => (byte === 0x40 ? 0xc0 : byte)) as Buffer),
    ).toBeNull();
  });

  it('that is not there, or is a folder', () => {
    expect(scanTokenizer(join(folder, 'none.json'), () => true)).toBeNull();
    expect(scanTokenizer(folder, () => true)).toBeNull();
  });

  it('that ends anywhere', () => {
    const bytes = Buffer.from(text);
    const read = Array.from({ length: bytes.length }, (_, end) => end).filter(
      (end) => scan(bytes.subarray(0, end)) !== null,
    );
    expect(read).toEqual([]);
  });

  it('with any byte changed: is read as JSON.parse reads it, or not', () => {
    const bytes = Buffer.from(text);
    let same = 0;
    fc.assert(
      fc.property(
        fc.nat(bytes.length - 1),
        fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:\\ 01-'))),
        (at, byte) => {
          const changed = Buffer.from(bytes);
          changed[at] = byte;
          const scanned = scan(changed);
          if (scanned === null) return;
          same++;
          expect(differences(scanned, JSON.parse(changed.toString('utf8')) as ByteLevelJson)).toEqual([]);
        },
      ),
      { numRuns: 2000 },
    );
    // Many changes leave a good file: the test is about something.
    expect(same).toBeGreaterThan(20);
  });
});

describe('a tokenizer that is not wanted', () => {
  it('is left before its vocabulary is read, or at the end', () => {
    const asked: [unknown, boolean][] = [];
    const wanted = (answer: (isWhole: boolean) => boolean) =>
      scan(JSON.stringify(small), (json, isWhole) => {
        asked.push([json, isWhole]);
        return answer(isWhole);
      });
    expect(wanted(() => false)).toBeNull();
    expect(asked).toEqual([[{ ...small, model: { type: 'BPE', vocab: {} } }, false]]);
    expect(wanted((isWhole) => !isWhole)).toBeNull();
    expect(asked.slice(1)).toEqual([asked[0], [{ ...small, model: { type: 'BPE', vocab: {}, merges: [] } }, true]]);
    expect(wanted(() => true)).not.toBeNull();
  });
});

describe('any vocabulary', () => {
  const letter = fc.constantFrom(...BYTE_CHARS);
  const merge = fc.tuple(
    fc.string({ unit: letter, minLength: 1, maxLength: 4 }),
    fc.string({ unit: letter, minLength: 1, maxLength: 4 }),
  );

  it('is read as JSON.parse reads it, however it is written', () => {
    fc.assert(
      fc.property(
        fc.array(merge, { maxLength: 40 }),
        fc.boolean(),
        fc.boolean(),
        fc.nat(4),
        (merges, asPairs, isAscii, indent) => {
          const parts = merges.flat();
          const plain = byteLevelJson(asPairs ? merges : merges.map((pair) => pair.join(' ')));
          const tokens = [...new Set([...Object.keys(plain.model.vocab), ...parts])];
          const json = {
            ...plain,
            model: { ...plain.model, vocab: Object.fromEntries(tokens.map((token, id) => [token, id])) },
          };
          expect(
            differences(scan(isAscii ? asciiJson(json, indent) : JSON.stringify(json, null, indent)), json),
          ).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});
