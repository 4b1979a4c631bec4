import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eachChunk, lineOf, openInput } from '../../src/dataset/input-file.ts';
import { scratchFile, scratchFolder } from './support.ts';

const folder = scratchFolder();

async function readBack(content: string | Buffer, chunkBytes: number): Promise<{ text: string; offsets: number[] }> {
  const file = await openInput(scratchFile(folder, 'file', content));
  const parts: Buffer[] = [];
  const offsets: number[] = [];
  try {
    await eachChunk(
      file,
      (chunk, offset) => {
        parts.push(Buffer.from(chunk));
        offsets.push(offset);
      },
      chunkBytes,
    );
  } finally {
    await file.handle.close();
  }
  return { text: Buffer.concat(parts).toString('utf8'), offsets };
}

describe('openInput', () => {
  it.each([
    ['missing', () => join(folder, 'none.json'), /none\.json does not exist$/],
    ['below a file', () => join(scratchFile(folder, 'f', 'x'), 'y'), /does not exist$/],
    ['a folder', () => folder, /is a folder$/],
    ['empty', () => scratchFile(folder, 'empty', ''), /empty is empty$/],
    ['a device', () => '/dev/null', /is not an ordinary file$/],
    ['gzip', () => scratchFile(folder, 'z', Buffer.from('1f8b0800', 'hex')), /is packed \(gzip\)$/],
    ['zip', () => scratchFile(folder, 'z', 'PK\x03\x04...'), /is packed \(zip\)$/],
    ['Parquet', () => scratchFile(folder, 'p', 'PAR1....'), /is a Parquet file$/],
    ['UTF-16', () => scratchFile(folder, 'u', Buffer.from('\ufeff[]', 'utf16le')), /is UTF-16 text$/],
  ])('refuses a file that is %s', async (_, make, message) => {
    await expect(openInput(make())).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });

  it.skipIf(process.getuid?.() === 0)('refuses a file that may not be read', async () => {
    const path = scratchFile(folder, 'secret', 'x');
    chmodSync(path, 0);
    await expect(openInput(path)).rejects.toThrow('may not be read');
  });
});

describe('eachChunk', () => {
  it('gives all bytes in order, whatever the size of the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.integer({ min: 1, max: 9 }),
        async (text, chunkBytes) => {
          fc.pre(!text.startsWith('\ufeff') && !/^(PK|BZh|PAR1)/.test(text));
          const { text: read, offsets } = await readBack(text, chunkBytes);
          expect(read).toBe(text);
          expect(offsets).toEqual(offsets.map((_, i) => i * chunkBytes));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('leaves out a BOM', async () => {
    expect(await readBack('\ufeffabc', 2)).toEqual({ text: 'abc', offsets: [3, 5] });
    expect(await readBack('\ufeff', 2)).toEqual({ text: '', offsets: [] });
  });

  // Each is wrong from byte 3 on: a lone continuation, a byte that never occurs, an overlong form, a surrogate, beyond U+10FFFF, a cut end.
  it.each(['80', 'ff', 'c0af', 'e08041', 'eda080', 'f4908080', 'f09f9a', 'e282', 'c3'])(
    'finds that %s is not UTF-8, wherever the chunks are cut',
    async (hex) => {
      const bytes = Buffer.concat([Buffer.from('é1'), Buffer.from(hex, 'hex')]);
      for (const after of ['', 'x', 'é and more text']) {
        for (const chunkBytes of [1, 2, 3, 4, 5, 64]) {
          const content = Buffer.concat([bytes, Buffer.from(after)]);
          await expect(readBack(content, chunkBytes)).rejects.toThrow(/: byte 3 is not UTF-8 text$/);
        }
      }
    },
  );

  it('passes on what the reader throws', async () => {
    const file = await openInput(scratchFile(folder, 'thrown', 'abc'));
    const thrown = new Error('enough');
    await expect(
      eachChunk(file, () => {
        throw thrown;
      }),
    ).rejects.toBe(thrown);
    await file.handle.close();
  });
});

describe('lineOf', () => {
  it('counts the lines before an offset', async () => {
    mkdirSync(folder, { recursive: true });
    const file = await openInput(scratchFile(folder, 'lines', 'a\n\nb\r\nc'));
    expect(await Promise.all([0, 1, 2, 3, 4, 6, 100].map((offset) => lineOf(file, offset)))).toEqual([
      1, 1, 2, 3, 3, 4, 4,
    ]);
    await file.handle.close();
  });
});
