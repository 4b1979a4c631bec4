import { describe, expect, it } from 'vitest';
import { answerOf } from '../../src/aggregate/sweep-answer.ts';
import { SWEEP_SCHEMA, type SweepDocument } from '../../src/record/sweep.ts';
import { sweepCsv, sweepLines } from '../../src/report/sweep-table.ts';
import { level } from '../fixtures/sweep/level.ts';

const levels = [
  level({ level: 16, output_throughput: 1600.04, queueMs: 12.34 }),
  level({ level: 2, status: 'failed', reason: '8 of 8 requests failed\u001b[31m', failed: 8, client_was_limit: null }),
];
const document: SweepDocument = {
  schema: SWEEP_SCHEMA,
  version: '0',
  started_at: '',
  axis: 'concurrency',
  asked: 'auto',
  samples_sha256: 'ab',
  options: {},
  server: {},
  levels,
  answer: answerOf({ axis: 'concurrency', levels, jobs: null, hasLimits: false, goodputTarget: null }),
  complete: true,
};

describe('the table of a sweep', () => {
  it('has a line per level in order, aligned, and no control characters from outside', () => {
    const [title = '', two, sixteen = '', bases, reason] = sweepLines(document);
    expect(title.trim().split(/\s{2,}/)[0]).toBe('streams');
    expect(two).toMatch(/^ +2 .* failed$/);
    expect(sixteen).toMatch(/^ +16 +1600\.0 +4\.00 +50\.0 +50\.0 +10\.0 +10\.0 +12\.3 +0 +ok$/);
    expect(title.indexOf('tok/s') + 'tok/s'.length).toBe(sixteen.indexOf('1600.0') + '1600.0'.length);
    expect(bases).toMatch(/^tok\/s in steady state/);
    expect(reason).toBe('2: 8 of 8 requests failed\\u001b[31m');
  });

  it('is CSV with as many fields in each line, in order of the level', () => {
    const lines = sweepCsv(document).split('\r\n');
    expect(lines.pop()).toBe('');
    const rows = lines.map((line) => line.split(','));
    expect(new Set(rows.map((row) => row.length)).size).toBe(1);
    expect(rows.map((row) => row.slice(0, 2))).toEqual([
      ['concurrency', 'status'],
      ['2', 'failed'],
      ['16', 'done'],
    ]);
    const at = rows[0]?.indexOf('server_queue_mean_ms') ?? -1;
    expect(rows.map((row) => row[at])).toEqual(['server_queue_mean_ms', '', '12.34']);
  });
});
