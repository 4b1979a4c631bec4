import { describe, expect, it } from 'vitest';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import type { RecordEnd, RecordHeader, RequestRecord } from '../../src/record/record.ts';
import { type FinishedReport, finishReport } from '../../src/report/finish.ts';
import { resultText } from '../../src/report/json.ts';
import { END, HEADER, request } from '../record/builder.ts';

interface Run {
  readonly requests: readonly RequestRecord[];
  readonly options?: Record<string, unknown>;
  readonly header?: Partial<RecordHeader>;
  readonly end?: Record<string, unknown>;
  readonly keep?: number;
}

async function run({ requests, options = {}, header = {}, end = {}, keep = 1000 }: Run): Promise<FinishedReport> {
  const aggregate = new RunAggregate({ maxExactValues: keep });
  for (const record of requests) aggregate.add(record);
  return await finishReport({
    aggregate,
    header: { ...HEADER, ...header, options: { ...HEADER.options, ...options } },
    end: { ...END, ...end } as RecordEnd,
  });
}

type Own = Record<string, Record<string, unknown> | undefined>;
const own = (report: FinishedReport) => (JSON.parse(resultText(report.result)) as { tabby_load: Own }).tabby_load;
const codes = ({ warnings }: FinishedReport) => warnings.map(({ code }) => code);
const warning = (report: FinishedReport, code: string) => report.warningLines[codes(report).indexOf(code)];
const text = ({ consoleLines }: FinishedReport) => consoleLines.join(' ').replace(/\s+/g, ' ');

const sent = (i: number, due: number, at: number, length: number) =>
  request(i, { arrival_time: 5000 + due, start_time: 5000 + at, ttft: length, itl: [], latency: length });
/** Eight requests, ten per second, one at a time, half a second each. */
const SLOW = Array.from({ length: 8 }, (_, k) => sent(k, k / 10, k / 2, 0.5));

describe('a plan that could not be kept', () => {
  it('is said, with how many were late, by how much, and why', async () => {
    const report = await run({ requests: SLOW, options: { request_rate: 10, max_concurrency: 1 } });
    expect(codes(report)).toContain('plan_not_kept');
    expect(warning(report, 'plan_not_kept')).toBe(
      'tabby-load: warning: not able to keep up with the requested rate: 88 % of the requests (7 of 8) were sent late, ' +
        'by 1,400 ms on average and 2,800 ms at most (p99 2,772 ms); 10.00 requests/s were due, 2.00 were sent; ' +
        'they waited for the places of --max-concurrency 1, which the server was too slow to free: this was a closed loop ' +
        'in all but name, and latencies since they were due hold the wait, those since sending do not',
    );
    const plan = own(report)['plan'];
    expect(plan).toMatchObject({
      kept: false,
      requests: 8,
      late: 7,
      late_share: 7 / 8,
      late_from_ms: 10,
      asked_rate: 10,
    });
    expect(plan?.['due_rate']).toBeCloseTo(10, 9);
    expect(plan?.['sent_rate']).toBeCloseTo(2, 9);
    expect(plan?.['late_by']).toHaveProperty('mean_ms', expect.closeTo(1400, 6));
    expect(plan?.['waiting_for_a_place']).toHaveProperty('max_ms', expect.closeTo(2800, 6));
    expect(plan?.['client_late']).toHaveProperty('max_ms', expect.closeTo(0, 6));
    expect(text(report)).toContain(
      'plan: 7 of 8 requests were sent more than 10 ms late; due at 10.00/s, sent at 2.00/s; late by mean 1400.0 ' +
        '(waiting for a place under --max-concurrency 1400.0, the client itself 0.0), p99 2772.0, max 2800.0 ms',
    );
  });

  it("is told apart from the client's own lateness", async () => {
    const requests = Array.from({ length: 8 }, (_, k) => sent(k, k, k + 0.05, 0.1));
    const health = {
      open_loop: true,
      workers: [
        { worker: 0, send_lateness_ms: { count: 4, mean: 50, p99: 49, max: 51 } },
        { worker: 1, send_lateness_ms: { count: 4, mean: 50, p99: 52, max: 50 } },
      ],
    };
    const late = await run({ requests, options: { request_rate: 1 }, end: { client_health: health } });
    expect(warning(late, 'plan_not_kept')).toContain('the client itself was late');
    expect(own(late)['plan']?.['client_late_by_workers']).toEqual({ p99_ms: 52, max_ms: 51 });
    // 500 ms until the place was free, 500 ms more.
    const both = await run({
      requests: [sent(0, 0, 0, 1.5), sent(1, 1, 2, 1), sent(2, 2, 3.5, 1)],
      options: { request_rate: 1, max_concurrency: 1 },
    });
    expect(warning(both, 'plan_not_kept')).toContain('60 % of that was waiting for the places of --max-concurrency 1');
  });

  it('is said of ramps and traces too, and where values were not kept', async () => {
    const ramp = { ramp_up_strategy: 'linear', ramp_up_start_rps: 1, ramp_up_end_rps: 9 };
    for (const options of [ramp, { self_timed: true }]) {
      const report = await run({ requests: SLOW, options });
      expect(codes(report)).toContain('plan_not_kept');
      expect(own(report)['plan']).not.toHaveProperty('asked_rate');
    }
    const many = await run({ requests: SLOW, options: { request_rate: 10, max_concurrency: 1 }, keep: 2 });
    expect(warning(many, 'plan_not_kept')).toContain('88 % of the requests (7 of 8)');
    expect(own(many)['plan']).not.toHaveProperty('client_late');
  });

  it('is not found where it was kept, nor in a closed loop', async () => {
    const requests = Array.from({ length: 40 }, (_, k) => sent(k, k / 10, k / 10 + (k === 7 ? 0.2 : 0.001), 0.05));
    const kept = await run({ requests, options: { request_rate: 10 } });
    // These records have no gaps between tokens, which is said; nothing else is.
    const others = (report: typeof kept) => codes(report).filter((code) => code !== 'answers_in_one_piece');
    expect(others(kept)).toEqual([]);
    expect(own(kept)['plan']).toMatchObject({ kept: true, late: 1 });
    expect(text(kept)).toContain('plan: 1 of 40 requests');
    const closed = await run({ requests: SLOW, options: { max_concurrency: 1, no_steady_state: true } });
    expect(others(closed)).toEqual([]);
    expect(own(closed)['plan']).toBeUndefined();
  });
});

describe('prompts from the cache', () => {
  const cached = (tokens: number) => [request(0, { cached_tokens: tokens }), request(1, { cached_tokens: 0 })];

  it('are warned about when they are many', async () => {
    const report = await run({ requests: cached(12) });
    expect(warning(report, 'prompts_cached')).toContain('50 % of the prompt tokens came from');
    expect(warning(report, 'prompts_cached')).toContain('--unique-prompts');
    expect(own(report)['prompt_cache']).toEqual({ requests: 2, cached_tokens: 12, prompt_tokens: 24, hit_rate: 0.5 });
    expect(codes(await run({ requests: cached(4) }))).toEqual([]);
    const unique = await run({ requests: cached(12), options: { unique_prompts: true } });
    expect(warning(unique, 'prompts_cached')).not.toContain('--unique-prompts');
  });

  it('are warned about when the run itself repeats them', async () => {
    const requests = [0, 1, 2, 3].map((i) => request(i));
    const report = await run({ requests, header: { prompts: 4, repeated_prompts: 2, first_repeat: 1 } });
    expect(warning(report, 'prompts_repeat')).toContain('2 prompts of 4 had been sent before in the same run');
    // A run that was ended early has sent the first of its requests only.
    const cut = await run({ requests, header: { prompts: 1200, repeated_prompts: 1000, first_repeat: 3 } });
    expect(warning(cut, 'prompts_repeat')).toContain('1 prompt of 4 had been sent before');
    expect(codes(await run({ requests, header: { prompts: 1200, repeated_prompts: 1000, first_repeat: 4 } }))).toEqual(
      [],
    );
    expect(codes(await run({ requests: [request(0)], header: { prompts: 1200, repeated_prompts: 0 } }))).toEqual([]);
  });
});

describe('accepted drafts', () => {
  it('are a share of the drafted tokens where the rejected ones are told', async () => {
    const report = await run({ requests: [request(0, { accepted_tokens: 3, rejected_tokens: 1 }), request(1)] });
    expect(own(report)['accepted_draft_tokens']).toEqual({
      requests: 1,
      accepted_tokens: 3,
      rejected_tokens: 1,
      output_tokens: 4,
      acceptance_rate: 0.75,
      share_of_output: 0.75,
    });
    expect(text(report)).toContain(
      '3 of 4 output tokens were accepted drafts; 75.0 % of 4 drafted tokens were accepted',
    );
  });

  it('are not spoken of where there is no draft model', async () => {
    const report = await run({ requests: [request(0, { accepted_tokens: 0, rejected_tokens: 0 })] });
    expect(text(report)).not.toContain('draft');
  });
});

describe('NTPOT', () => {
  it("is a metric of ours, not among vLLM's keys", async () => {
    // 160 ms / 4 tokens and 161 ms / 4 tokens.
    const report = await run({ requests: [request(0), request(1), request(2, { output_tokens: null })] });
    const { from_send: fromSend } = own(report)['latency'] as { from_send: Record<string, Record<string, number>> };
    expect(fromSend['ntpot']).toMatchObject({ count: 3 });
    expect(fromSend['ntpot']?.['min_ms']).toBeCloseTo(40, 9);
    expect([...report.result.keys()].filter((key) => key.includes('ntpot'))).toEqual([]);
  });
});
