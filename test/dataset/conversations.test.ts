import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexConversations, readEntry } from '../../src/dataset/conversations.ts';
import { openInput } from '../../src/dataset/input-file.ts';
import { scratchFile, scratchFolder } from './support.ts';

const folder = scratchFolder();

async function indexOf(content: string, chunkBytes?: number) {
  const file = await openInput(scratchFile(folder, 'conversations.json', content));
  try {
    const index = await indexConversations(file, chunkBytes);
    const entries = await Promise.all(index.numbers.map((_, i) => readEntry(file, index, i)));
    return { ...index, found: entries };
  } finally {
    await file.handle.close();
  }
}

/** What Python keeps: `"conversations" in entry and len(entry["conversations"]) >= 2`. */
function pythonKeeps(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null || !Object.hasOwn(entry, 'conversations')) return false;
  const value = (entry as { conversations: unknown }).conversations;
  if (typeof value === 'string') return [...value].length >= 2;
  return Object.keys(value as object).length >= 2;
}

const turn = fc.record({ from: fc.string(), value: fc.string({ unit: 'binary' }) });
const entry = fc.oneof(
  { weight: 6, arbitrary: fc.record({ id: fc.string(), conversations: fc.array(turn, { maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ conversations: fc.array(turn), more: fc.jsonValue(), id: fc.string() }) },
  fc.record({
    conversations: fc.oneof(
      fc.string({ maxLength: 3 }),
      fc.constantFrom('🚀', '🚀🚀'),
      fc.dictionary(fc.string(), turn),
    ),
  }),
  fc.record({ items: fc.array(turn), nested: fc.record({ conversations: fc.array(turn, { minLength: 2 }) }) }),
  fc.constantFrom('conversations', [], [{ conversations: [1, 2] }], {}),
);

describe('indexConversations', () => {
  it('finds the entries that Python keeps, in any layout and however the file is cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 12 }),
        fc.constantFrom(undefined, 1, '\t'),
        fc.constantFrom('', '\ufeff', ' \r\n'),
        fc.constantFrom(1, 2, 3, 5, 16, 61, undefined),
        async (entries, indent, before, chunkBytes) => {
          const json = JSON.stringify(entries, null, indent).replaceAll('\n', '\r\n');
          const index = await indexOf(`${before}${json}\n`, chunkBytes);
          const kept = entries.flatMap((value, i) => (pythonKeeps(value) ? [i] : []));
          expect(index.numbers).toEqual(kept);
          expect(index.found).toEqual(kept.map((i) => JSON.parse(JSON.stringify(entries[i]))));
          expect(index.entries).toBe(entries.length);
          expect(index.strange).toBe(
            entries.filter((value) => typeof value === 'string' || Array.isArray(value)).length,
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it('takes the last of repeated members, and names written with escapes', async () => {
    const two = '[{"value":"a"},{"value":"b"}]';
    const index = await indexOf(
      `[{"conversations":[],"conversations":${two}},{"conversations":${two},"conversations":[1]},` +
        `{"\\u0063onversations":${two}},{"conversations":null,"conversations":${two}},{"Conversations":${two}}]`,
    );
    expect(index.numbers).toEqual([0, 2, 3]);
  });

  it('counts only the turns of the list itself', async () => {
    expect((await indexOf('[{"conversations":[[1,2,3]]},{"conversations":[{"a":[1,2]},[]]}]')).numbers).toEqual([1]);
  });

  it.each([
    ['{"conversations":[]}', /is not a ShareGPT file: it begins with an object \(byte 0, line 1\)$/],
    ['"text"', /is not a ShareGPT file: it is a single value \(byte 0, line 1\)$/],
    ['[\n{},\nnull]', /is not a ShareGPT file: entry 1 is no object \(byte 6, line 3\)$/],
    ['[{}, {"conversations": 5}]', /is not a ShareGPT file: "conversations" of entry 1 is no list \(byte 5, line 1\)$/],
    ['[{"conversations": null}]', /"conversations" of entry 0 is no list/],
    ['[{}]\n[{}]', /is not valid JSON: "\[" where nothing more should be \(byte 5, line 2, entry 0\)$/],
    ['[{}]{', /is not valid JSON/],
    ['[{"a": Nan}]', /is not valid JSON: "n" where the word NaN should be \(byte 9, line 1, entry 0\)$/],
    ['[{"a": "b\n"}]', /is not valid JSON: control character 0x0a inside a text/],
    ['   \n', /is cut off: it ends before its first value/],
    ['[{"conversations": [{"value": "abc', /is cut off: it ends inside a text \(byte 34, line 1, entry 0\)$/],
    ['[\n{}\n', /is cut off: it ends inside a list \(byte 5, line 3, entry 0\)$/],
  ])('refuses %j', async (content, message) => {
    await expect(indexOf(content)).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });

  it('never takes a file for whole that was cut off or has lost a part of its structure', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 4 }), fc.nat(), async (entries, at) => {
        const bytes = Buffer.from(JSON.stringify(entries));
        const cut = bytes.subarray(0, 1 + (at % (bytes.length - 1)));
        await expect(indexOf(cut.toString('latin1').replace(/[\x80-\xff]/g, '?'))).rejects.toThrow(/cut off/);
      }),
      { numRuns: 100 },
    );
  });
});

describe('readEntry', () => {
  it('notices that the file has changed', async () => {
    const path = scratchFile(folder, 'changing.json', '[{"conversations":[1,2]}]');
    const file = await openInput(path);
    const index = await indexConversations(file);
    scratchFile(folder, 'changing.json', '[{"conversations":oops!!]}]');
    await expect(readEntry(file, index, 0)).rejects.toThrow(/changed while it was read \(entry 0/);
    await file.handle.close();
  });
});
