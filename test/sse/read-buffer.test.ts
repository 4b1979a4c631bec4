import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerStream } from '../../src/sse/stream.ts';

const token = (id: number, text: string) =>
  `data: {"id": "chatcmpl-${id}", "created": 1796092125, "choices": [{"index": 0, "delta": {"content": ${JSON.stringify(text)}}, "finish_reason": null}]}\r\n\r\n`;
const finish = (id: number) =>
  `data: {"id": "chatcmpl-${id}", "created": 1796092125, "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": {"completion_tokens": 9}}\r\n\r\n`;

/** The events of one answer, and what must be seen of them. */
function answer(id: number, words: readonly string[]): { events: string[]; text: string } {
  return {
    events: [...words.map((word) => token(id, word)), finish(id), 'data: [DONE]\r\n\r\n'],
    text: words.join(''),
  };
}

const word = fc.constantFrom(' a', ' made', ' who', ' because', ' "', ' é', '\n', ' x');

describe('many streams over one read buffer', () => {
  // Every read of a worker lands in the same memory, at its beginning: nothing of an earlier read may be looked at again.
  it('are read as if each had memory of its own', () => {
    const streams = fc.array(fc.array(word, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(streams, fc.infiniteStream(fc.nat(3)), fc.nat(80), (texts, picks, gap) => {
        const buffer = Buffer.alloc(4096, 'x');
        const answers = texts.map((words, id) => answer(id, words));
        const readers = answers.map(() => {
          const stream = new AnswerStream({ maxEventBytes: 4000 });
          stream.begin('chat', true, 0);
          return stream;
        });
        let read = 0;
        while (answers.some(({ events }) => events.length > 0)) {
          const k = Number(picks.next().value) % answers.length;
          const event = (answers[k] as (typeof answers)[number]).events.shift();
          if (event === undefined) continue;
          // With and without something before the event, as chunk sizes and headers are.
          const at = read % 3 === 0 ? gap : 0;
          const end = at + buffer.write(event, at);
          readers[k]?.feed(buffer, read, read, at, end);
          read++;
        }
        for (const [k, stream] of readers.entries()) {
          const { length } = texts[k] as readonly string[];
          expect([stream.tokenFrames, stream.finishReason, stream.isDone, stream.fault]).toEqual([
            length,
            'length',
            true,
            null,
          ]);
          expect(stream.generatedText).toBe(answers[k]?.text);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
