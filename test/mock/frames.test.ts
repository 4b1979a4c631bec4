import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkOf, FrameTemplate, OPENAI_STYLE, type Span, TABBY_STYLE } from '../../src/mock/frames.ts';
import { WORDS } from '../../src/mock/words.ts';

const ID = 'chatcmpl-00112233445566778899aabbccddeeff';

describe('the quick way to a token frame', () => {
  it('gives the same bytes as the general way, for every style, kind, word, second and length of the names', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(TABBY_STYLE, OPENAI_STYLE),
        fc.constantFrom('chat' as const, 'completion' as const),
        fc.constantFrom('\r\n', '\n'),
        fc.oneof(fc.string({ maxLength: 20 }), fc.constant('m'.repeat(5000))),
        fc.array(fc.tuple(fc.nat(WORDS.length - 1), fc.integer({ min: 1_700_000_000, max: 1_700_000_002 })), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.nat(9),
        (style, kind, lineEnd, model, words, index) => {
          const template = new FrameTemplate(style, kind, model, lineEnd, ID);
          const other = Buffer.from(ID.replaceAll('0', 'f'));
          const span: Span = { buffer: Buffer.alloc(0), start: 0, end: 0 };
          for (const [word, second] of words) {
            // Another stream in another second must not disturb this one.
            template.word(other, (index + 1) % 10, (word + 1) % WORDS.length, second + 1, span);
            template.word(Buffer.from(ID), index, word, second, span);
            const json = style.event(kind, ID, second, model, { index, content: WORDS[word] as string });
            expect(span.buffer.toString('utf8', span.start, span.end)).toBe(
              chunkOf(`data: ${json}${lineEnd}${lineEnd}`).toString(),
            );
          }
        },
      ),
    );
  });

  it('ends a body with the empty chunk', () => {
    expect(chunkOf('').toString()).toBe('0\r\n\r\n');
    expect(chunkOf('é').toString()).toBe('2\r\né\r\n');
  });
});
