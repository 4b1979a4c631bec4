import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countMessages, countTokens, decodeTokens, encodeMessages, encodeText } from '../../src/mock/tokenizer.ts';
import { UNICODE_TOKENS, WORDS } from '../../src/mock/words.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(fc.constantFrom(...WORDS, ...UNICODE_TOKENS, 'x', ' ', '日本', '12345', '\r\n', '<think>'), {
      maxLength: 20,
    })
    .map((a) => a.join('')),
);

describe('the tokenizer of the built-in server', () => {
  it('is undone by decoding, and counts what it makes', () => {
    fc.assert(
      fc.property(text, (sample) => {
        const ids = encodeText(sample);
        expect(decodeTokens(ids)).toBe(sample);
        expect(countTokens(sample)).toBe(ids.length);
        for (const id of ids) expect(Number.isInteger(id) && id >= 0 && id < 2 ** 31).toBe(true);
      }),
    );
  });

  it('takes each of its own words as one token, however they are joined', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...WORDS), { maxLength: 50 }), (words) => {
        expect(countTokens(words.join(''))).toBe(words.length);
      }),
    );
    expect(countTokens(UNICODE_TOKENS.join(''))).toBe(UNICODE_TOKENS.length);
  });

  it('cuts other words every four bytes, other characters every three, and punctuation singly', () => {
    // "Hello" 4+1, "," 1, " wor" "ld" 2, " of" 1 (a word of its own), " tok" "ens" 2.
    expect(countTokens('Hello, world of tokens')).toBe(8);
    // Two characters of three bytes each; then two of four bytes each: 8 bytes in pieces of 3.
    expect(countTokens('日本')).toBe(2);
    expect(countTokens('😀😀')).toBe(3);
    expect(countTokens('')).toBe(0);
  });

  it('counts a chat as its template is written', () => {
    const messages = [
      { role: 'system', content: 'you are' },
      { role: 'user', content: ' they not' },
    ];
    // <|im_start|> role \n … <|im_end|> \n is 5; "you " would be 1 but "you are" is "you" (4 bytes or less) and " are".
    expect(countMessages(messages, false)).toBe(5 + 2 + 5 + 2);
    expect(countMessages(messages, true)).toBe(5 + 2 + 5 + 2 + 3);
    expect(encodeMessages(messages, true)).toHaveLength(17);
    expect(decodeTokens(encodeMessages(messages, true))).toBe(
      '<|im_start|>system\nyou are<|im_end|>\n<|im_start|>user\n they not<|im_end|>\n<|im_start|>assistant\n',
    );
  });
});
