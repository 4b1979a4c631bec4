import { describe, expect, it } from 'vitest';
import { AnswerStream } from '../../src/sse/stream.ts';

const FRAME = 'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\r\n\r\n';

/** Is there something behind `[DONE]` that does not belong there? The same whether it comes in one piece or byte by byte. */
function hasGarbage(tail: string): boolean {
  const bytes = Buffer.from(`${FRAME}data: [DONE]${tail}`);
  const seen = [[bytes], Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))].map((chunks) => {
    const stream = new AnswerStream({ maxEventBytes: 1000 });
    stream.begin('chat', false, 0);
    for (const [read, chunk] of chunks.entries()) stream.feed(chunk, 0, read);
    stream.end();
    expect([stream.isDone, stream.fault, stream.tokenFrames, stream.isFinished]).toEqual([true, null, 1, true]);
    return stream.hasTrailingGarbage;
  });
  expect(seen[1]).toBe(seen[0]);
  return seen[0] as boolean;
}

describe('what comes behind [DONE]', () => {
  it('line ends and pings belong there', () => {
    for (const tail of [
      '',
      '\n\n',
      '\r\n\r\n',
      '\r\n\r\n\r\n',
      '\r\r',
      '\r\n\r\n: ping - 2026-12-01\r\n\r\n',
      '\n\n:a\n:b\n\n',
    ]) {
      expect(hasGarbage(tail), JSON.stringify(tail)).toBe(false);
    }
  });

  it('anything else is told', () => {
    for (const tail of [
      'no event',
      'data: {"late": true}\r\n\r\n',
      'data: not json\n\n',
      '\0\u0001',
      '\r\n\r\n{"detail":"x"}',
      ':ok\n\nnot ok',
    ]) {
      expect(hasGarbage(`\r\n\r\n${tail}`), JSON.stringify(tail)).toBe(true);
    }
  });
});
