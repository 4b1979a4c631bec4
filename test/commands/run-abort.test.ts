import { describe, expect, it } from 'vitest';
import { AbortRule } from '../../src/commands/run-abort.ts';
import { parseLimit } from '../../src/limits.ts';
import type { RequestRecord } from '../../src/record/record.ts';

const record = (more: Partial<RequestRecord>): RequestRecord => ({
  type: 'request',
  i: 0,
  success: true,
  prompt_len: 1,
  output_tokens: 11,
  ttft: 0.1,
  itl: [],
  latency: 1.1,
  start_time: 0,
  arrival_time: 0,
  error: '',
  ...more,
});

/** After how many such requests the run is hopeless; null: never. */
function hopelessAfter(limit: string, planned: number, more: Partial<RequestRecord>): number | null {
  const rule = new AbortRule([parseLimit(limit)], planned);
  for (let k = 1; k <= planned; k++) if (rule.add(record(more)) !== null) return k;
  return null;
}

describe('a limit is missed for good', () => {
  it.each<[string, number, Partial<RequestRecord>, number | null]>([
    // 1 % of 1,000 may be slower, and one more by interpolation.
    ['ttft p99 < 100ms', 1000, { ttft: 0.1 }, 12],
    ['ttft p99 <= 100ms', 1000, { ttft: 0.1 }, null],
    ['ttft p50 < 50ms', 100, {}, 52],
    ['ttft max < 50ms', 100, {}, 1],
    // 1 s over 10 gaps.
    ['tpot p99 < 99ms', 1000, {}, 12],
    ['tpot p99 < 101ms', 1000, {}, null],
    ['e2el p90 < 1s', 100, {}, 12],
    ['errors < 2%', 200, { success: false, error_kind: 'http' }, 5],
    ['errors < 2%', 200, { success: false, error_kind: 'aborted' }, null],
    // What can be made up for.
    ['ttft mean < 1ms', 100, {}, null],
    ['goodput > 1000', 100, {}, null],
    ['itl p99 < 1ms', 100, {}, null],
  ])('%s of %i requests', (limit, planned, more, after) => {
    expect(hopelessAfter(limit, planned, more)).toBe(after);
  }); // biome-ignore format: a table
});
