/** Records for tests, and files of them in a folder of their own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { encodeFrame, encodeRequest, jsonLine } from '../../src/record/codec.ts';
import { type RecordDamage, type RecordReadResult, readRecordFile } from '../../src/record/codec-reader.ts';
import {
  RECORD_SCHEMA,
  type RecordEnd,
  type RecordFrame,
  type RecordHeader,
  type RequestRecord,
} from '../../src/record/record.ts';

export const HEADER: RecordHeader = {
  type: 'header',
  schema: RECORD_SCHEMA,
  started_at: '2026-12-01T03:45:00.000Z',
  options: { backend: 'openai-chat', model: 'm', num_prompts: 3 },
};

export const END: RecordEnd = { type: 'end', duration_s: 2.5, interrupted: false };

export function request(i: number, more: Partial<RequestRecord> = {}): RequestRecord {
  return {
    type: 'request',
    i,
    success: true,
    prompt_len: 12,
    output_tokens: 4,
    ttft: 0.1 + i / 1000,
    itl: Float64Array.of(0.01, 0.020000000000000004, 0.03),
    latency: 0.16 + i / 1000,
    start_time: 5000 + i,
    arrival_time: 5000 + i,
    error: '',
    ...more,
  };
}

/** The frames as the bytes of a msgpack record file. */
export function msgpackBytes(frames: readonly RecordFrame[]): Buffer {
  return Buffer.concat(
    frames.map((frame) => Buffer.from(frame.type === 'request' ? encodeRequest(frame) : encodeFrame(frame))),
  );
}

/** The frames as JSON lines. */
export function jsonLines(frames: readonly RecordFrame[]): string {
  return frames.map(jsonLine).join('');
}

export interface Folder {
  readonly path: string;
  file(name: string, content: string | Uint8Array): string;
  remove(): void;
}

export function folder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'tabby-load-records-'));
  return {
    path,
    file(name, content) {
      const at = join(path, name);
      writeFileSync(at, content);
      return at;
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

export interface ReadBack {
  headers: RecordHeader[];
  requests: RequestRecord[];
  ends: RecordEnd[];
  result: RecordReadResult;
  damage: RecordDamage | null;
}

export async function readBack(path: string): Promise<ReadBack> {
  const headers: RecordHeader[] = [];
  const requests: RequestRecord[] = [];
  const ends: RecordEnd[] = [];
  const result = await readRecordFile(path, {
    header: (frame) => headers.push(frame),
    request: (frame) => requests.push(frame),
    end: (frame) => ends.push(frame),
  });
  return { headers, requests, ends, result, damage: result.damage };
}

/** The record with its gaps as plain arrays, for comparison. */
export function plain(record: RequestRecord): Record<string, unknown> {
  const out: Record<string, unknown> = { ...record, itl: Array.from(record.itl) };
  if (record.partial !== undefined) out['partial'] = { ...record.partial, itl: Array.from(record.partial.itl) };
  return out;
}

const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x));

/** Any request that a run could write. */
export const anyRequest: fc.Arbitrary<RequestRecord> = fc
  .record(
    {
      i: fc.nat(),
      success: fc.boolean(),
      prompt_len: fc.nat(),
      output_tokens: fc.option(fc.nat()),
      ttft: finite,
      itl: fc.float64Array({ noNaN: true, noDefaultInfinity: true, maxLength: 40 }),
      latency: finite,
      start_time: finite,
      arrival_time: finite,
      error: fc.string({ unit: 'binary' }),
      error_kind: fc.constantFrom('http', 'reset', 'truncated'),
      status: fc.constantFrom(200, 503),
      server: fc.record({ prompt_time: finite, queue_time: finite }, { requiredKeys: [] }),
      finish_reason: fc.option(fc.string()),
      generated_text: fc.string({ unit: 'grapheme' }),
      partial: fc.record({
        ttft: finite,
        itl: fc.float64Array({ noNaN: true, noDefaultInfinity: true, maxLength: 5 }),
        latency: finite,
        frames: fc.nat(),
      }),
    },
    {
      requiredKeys: [
        'i',
        'success',
        'prompt_len',
        'output_tokens',
        'ttft',
        'itl',
        'latency',
        'start_time',
        'arrival_time',
        'error',
      ],
    },
  )
  .map((fields) => ({ type: 'request', ...fields }) as RequestRecord);
