/** The reader that fits the answers of a run. */
import type { AnswerReader } from '../record/answer.ts';
import { AnswerStream } from './stream.ts';
import { WholeAnswer } from './whole.ts';

/** One for each slot; it reads one answer after another. */
export function newReader(target: { readonly isWhole: boolean; readonly maxEventBytes: number }): AnswerReader {
  return target.isWhole
    ? new WholeAnswer(target.maxEventBytes)
    : new AnswerStream({ maxEventBytes: target.maxEventBytes });
}
