import { describe, expect, it } from 'vitest';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import type { RecordEnd, RequestRecord } from '../../src/record/record.ts';
import { type FinishedReport, finishReport } from '../../src/report/finish.ts';
import { resultText } from '../../src/report/json.ts';
import { END, HEADER, request } from '../record/builder.ts';

async function run(
  requests: readonly RequestRecord[],
  options: Record<string, unknown>,
  end: Record<string, unknown> = {},
): Promise<FinishedReport> {
  const aggregate = new RunAggregate();
  for (const record of requests) aggregate.add(record);
  return await finishReport({
    aggregate,
    header: { ...HEADER, options: { ...HEADER.options, ...options } },
    end: { ...END, ...end } as RecordEnd,
  });
}

const block = (report: FinishedReport): Record<string, unknown> | undefined =>
  (JSON.parse(resultText(report.result)) as { tabby_load: { steady_state?: Record<string, unknown> } }).tabby_load
    .steady_state;
const codes = ({ warnings }: FinishedReport) => warnings.map(({ code }) => code);
const warning = (report: FinishedReport, code: string) => report.warningLines[codes(report).indexOf(code)];
const lines = ({ consoleLines }: FinishedReport) => consoleLines.slice(consoleLines.lastIndexOf('='.repeat(50)) + 1);

/** One second long, four tokens in four frames. */
const second = (i: number, start: number, length = 1) =>
  request(i, {
    start_time: 5000 + start,
    arrival_time: 5000,
    ttft: length / 4,
    itl: [length / 4, length / 4, length / 4],
    latency: length,
  });
/** Two places: three rounds of a second each, and a last answer of ten seconds. */
const CLOSED = [0, 0, 1, 1, 2, 2].map((start, i) => second(i, start)).concat(second(6, 3, 10));

describe('the steady state in the report', () => {
  it('is a block, a line and, when it is short, a warning', async () => {
    const report = await run(CLOSED, { max_concurrency: 2 }, { duration_s: 13 });
    expect(block(report)).toMatchObject({
      reached: true,
      threshold: 0.95,
      concurrency: 2,
      concurrency_is: 'asked',
      min_in_flight: 2,
      peak_in_flight: 2,
      start_s: 0,
      end_s: 3,
      duration_s: 3,
      share_of_run: 3 / 13,
      share_at_level: 1,
      min_window_s: 10,
      short: true,
      requests_started: 6,
      requests_completed: 6,
      requests_failed: 0,
      completed_throughput: 2,
      ttft: { count: 6, mean_ms: 250 },
      tpot: { mean_ms: 250 },
      ntpot: { mean_ms: 250 },
      itl: { count: 18, mean_ms: 250 },
      e2el: { p99_ms: 1000 },
    });
    // Two in flight, a second each; twelve prompt tokens and four output tokens per request.
    expect(block(report)?.['request_throughput']).toBeCloseTo(2, 9);
    expect(block(report)?.['output_throughput']).toBeCloseTo(8, 9);
    expect(block(report)?.['input_throughput']).toBeCloseTo(24, 9);
    expect(block(report)?.['total_token_throughput']).toBeCloseTo(32, 9);
    expect(report.result.get('request_throughput')).toBeCloseTo(7 / 13, 9);
    expect(lines(report).join(' ').replace(/\s+/g, ' ')).toBe(
      'tabby-load: steady state: 3.0 s (23 % of the run) with all 2 in flight: 2.00 req/s, 8.0 output tok/s; ' +
        'TTFT mean 250.0, p99 250.0 ms; TPOT mean 250.00, p99 250.00 ms; E2EL mean 1000.0, p99 1000.0 ms',
    );
    expect(codes(report)).toEqual(['steady_state_short']);
    expect(warning(report, 'steady_state_short')).toContain('3.0 s long (23 % of the run), shorter than 10.0 s');
  });

  it('is judged by the length asked for, or a tenth of the run', async () => {
    const asked = await run(CLOSED, { max_concurrency: 2, steady_state_min_window_ms: 3000 });
    expect(codes(asked)).toEqual([]);
    const long = await run(CLOSED, { max_concurrency: 2 }, { duration_s: 400 });
    expect(block(long)).toMatchObject({ min_window_s: 40, short: true });
  });

  it('opens at the share asked for', async () => {
    const report = await run(CLOSED, { max_concurrency: 2, steady_state_threshold: 0.5 }, { duration_s: 13 });
    expect(block(report)).toMatchObject({
      threshold: 0.5,
      min_in_flight: 1,
      duration_s: 13,
      share_of_run: 1,
      short: false,
    });
    await expect(run(CLOSED, { steady_state_threshold: 2 })).rejects.toThrow('--steady-state-threshold');
  });

  it('is left out when it is not wanted', async () => {
    const report = await run(CLOSED, { max_concurrency: 2, no_steady_state: true });
    expect(block(report)).toBeUndefined();
    expect(codes(report)).toEqual([]);
    expect(lines(report)).toEqual([]);
  });

  it('says when it was never reached, unless the client is named as the reason', async () => {
    const report = await run(CLOSED, { max_concurrency: 100 });
    expect(block(report)).toEqual({
      reached: false,
      threshold: 0.95,
      concurrency: 100,
      concurrency_is: 'asked',
      min_in_flight: 95,
      peak_in_flight: 2,
    });
    expect(codes(report)).toEqual(['steady_state_none']);
    expect(warning(report, 'steady_state_none')).toContain('at most 2 of the 100 requests asked for');
    expect(warning(report, 'steady_state_none')).toContain('fewer requests than --max-concurrency');
    const health = { asked_in_flight: 100, max_in_flight: 2, workers: [{ worker: 0 }] };
    expect(codes(await run(CLOSED, { max_concurrency: 100 }, { client_health: health }))).toEqual([
      'client_in_flight_low',
    ]);
  });

  it('is told without a warning where no concurrency was meant to last', async () => {
    const all = await run(CLOSED, {});
    expect(block(all)).toMatchObject({ concurrency: 2, concurrency_is: 'observed', reached: true });
    expect(codes(all)).toEqual([]);
    expect(lines(all)).toEqual([]);
    const open = CLOSED.map((record) => ({ ...record, arrival_time: record.start_time }));
    expect(codes(await run(open, { max_concurrency: 2, request_rate: 2 }))).toEqual([]);
    expect(codes(await run(open, { max_concurrency: 50, request_rate: 2 }))).toEqual([]);
  });

  it('says when the number in flight sagged', async () => {
    const gap = [second(0, 0, 4), second(1, 0), second(2, 3)];
    const report = await run(gap, { max_concurrency: 2 });
    expect(block(report)?.['share_at_level']).toBeCloseTo(0.5, 9);
    expect(lines(report)[0]).toContain('in flight (50 % of that time)');
  });

  it('tells how exact it is', async () => {
    const aggregate = new RunAggregate({ maxExactValues: 3 });
    for (const record of CLOSED) aggregate.add(record);
    const report = await finishReport({
      aggregate,
      header: { ...HEADER, options: { ...HEADER.options, max_concurrency: 2 } },
      end: END,
    });
    expect(block(report)?.['precision']).toEqual({ slice_s: 0.01, segment_s: 1 });
  });
});
