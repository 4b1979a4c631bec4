import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import { initHistograms } from '../../src/aggregate/histogram.ts';
import { AppError } from '../../src/errors.ts';
import { encodeFrame, encodeRequest, jsonLine } from '../../src/record/codec.ts';
import { readRecordFile } from '../../src/record/codec-reader.ts';
import { RECORD_SCHEMA, type RecordEnd, type RecordHeader, type RequestRecord } from '../../src/record/record.ts';
import { finishReport } from '../../src/report/finish.ts';
import { scratchFolder } from '../dataset/support.ts';
import { fuzz, hostileText, mutated } from './support.ts';

await initHistograms();
const dir = scratchFolder();
const header: RecordHeader = {
  type: 'header',
  schema: RECORD_SCHEMA,
  started_at: '2026-12-01T02:00:00.000Z',
  options: { model: 'm' },
  planned: 3,
};
const end: RecordEnd = { type: 'end', duration_s: 1.5, interrupted: false };
const requests: RequestRecord[] = [0, 1, 2].map((i) => ({
  type: 'request',
  i,
  success: i !== 1,
  prompt_len: 10,
  output_tokens: i === 1 ? null : 3,
  ttft: i === 1 ? 0 : 0.1,
  itl: i === 1 ? [] : [0.01, 0.02],
  latency: i === 1 ? 0 : 0.13,
  start_time: i,
  arrival_time: i,
  error: i === 1 ? 'HTTP 500' : '',
  ...(i === 1 ? { error_kind: 'http' as const, status: 500 } : { finish_reason: 'length' }),
}));
const frames = [header, ...requests, end];
const files = [
  Buffer.concat([
    encodeFrame(header),
    ...requests.map((one) => Uint8Array.from(encodeRequest(one))),
    Uint8Array.from(encodeFrame(end)),
  ]),
  Buffer.from(frames.map(jsonLine).join('')),
];

describe('record files of any bytes', () => {
  fuzz(
    'give what can be read of them, or a message for people',
    fc.asyncProperty(mutated(files, 6), async (bytes) => {
      const path = join(dir, 'r');
      writeFileSync(path, bytes);
      const aggregate = new RunAggregate();
      try {
        const read = await readRecordFile(path, { request: (one) => aggregate.add(one) });
        expect(aggregate.completed + aggregate.failed).toBe(read.requests);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        expect(error.exitCode).toBe(2);
        return;
      }
      // What was read can be reported, whatever it says.
      const report = await finishReport({ aggregate, header, end });
      expect(report.completed + report.failed).toBe(aggregate.completed + aggregate.failed);
    }),
  );
});

describe('texts of a server', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/;

  fuzz(
    'never reach the terminal as they are',
    fc.asyncProperty(hostileText, hostileText, hostileText, async (error, reason, category) => {
      const aggregate = new RunAggregate();
      aggregate.add({ ...(requests[0] as RequestRecord), finish_reason: reason, category });
      aggregate.add({ ...(requests[1] as RequestRecord), error: error || 'x', content_encoding: reason, category });
      const hostile = { ...header, options: { ...header.options, model: error, label: reason } };
      const last = { ...end, interrupted: true, interrupted_by: error, lost_workers: [error] };
      const report = await finishReport({ aggregate, header: hostile, end: last });
      for (const line of [...report.consoleLines, ...report.warningLines]) expect(line).not.toMatch(control);
    }),
  );
});
