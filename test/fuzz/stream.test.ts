import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { FrameForm } from '../../src/record/answer.ts';
import { AnswerStream } from '../../src/sse/stream.ts';
import { fixture } from '../dataset/support.ts';
import { cutAt, cuts, fuzz, mutated } from './support.ts';

const names = readdirSync(fixture('wire')).filter((name) => name.endsWith('.sse'));
const recordings = names.map((name) => readFileSync(fixture(`wire/${name}`)));
const form = fc.constantFrom<FrameForm>('chat', 'completions');

/** Everything that a stream says, but for dates. Reads of one worker share their memory, so the pieces are put into one buffer in turn. */
function said(pieces: readonly Buffer[], kind: FrameForm, isShared: boolean): unknown {
  const stream = new AnswerStream({ maxEventBytes: 3000 });
  stream.begin(kind, true, 0);
  const memory = Buffer.alloc(1 << 16, 0x78);
  for (const [read, piece] of pieces.entries()) {
    if (isShared && piece.length <= memory.length) {
      piece.copy(memory, read % 7);
      stream.feed(memory, read, read, read % 7, (read % 7) + piece.length);
    } else stream.feed(piece, read, read);
  }
  stream.end();
  expect(stream.times.length).toBeGreaterThanOrEqual(stream.tokenFrames);
  return [
    stream.tokenFrames,
    stream.reasoningFrames,
    stream.generatedText,
    stream.usage,
    stream.isDone,
    stream.hasTrailingGarbage,
    stream.fault,
    stream.finishReason,
    stream.isFinished,
    stream.logprobTokens,
  ];
}

describe('streams of any bytes', () => {
  fuzz(
    'say the same however they are cut, and never throw',
    fc.property(mutated(recordings), cuts, form, (bytes, shares, kind) => {
      const whole = said([bytes], kind, false);
      expect(said(cutAt(bytes, shares), kind, true)).toEqual(whole);
    }),
  );

  fuzz(
    'say the same byte by byte',
    fc.property(mutated(recordings.filter(({ length }) => length < 8000)), form, (bytes, kind) => {
      expect(
        said(
          Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)),
          kind,
          true,
        ),
      ).toEqual(said([bytes], kind, false));
    }),
  );
});
