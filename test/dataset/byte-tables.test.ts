/** The flat tables against Maps, and UTF-8 against Node's. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_PAIR, PairTable } from '../../src/dataset/pair-table.ts';
import { NO_TOKEN, TokenTable } from '../../src/dataset/token-table.ts';
import { writeUtf8 } from '../../src/dataset/utf8.ts';

/** Deterministic numbers below `below` that look random. */
function* numbers(below: number): Generator<number, never> {
  for (let state = 1; ; ) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    yield (state >>> 8) % below;
  }
}

describe('TokenTable', () => {
  it('grows from nothing, and finds every token by its bytes and by its id', () => {
    const table = new TokenTable(0);
    const drawn = numbers(256);
    const ids = new Map<string, number>();
    for (let drawnTokens = 0; ids.size < 20_000; drawnTokens++) {
      const bytes = Buffer.from(Array.from({ length: 1 + (drawnTokens % 7) }, () => drawn.next().value));
      const key = bytes.toString('latin1');
      // In order to 9,999, then from 1,000,000 down.
      const id = ids.size < 10_000 ? ids.size : 1_010_000 - ids.size;
      expect(table.add(bytes, 0, bytes.length, id)).toBe(!ids.has(key));
      if (!ids.has(key)) ids.set(key, id);
    }
    expect([table.finish(), table.count]).toEqual([true, 20_000]);
    const wrong = [...ids].filter(([key, id]) => {
      const bytes = Buffer.from(`--${key}-`, 'latin1');
      const entry = table.find(bytes, 2, bytes.length - 1);
      const spelled = Buffer.from(table.blob.subarray(table.start(entry), table.end(entry))).toString('latin1');
      return table.idAt(entry) !== id || table.entryOf(id) !== entry || spelled !== key;
    });
    expect(wrong).toEqual([]);
    const absent = Buffer.from('eight by');
    expect(table.find(absent, 0, absent.length)).toBe(NO_TOKEN);
    expect([table.entryOf(10_000), table.entryOf(-1), table.entryOf(2_000_000)]).toEqual([
      NO_TOKEN,
      NO_TOKEN,
      NO_TOKEN,
    ]);
  });

  it('refuses a token twice, an id twice, and ids far apart', () => {
    const table = () => {
      const made = new TokenTable(4);
      for (const [byte, id] of [[1, 0], [2, 5]] as const) made.add(Uint8Array.of(byte), 0, 1, id); // biome-ignore format: pairs
      made.addOdd('€', 6);
      return made;
    };
    expect([table().finish(), table().add(Uint8Array.of(2), 0, 1, 7), table().addOdd('€', 7)]).toEqual([
      true,
      false,
      false,
    ]);
    const twice = table();
    twice.addOdd('日', 5);
    const far = table();
    far.addOdd('日', 2_000_000);
    expect([twice.finish(), far.finish()]).toEqual([false, false]);
  });
});

describe('PairTable', () => {
  it('grows from nothing, and gives every pair its last rank', () => {
    const table = new PairTable(0);
    const drawn = numbers(300);
    const ranks = new Map<string, number>();
    for (let rank = 0; rank < 30_000; rank++) {
      const [left, right] = [drawn.next().value, drawn.next().value];
      table.add(left, right, rank * 2);
      ranks.set(`${left} ${right}`, rank);
    }
    const wrong: string[] = [];
    for (let left = 0; left <= 300; left++) {
      for (let right = 0; right <= 300; right++) {
        const rank = table.rank(left, right);
        if (rank !== (ranks.get(`${left} ${right}`) ?? NO_PAIR)) wrong.push(`${left} ${right}`);
        else if (rank !== NO_PAIR && table.merged(rank) !== rank * 2) wrong.push(`merged ${rank}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(ranks.size).toBeLessThan(30_000);
  });
});

describe('writeUtf8', () => {
  it('writes what Node writes, for any part of a text', () => {
    const unit = fc.constantFrom(
      'a',
      '\0',
      '\x7f',
      '\x80',
      '߿',
      'ࠀ',
      '￿',
      '\ud7ff',
      '\ue000',
      '😀',
      '\u{10ffff}',
      '\ud83d',
      '\ude00',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 20 }), fc.nat(20), fc.nat(20), (text, from, length) => {
        const start = Math.min(from, text.length);
        const end = Math.min(start + length, text.length);
        const bytes = new Uint8Array(3 * 20);
        const written = writeUtf8(text, start, end, bytes);
        expect(Buffer.from(bytes.subarray(0, written))).toEqual(Buffer.from(text.slice(start, end), 'utf8'));
      }),
      { numRuns: 500 },
    );
  });
});
