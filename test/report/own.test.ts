import { describe, expect, it } from 'vitest';
import { RunAggregate, type RunAggregateOptions } from '../../src/aggregate/collect.ts';
import type { RecordEnd, RecordHeader, RequestRecord } from '../../src/record/record.ts';
import { type FinishedReport, finishReport } from '../../src/report/finish.ts';
import { resultText } from '../../src/report/json.ts';
import { WARNING_CODES, warningText } from '../../src/report/warnings.ts';
import { END, HEADER, request } from '../record/builder.ts';

interface Run {
  requests?: RequestRecord[];
  options?: Record<string, unknown>;
  header?: Partial<RecordHeader>;
  end?: Record<string, unknown>;
  keep?: RunAggregateOptions;
}

async function run({ requests = [], options = {}, header = {}, end = {}, keep = {} }: Run): Promise<FinishedReport> {
  const aggregate = new RunAggregate(keep);
  for (const record of requests) aggregate.add(record);
  return await finishReport({
    aggregate,
    header: { ...HEADER, ...header, options: { ...HEADER.options, ...options } },
    end: { ...END, ...end } as RecordEnd,
  });
}

/** The lines of ours, without the prefix. */
function lines({ consoleLines }: FinishedReport): string[] {
  const end = consoleLines.lastIndexOf('='.repeat(50));
  return consoleLines.slice(end + 1).map((line) => line.slice('tabby-load: '.length));
}

type Own = Record<string, Record<string, unknown>>;

function own(report: FinishedReport): Own {
  return (JSON.parse(resultText(report.result)) as { tabby_load: Own }).tabby_load;
}

function codes({ warnings }: FinishedReport): string[] {
  return warnings.map(({ code }) => code);
}

const TABBY = { server: { kind: 'tabbyapi', model: 'Stub' } };
const failure = (i: number, more: Partial<RequestRecord>) =>
  request(i, { success: false, output_tokens: null, ttft: 0, latency: 0, itl: [], ...more });

describe('the lines of ours', () => {
  it('say nothing when there is nothing to say', async () => {
    const report = await run({ requests: [request(0, { output_len: 4, finish_reason: 'length' })] });
    expect(lines(report)).toEqual([]);
    expect(report.warningLines).toEqual([]);
  });

  it('list failures by kind and status, with the words of the server made printable', async () => {
    const report = await run({
      requests: [
        request(0),
        failure(1, { error_kind: 'http', status: 503, error: 'HTTP 503: busy\u001b[31m' }),
        failure(2, { error_kind: 'http', status: 503, error: 'HTTP 503: later' }),
        failure(3, { error_kind: 'http', status: 400, error: `HTTP 400: ${'x'.repeat(400)}` }),
        failure(4, { error_kind: 'truncated', error: 'cut', partial: { ttft: 0.1, itl: [], latency: 0.1, frames: 1 } }),
      ],
    });
    expect(lines(report).slice(0, 3)).toEqual([
      '4 of 5 requests failed, 1 of them after the first token; they are in no latency figure',
      'http 503, 2 times: HTTP 503: busy\\u001b[31m',
      'http 400, once: HTTP 400:',
    ]);
    expect(lines(report).at(-1)).toBe('truncated, once: cut');
    expect(report.consoleLines.join('\n')).not.toContain('\u001b');
    expect(own(report)['errors']).toEqual({
      kinds: {
        http: {
          count: 3,
          sample: 'HTTP 503: busy\u001b[31m',
          statuses: {
            400: { count: 1, sample: `HTTP 400: ${'x'.repeat(400)}` },
            503: { count: 2, sample: 'HTTP 503: busy\u001b[31m' },
          },
        },
        truncated: { count: 1, sample: 'cut' },
      },
      after_first_token: 1,
    });
  });

  it("explain TabbyAPI's lengths", async () => {
    const made = (i: number, asked: number, tokens: number, reason = 'length') =>
      request(i, { output_len: asked, output_tokens: tokens, frames: tokens, finish_reason: reason });
    const tabby = await run({ requests: [made(0, 5, 4), made(1, 9, 8), made(2, 1, 1)], header: TABBY });
    expect(lines(tabby).join(' ')).toContain('asked 15, made 13 tokens (1 exact, 2 short, 0 long)');
    expect(lines(tabby).join(' ')).toContain(
      'TabbyAPI makes one token fewer than max_tokens asks for: 2 requests of 3',
    );
    expect((own(tabby)['output_length'] as { why: string[] }).why[0]).toContain('--exact-length');

    const draft = await run({ requests: [made(0, 20, 15), made(1, 30, 25)], header: TABBY });
    expect(lines(draft).join(' ')).toContain('and here 4 more for the draft model');

    const other = await run({ requests: [made(0, 5, 4)] });
    expect(lines(other).join(' ')).toContain('1 request of 1 ended at the limit with 1 fewer than asked for');

    const ownEnd = await run({ requests: [made(0, 9, 3, 'stop'), made(1, 3, 5)], header: TABBY });
    expect(lines(ownEnd).join(' ')).toContain('1 request of 2 ended by themselves');
    expect(lines(ownEnd).join(' ')).toContain('1 request of 2 made more tokens than asked for');
    expect(lines(ownEnd)).toContain('finish reasons: stop 1, length 1');
  });

  it("set the server's times beside the client's", async () => {
    const report = await run({
      requests: [0, 1].map((i) =>
        request(i, { server: { prompt_time: 0.05, completion_time: 0.06, queue_time: 0.01 * i, total_time: 0.12 } }),
      ),
      header: TABBY,
    });
    expect(lines(report)).toEqual(
      [
        'times in ms                mean  median    p99',
        'server: queue               5.0     5.0    9.9',
        'server: prompt             50.0    50.0   50.0',
        'server: generation         60.0    60.0   60.0',
        'client: first token (TTFT) 100.5   100.5  101.0',
        'client: end to end        160.5   160.5  161.0',
        'client: end to end per token (NTPOT) 40.1 40.1 40.2',
      ].map((line) => expect.stringMatching(new RegExp(line.replace(/[()]/g, '.').replace(/\s+/g, '\\s+')))),
    );
    expect(own(report)['server_times']).toMatchObject({
      prompt_time: { count: 2, mean_ms: 50 },
      queue_time: { median_ms: 5 },
    });
  });

  it('keep the times since a request was due apart, when requests have due times', async () => {
    const late = request(0, { start_time: 5001, arrival_time: 5000 });
    const open = await run({ requests: [late], options: { request_rate: 5 } });
    expect(lines(open).find((line) => line.startsWith('since due: first token'))).toMatch(
      /1100\.0\s+1100\.0\s+1100\.0$/,
    );
    const closed = await run({ requests: [late] });
    expect(lines(closed)).toEqual([]);
    expect(own(closed)['latency']).toMatchObject({
      from_send: { ttft: { mean_ms: 100 } },
      from_arrival: { ttft: { mean_ms: 1100 } },
    });
  });

  it('tell reasoning, frames, cache, draft and connections', async () => {
    const report = await run({
      requests: [
        request(0, {
          frames: 2,
          merged_frames: 1,
          reads: 2,
          reasoning_frames: 1,
          first_answer: 0.3,
          cached_tokens: 6,
          accepted_tokens: 2,
          connect_s: 0.004,
          stale_reconnect: true,
        }),
        request(1, { frames: 2, reads: 2, reasoning_frames: 2 }),
      ],
    });
    const text = lines(report).join('\n');
    expect(text).toMatch(/client: first answer token\s+300\.0/);
    expect(text).toContain(
      'reasoning: 75 % of the token frames; TTFT is the first token of any kind; 1 requests have no first',
    );
    expect(text).toContain('2.00 tokens per frame (4 frames); 25 % of the frames arrived together with another');
    expect(text).toContain('prompt cache: 6 of 12 prompt tokens (50.0 %)');
    expect(text).toContain('draft model: 2 of 4 output tokens were accepted drafts');
    expect(text).toContain(
      'connections opened during the run: 1, 4.0 ms each (not part of TTFT); 1 request was sent again',
    );
    expect(codes(report)).toEqual(['frames_share_reads', 'prompts_cached']);
    expect(own(report)['token_frames']).toEqual({
      frames: 4,
      tokens_per_frame: 2,
      merged_frames: 1,
      merged_share: 0.25,
      reads: 4,
      reasoning_frames: 3,
    });
    expect(own(report)['connections']).toMatchObject({
      opened_during_run: 1,
      stale_reconnects: 1,
      connect: { mean_ms: 4 },
    });
  });

  it('show categories as a table', async () => {
    const report = await run({
      requests: [request(0, { category: 'qa' }), failure(1, { category: 'math', error: 'x' })],
    });
    const at = lines(report).findIndex((line) => line.startsWith('category'));
    expect(lines(report).slice(at)).toEqual([
      'category (means)  done  failed  tokens  TTFT ms  TPOT ms  E2EL ms  tok/s',
      'math                 0       1       0      0.0     0.00      0.0    0.0',
      'qa                   1       0       4    100.0    20.00    160.0    1.6',
    ]);
    expect(own(report)['categories']?.['qa']).toMatchObject({ completed: 1, output_tokens: 4, output_throughput: 1.6 });
  });
});

describe('the block tabby_load', () => {
  it('carries what the run knows of itself, unchanged', async () => {
    const report = await run({
      requests: [request(0)],
      header: { ...TABBY, samples_sha256: 'abc', version: '9.9.9' },
      end: { planned: 7, client_health: { workers: [{ loop_delay_ms: 1 }] } },
    });
    expect(own(report)).toMatchObject({
      schema: 'tabby-load.result/1',
      version: '9.9.9',
      samples_sha256: 'abc',
      interrupted: false,
      requests: { planned: 7, recorded: 1, completed: 1, failed: 0 },
      client_health: { workers: [{ loop_delay_ms: 1 }] },
      server: TABBY.server,
      options: HEADER.options,
    });
    expect(own(report)).not.toHaveProperty('errors');
    expect(own(report)).not.toHaveProperty('sources');
  });

  it('says when percentiles come from histograms', async () => {
    const report = await run({
      requests: [request(0), request(1)],
      keep: { maxExactValues: 4 },
      options: { save_detailed: true },
    });
    expect(own(report)).toMatchObject({ percentile_source: 'hdr', hdr_metrics: ['itl'] });
    expect(codes(report)).toEqual(['percentiles_from_histograms', 'detail_left_out']);
    expect(report.result.has('itls')).toBe(false);
    expect(report.result.has('ttfts')).toBe(true);
  });
});

describe('warnings', () => {
  it.each<[string, Run]>([
    ['all_failed', { requests: [failure(0, { error: 'x' })] }],
    ['no_requests', {}],
    ['interrupted', { requests: [request(0)], end: { interrupted: true, interrupted_by: 'SIGINT' } }],
    ['unknown_percentile_metric', { requests: [request(0)], options: { percentile_metrics: 'ttft, tpot' } }],
    ['metric_needs_tokenizer', { requests: [request(0)], options: { skip_tokenizer_init: true } }],
    ['metric_needs_concurrency', { requests: [request(0)], options: { percentile_metrics: 'client_queue_time' } }],
    [
      'metric_needs_rate',
      { requests: [request(0)], options: { percentile_metrics: 'e2el_including_client_queue', max_concurrency: 2 } },
    ],
    ['tokens_assumed_one', { requests: [request(0, { output_tokens: null })] }],
    ['tokens_by_logprobs', { requests: [request(0, { output_tokens: null, logprob_tokens: 9 })] }],
    ['tokens_by_frames', { requests: [request(0, { output_tokens: null, frames: 9 })] }],
    [
      'usage_corrected',
      {
        requests: [
          request(0, {
            output_len: 5000,
            output_tokens: 2791,
            prompt_len: 4353,
            client_prompt_len: 100,
            finish_reason: 'length',
          }),
        ],
      },
    ],
    [
      'usage_suspect',
      {
        requests: [
          request(0, {
            output_len: 5000,
            output_tokens: 2791,
            prompt_len: 4353,
            client_prompt_len: 100,
            finish_reason: 'stop',
          }),
        ],
      },
    ],
    ['frames_share_reads', { requests: [request(0, { frames: 4, merged_frames: 3 })] }],
    ['indices_repeat', { requests: [request(0), request(0)] }],
    [
      'made_up',
      { requests: [request(0)], end: { warnings: [{ code: 'made_up', facts: { message: 'as the run said' } }] } },
    ],
  ])('%s', async (code, setup) => {
    const report = await run(setup);
    expect(codes(report)).toContain(code);
    const line = report.warningLines[codes(report).indexOf(code)] as string;
    expect(line).toMatch(/^tabby-load: warning: \S/);
    expect(line).not.toMatch(/undefined|NaN|\[object/);
    expect(JSON.stringify(own(report)['warnings'])).toContain(`"code":"${code}"`);
  });

  it('have words for every code, and for one that is not known', () => {
    for (const code of WARNING_CODES) expect(warningText({ code, facts: {} }).length).toBeGreaterThan(10);
    expect(warningText({ code: 'made_up', facts: { message: 'as the run said' } })).toBe('as the run said');
    expect(warningText({ code: 'made_up', facts: {} })).toBe('made up');
  });

  it('suggest the metric that was meant', async () => {
    const report = await run({ requests: [request(0)], options: { percentile_metrics: 'ttft, E2EL' } });
    expect(report.warningLines[0]).toContain('did you mean "e2el"?');
  });
});
