import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Column, GapStore } from '../../src/aggregate/columns.ts';

describe('Column', () => {
  it('gives back what was set, and NaN elsewhere, over any distance', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(200_000), fc.double({ noNaN: true })), { maxLength: 30 }), (sets) => {
        const column = new Column();
        const plain = new Map<number, number>();
        for (const [at, value] of sets) {
          column.set(at, value);
          plain.set(at, value);
        }
        for (const [at, value] of plain) expect(column.get(at)).toBe(value);
        expect(column.used).toBe(sets.length > 0);
        const free = sets.reduce((most, [at]) => Math.max(most, at), 0) + 1;
        expect(column.get(free)).toBeNaN();
      }),
      { numRuns: 50 },
    );
  });
});

describe('GapStore', () => {
  it('gives back each part as it was appended, across its chunks, from typed and plain arrays', () => {
    const store = new GapStore();
    const lengths = [1, 0, 70_000, 65_536, 3, 200_000, 65_535, 5];
    const parts = lengths.map((length, k) => Float64Array.from({ length }, (_, j) => k + j / 1e6));
    parts.forEach((part, k) => {
      store.append(k % 2 === 0 ? part : Array.from(part));
    });
    expect(store.length).toBe(lengths.reduce((a, b) => a + b, 0));
    let offset = 0;
    for (const part of parts) {
      const back = new Float64Array(part.length + 2);
      store.copy(offset, part.length, back, 1);
      expect(Buffer.compare(Buffer.from(back.buffer, 8, part.byteLength), Buffer.from(part.buffer))).toBe(0);
      expect([back[0], back.at(-1)]).toEqual([0, 0]);
      offset += part.length;
    }
  });
});
