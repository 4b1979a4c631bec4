/**
 * Checks a decoded frame of a file of unknown origin and brings it into the shape of `record.ts`. Lenient where the meaning is plain
 * (files written by hand or by another program), strict about numbers: a value that is no finite number must not reach a statistic.
 */
import type { RecordEnd, RecordFrame, RecordHeader, RequestRecord } from './record.ts';
import { RECORD_SCHEMA } from './record.ts';

/** Why a frame cannot be used, in words that fit behind "line 5: " or "byte 812: ". */
export class FrameProblem extends Error {}

/** The file was written by another version; nothing in it can be trusted to mean what it seems. */
export class WrongSchema extends FrameProblem {}

/** Levels of values in a header or an end; the scan of msgpack frames has the same limit. */
const MAX_DEPTH = 64;

type Raw = Readonly<Record<string, unknown>>;

/** Optional fields of a request that are whole numbers from 0 on. */
const COUNTS = [
  'client_prompt_len',
  'status',
  'output_len',
  'worker',
  'frames',
  'merged_frames',
  'reads',
  'reasoning_frames',
  'retries',
  'logprob_tokens',
  'cached_tokens',
  'accepted_tokens',
  'rejected_tokens',
  'num_input_sequences',
] as const;

/** Optional fields of a request that are times in seconds. */
const DURATIONS = ['first_byte', 'first_answer', 'end', 'connect_s', 'retry_wait_s', 'input_audio_duration'] as const;

/** Optional fields of a request that are text. */
const TEXTS = ['error_kind', 'category', 'generated_text', 'request_id', 'content_encoding', 'finish_reason'] as const;

/**
 * The frame, or null for a kind of frame that this version does not know (it is passed over).
 * @param nextIndex index of a request that has none: its place in the file
 * @throws FrameProblem
 */
export function checkFrame(raw: unknown, nextIndex: number): RecordFrame | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || ArrayBuffer.isView(raw)) {
    throw new FrameProblem('not an object');
  }
  const frame = raw as Raw;
  switch (frame['type']) {
    case 'header':
      return checkHeader(frame);
    case 'end':
      return checkEnd(frame);
    case 'request':
      return checkRequest(frame, nextIndex);
    case undefined:
      if ('success' in frame || ('ttft' in frame && 'latency' in frame)) return checkRequest(frame, nextIndex);
      throw new FrameProblem('not a record: it has no "type" and is no request');
    default:
      if (typeof frame['type'] === 'string') return null;
      throw new FrameProblem('"type" is not text');
  }
}

function checkHeader(frame: Raw): RecordHeader {
  checkDepth(frame, MAX_DEPTH);
  const schema = frame['schema'] ?? RECORD_SCHEMA;
  if (schema !== RECORD_SCHEMA) {
    throw new WrongSchema(`written as ${JSON.stringify(schema)}, this version reads "${RECORD_SCHEMA}"`);
  }
  const options = frame['options'] ?? {};
  if (typeof options !== 'object' || Array.isArray(options)) throw new FrameProblem('"options" is not an object');
  const started = frame['started_at'];
  return {
    ...frame,
    type: 'header',
    schema: RECORD_SCHEMA,
    started_at: typeof started === 'string' ? started : '',
    options: options as Raw,
  };
}

function checkEnd(frame: Raw): RecordEnd {
  checkDepth(frame, MAX_DEPTH);
  return {
    ...frame,
    type: 'end',
    duration_s: duration(frame, 'duration_s', undefined),
    interrupted: frame['interrupted'] === true,
  };
}

/** Headers and ends are passed on as they are, and whatever walks over them must come to an end. */
function checkDepth(value: unknown, left: number): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (left === 0) throw new FrameProblem('values are nested too deep');
  for (const item of Object.values(value)) checkDepth(item, left - 1);
}

function checkRequest(frame: Raw, nextIndex: number): RequestRecord {
  const i = number(frame, 'i', nextIndex);
  if (!Number.isSafeInteger(i) || i < 0) throw new FrameProblem(`"i" is not an index: ${i}`);
  const start = number(frame, 'start_time', 0);
  const error = frame['error'] ?? '';
  if (typeof error !== 'string') throw new FrameProblem('"error" is not text');
  const success = frame['success'] ?? error === '';
  if (typeof success !== 'boolean') throw new FrameProblem('"success" is neither true nor false');
  const out: Record<string, unknown> = {
    type: 'request',
    i,
    success,
    prompt_len: count(frame, 'prompt_len', 0),
    output_tokens: frame['output_tokens'] == null ? null : count(frame, 'output_tokens', 0),
    ttft: duration(frame, 'ttft'),
    itl: gaps(frame, 'itl'),
    latency: duration(frame, 'latency'),
    start_time: start,
    arrival_time: number(frame, 'arrival_time', start),
    error,
  };
  copyOptional(frame, out);
  return out as unknown as RequestRecord;
}

function copyOptional(frame: Raw, out: Record<string, unknown>): void {
  for (const key of COUNTS) if (frame[key] != null) out[key] = count(frame, key, 0);
  for (const key of DURATIONS) if (frame[key] != null) out[key] = duration(frame, key);
  for (const key of TEXTS) if (frame[key] != null) out[key] = text(frame, key);
  if (frame['finish_reason'] === null) out['finish_reason'] = null;
  if (frame['stale_reconnect'] === true) out['stale_reconnect'] = true;
  if (frame['trailing_garbage'] === true) out['trailing_garbage'] = true;
  const server = frame['server'];
  if (typeof server === 'object' && server !== null) out['server'] = serverTimes(server as Raw);
  const partial = frame['partial'];
  if (typeof partial === 'object' && partial !== null) {
    out['partial'] = {
      ttft: duration(partial as Raw, 'ttft'),
      itl: gaps(partial as Raw, 'itl'),
      latency: duration(partial as Raw, 'latency'),
      frames: count(partial as Raw, 'frames', 0),
    };
  }
}

/** What a server told of its own times. Its errors are no damage of the file: a value that is no time is left out. */
function serverTimes(server: Raw): Record<string, number> {
  const times: Record<string, number> = {};
  for (const key of ['prompt_time', 'completion_time', 'total_time', 'queue_time']) {
    const value = server[key];
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) times[key] = value;
  }
  return times;
}

function text(frame: Raw, key: string): string {
  const value = frame[key];
  if (typeof value === 'string') return value;
  throw new FrameProblem(`"${key}" is not text`);
}

function number(frame: Raw, key: string, fallback: number | undefined): number {
  const value = frame[key] ?? fallback;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new FrameProblem(value === undefined ? `"${key}" is missing` : `"${key}" is not a finite number`);
}

function duration(frame: Raw, key: string, fallback: number | undefined = 0): number {
  const value = number(frame, key, fallback);
  if (value < 0) throw new FrameProblem(`"${key}" is a negative time: ${value}`);
  return value;
}

function count(frame: Raw, key: string, fallback: number): number {
  const value = number(frame, key, fallback);
  if (value < 0 || !Number.isInteger(value)) throw new FrameProblem(`"${key}" is not a count: ${value}`);
  return value;
}

function gaps(frame: Raw, key: string): Float64Array {
  const value = frame[key];
  if (value == null) return NO_GAPS;
  const list = value instanceof Float64Array ? value : Array.isArray(value) ? value : null;
  if (list === null) throw new FrameProblem(`"${key}" is not a list of numbers`);
  for (let k = 0; k < list.length; k++) {
    if (typeof list[k] !== 'number' || !Number.isFinite(list[k])) {
      throw new FrameProblem(`"${key}" holds something that is no finite number, at ${k}`);
    }
    if ((list[k] as number) < 0) throw new FrameProblem(`"${key}" holds a negative time, at ${k}`);
  }
  return list instanceof Float64Array ? list : Float64Array.from(list as number[]);
}

const NO_GAPS = new Float64Array(0);
