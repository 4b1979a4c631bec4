/** When a request has taken too long. Only tokens are signs of life: TabbyAPI pings on for ever when the job behind a stream is gone. */
import type { AnswerReader } from '../record/answer.ts';
import type { Timeouts } from '../record/messages.ts';
import { GivenUp } from './outcome.ts';

/** A stream that was under way when the server lost its model gets so long for another token, ms. */
const ORPHAN_MS = 5000;

/** A request under way, as far as its time goes. */
export interface TimedRequest {
  /** Handed to its socket, ms. */
  readonly startMs: number;
  readonly stream: Pick<AnswerReader, 'tokenFrames' | 'times'>;
}

/**
 * Why the request is to be given up now; null when it may go on.
 * @param limits 0 = no limit
 * @param absentMs when the server was last found without its model, ms on the same clock; NaN = never
 */
export function overdue(request: TimedRequest, nowMs: number, limits: Timeouts, absentMs: number): GivenUp | null {
  const { startMs, stream } = request;
  const { firstTokenMs, tokenMs, requestMs } = limits;
  const { tokenFrames } = stream;
  const lastMs = tokenFrames === 0 ? startMs : (stream.times[tokenFrames - 1] as number);
  if (requestMs > 0 && nowMs - startMs > requestMs) {
    return new GivenUp('timeout_request', `not finished within ${requestMs / 1000} s`);
  }
  if (firstTokenMs > 0 && tokenFrames === 0 && nowMs - startMs > firstTokenMs) {
    return new GivenUp('timeout_first_token', `no token within ${firstTokenMs / 1000} s`);
  }
  if (tokenMs > 0 && tokenFrames > 0 && nowMs - lastMs > tokenMs) {
    const words = `no token for ${tokenMs / 1000} s after ${tokenFrames} token frames (pings do not count)`;
    return new GivenUp('timeout_idle', words);
  }
  // What was under way when the model went will not go on. What was sent later is no orphan.
  if (startMs < absentMs && nowMs - Math.max(absentMs, lastMs) > ORPHAN_MS) {
    const kind = tokenFrames === 0 ? 'timeout_first_token' : 'timeout_idle';
    return new GivenUp(kind, `the server lost its model; no token since, after ${tokenFrames} token frames`);
  }
  return null;
}
