import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeptText } from '../../src/sse/kept-text.ts';

/** JSON as Python writes it by default: everything beyond ASCII escaped. */
function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

describe('the text of an answer', () => {
  const piece = fc.record({
    text: fc.string({ unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 2 }), fc.constantFrom('\\', '"', '\n', '\ud83d', '\ude00', 'a', '中')) }),
    way: fc.constantFrom('text', 'literal', 'ascii'),
  }); // biome-ignore format: a table

  it('is what was added, whichever way it came', () => {
    const kept = new KeptText();
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        kept.clear();
        for (const { text, way } of pieces) {
          if (way === 'text') kept.addText(text);
          else {
            const literal = Buffer.from(`..${way === 'ascii' ? asciiJson(text) : JSON.stringify(text)}..`);
            kept.addLiteral(literal, 3, literal.length - 3);
          }
        }
        expect(String(kept)).toBe(pieces.map(({ text }) => text).join(''));
      }),
    );
  });

  it('takes the halves of a character in two frames as two wrong characters', () => {
    const kept = new KeptText();
    const bytes = Buffer.from('é');
    kept.addLiteral(bytes, 0, 1);
    kept.addLiteral(bytes, 1, 2);
    expect(String(kept)).toBe('\ufffd\ufffd');
  });
});
