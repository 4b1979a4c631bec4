import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openInput } from '../../src/dataset/input-file.ts';
import { eachJsonLine, type JsonLine } from '../../src/dataset/jsonl.ts';
import { parsePythonJson } from '../../src/python-json.ts';
import { scratchFile, scratchFolder } from './support.ts';

const folder = scratchFolder();

async function rowsOf(content: string, chunkBytes?: number): Promise<JsonLine[]> {
  const file = await openInput(scratchFile(folder, 'lines.jsonl', content));
  const rows: JsonLine[] = [];
  try {
    await eachJsonLine(file, (row) => rows.push(row), chunkBytes);
  } finally {
    await file.handle.close();
  }
  return rows;
}

describe('eachJsonLine', () => {
  it('gives every row with its line, however the file is cut into chunks', async () => {
    const line = fc.oneof(
      fc.constantFrom('', ' ', '\t'),
      fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        async (lines, end, closed, chunkBytes) => {
          const texts = lines.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
          const content = texts.join(end) + (closed ? end : '');
          fc.pre(content !== '');
          const expected = texts.flatMap((text, i) =>
            text.trim() === '' ? [] : [{ line: i + 1, row: JSON.parse(text) }],
          );
          expect(await rowsOf(content, chunkBytes)).toEqual(expected);
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([
    ['{"a": 1}\n{"a": \n', /lines\.jsonl, line 2: not a JSON object$/],
    ['[1]', /line 1: a list where a JSON object should be$/],
    ['{}\n\nnull\n', /line 3: null where a JSON object should be$/],
    ['{} {}', /line 1: not a JSON object$/],
  ])('refuses %j', async (content, message) => {
    await expect(rowsOf(content)).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });
});

describe('the words of Python that are no JSON', () => {
  it.each<[string, unknown]>([
    ['{"a": NaN}', { a: null }],
    ['{"a": [Infinity, -Infinity]}', { a: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] }],
    ['{"NaN \\" Infinity": "-Infinity", "b": NaN}', { 'NaN " Infinity': '-Infinity', b: null }],
  ])('%s', (text, value) => {
    expect(parsePythonJson(text)).toEqual(value);
  });

  it.each(['nan', '-NaN', 'NaNs', '"NaN', '{NaN: 1}', '1NaN'])('but not %s', (text) => {
    expect(() => parsePythonJson(text)).toThrow(SyntaxError);
  });
});
