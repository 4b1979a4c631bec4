import { describe, expect, it } from 'vitest';
import { AnswerStream } from '../../src/sse/stream.ts';
import { goldenCases } from '../support/fixtures.ts';

interface SseCase {
  readonly name: string;
  readonly questionable?: string;
  readonly st: number;
  readonly chunks: readonly { readonly t: number; readonly b64: string }[];
  readonly state: {
    readonly token_frames: number;
    readonly text_so_far: string;
    readonly ttft: number;
    readonly itl: readonly number[];
    readonly last: number;
    readonly usage: unknown;
  } | null;
}

const cases = goldenCases<SseCase>('sse').filter((one) => one.state !== null);
const MAX_EVENT_BYTES = 1 << 20;

/** Reads the chunks at their recorded times, in milliseconds, and returns what the walker of the vectors tells, in seconds. */
function walk(one: SseCase) {
  const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
  stream.begin('chat', true, one.st * 1000);
  for (const [read, chunk] of one.chunks.entries()) stream.feed(Buffer.from(chunk.b64, 'base64'), chunk.t * 1000, read);
  stream.end();
  const times = [...stream.times.subarray(0, stream.tokenFrames)].map((ms) => ms / 1000);
  return {
    stream,
    state: {
      token_frames: stream.tokenFrames,
      text_so_far: stream.generatedText,
      ttft: times.length > 0 ? (times[0] as number) - one.st : 0,
      itl: times.slice(1).map((time, i) => time - (times[i] as number)),
      last: times.at(-1) ?? one.st,
      usage: stream.usage,
    },
  };
}

function caseOf(name: string): SseCase {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
}

describe('the walker of vLLM with the TabbyAPI corrections', () => {
  for (const one of cases.filter((each) => each.questionable === undefined)) {
    it(one.name, () => {
      const expected = one.state as NonNullable<SseCase['state']>;
      // {} is falsy usage for us and is not kept; the vectors keep the empty object and then treat it as none.
      const usage = one.name === 'usage_empty_object' ? null : expected.usage;
      expect(walk(one).state).toEqual({ ...expected, usage });
    });
  }

  it('has vectors for all of it', () => {
    expect(cases.length).toBeGreaterThan(55);
  });
});

describe('recorded behaviour that is doubtful, and what is right instead', () => {
  it('a byte order mark before the first event is dropped, and the event counts (SSE drops it; the shim lost the event)', () => {
    const { state, stream } = walk(caseOf('bom_first_event'));
    expect(state.text_so_far).toBe('Hello');
    expect(state.ttft).toBe(0.25);
    expect(state.itl).toEqual([0.0625]);
    expect(stream.usage).toEqual({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 });
    expect(walk(caseOf('bom_only_event')).state.token_frames).toBe(1);
  });

  it('[DONE] with a trailing space is [DONE]: white space around a payload says nothing', () => {
    const { stream, state } = walk(caseOf('done_trailing_space'));
    expect(stream.isDone).toBe(true);
    expect(stream.fault).toBeNull();
    expect(state.token_frames).toBe(1);
  });

  it('an event cut off by the end of the stream counts when it is whole JSON: its bytes did arrive, at that time', () => {
    const { state, stream } = walk(caseOf('final_without_terminator'));
    expect(state.text_so_far).toBe('Hello');
    expect(state.itl).toEqual([0.0625]);
    // That the stream was cut is told by what it lacks.
    expect(stream.isDone).toBe(false);
    expect(stream.isFinished).toBe(false);
  });

  it('a comment cut off in a character is no error', () => {
    const { state, stream } = walk(caseOf('final_truncated_utf8'));
    expect(stream.fault).toBeNull();
    expect(state.text_so_far).toBe('Hel');
  });

  it('invalid UTF-8 becomes U+FFFD, as in a browser, and the token counts', () => {
    const { state, stream } = walk(caseOf('invalid_utf8'));
    expect(stream.fault).toBeNull();
    expect(state.text_so_far).toBe('Hel\ufffd');
  });

  it('an error frame in the stream is a failure with the server’s words, not a success with the tokens so far', () => {
    const { stream, state } = walk(caseOf('error_mid_stream'));
    expect(stream.fault).toEqual({ kind: 'stream_error', words: 'CUDA error' });
    expect(state.token_frames).toBe(1);
    expect(walk(caseOf('event_error_type')).stream.fault).toEqual({ kind: 'stream_error', words: 'boom' });
    expect(walk(caseOf('error_as_choices')).stream.fault).toEqual({ kind: 'stream_error', words: 'x' });
  });

  it('an empty payload is no frame and no failure', () => {
    const { stream, state } = walk(caseOf('empty_data'));
    expect(stream.fault).toBeNull();
    expect(state.text_so_far).toBe('Hel');
    expect(state.ttft).toBe(0.3125);
  });

  it('a frame that is not JSON, or no object, fails the request; the tokens before it are kept apart', () => {
    expect(walk(caseOf('invalid_json')).stream.fault).toEqual({ kind: 'parse', words: '{oops}' });
    expect(walk(caseOf('invalid_json')).state.token_frames).toBe(1);
    expect(walk(caseOf('json_scalar')).stream.fault).toEqual({ kind: 'parse', words: '123' });
  });

  it('NaN, which Python writes into JSON, is read', () => {
    expect(walk(caseOf('json_nan')).state.text_so_far).toBe('n');
  });

  it('usage that is no object is no usage', () => {
    const { stream } = walk(caseOf('usage_list'));
    expect(stream.usage).toBeNull();
    expect(stream.fault).toBeNull();
  });

  it('lone CRs end lines (SSE): two events, both at the time of their read', () => {
    const { state } = walk(caseOf('lone_cr_separators'));
    expect(state.text_so_far).toBe('Hello');
    expect(state.token_frames).toBe(2);
  });

  it('of a frame with several choices the first listed one counts; texts are kept choice by choice', () => {
    const { state } = walk(caseOf('several_choices'));
    expect(state.text_so_far).toBe('ab');
    expect(state.token_frames).toBe(2);
  });

  it('content as a list of parts is text', () => {
    expect(walk(caseOf('content_list')).state.text_so_far).toBe('x');
  });

  it('leading spaces of a payload and a surrogate pair split over frames do not matter', () => {
    expect(walk(caseOf('data_many_spaces')).state.text_so_far).toBe('Hel');
    expect(walk(caseOf('surrogate_pair_split_over_frames')).state.text_so_far).toBe('😀');
  });

  it('frames before a lost connection are kept, for the transport to report apart', () => {
    expect(walk(caseOf('connection_lost_mid_stream')).state.itl).toEqual([0.0625]);
  });
});
