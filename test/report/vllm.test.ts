import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import { RECORD_SCHEMA, type RecordEnd, type RecordHeader } from '../../src/record/record.ts';
import { type FinishedReport, finishReport } from '../../src/report/finish.ts';
import { resultText } from '../../src/report/json.ts';
import { settingsOf } from '../../src/report/settings.ts';
import { flag, flagValues, VECTORS, type VectorCase, vectorRecords } from '../aggregate/vectors.ts';

const QWEN_COUNTS = [9, 0, 16, 8, 6, 1];
const QWEN_TEXTS = [
  'Hello there, this is a plain answer.',
  '',
  'naïve café — 12,345.67 €',
  '你好，世界！今天天气很好。',
  '😀😃 emoji\n\nand\tcontrol',
  'x',
];

/** Options as a record header has them, from the command line of a case. */
function headerOf(vector: VectorCase): RecordHeader {
  const goodput = flagValues(vector, 'goodput');
  const ifGiven = (key: string, name: string) =>
    flag(vector, name) === undefined ? {} : { [key]: flag(vector, name) };
  return {
    type: 'header',
    schema: RECORD_SCHEMA,
    started_at: '2026-12-01T03:45:00.000Z',
    options: {
      backend: flag(vector, 'backend'),
      model: flag(vector, 'model'),
      tokenizer: 'TOKENIZER',
      num_prompts: Number(flag(vector, 'num-prompts')),
      skip_tokenizer_init: vector.argv.includes('--skip-tokenizer-init'),
      save_detailed: true,
      goodput: goodput.length === 0 ? null : goodput,
      ...ifGiven('max_concurrency', 'max-concurrency'),
      ...ifGiven('request_rate', 'request-rate'),
      ...ifGiven('burstiness', 'burstiness'),
      ...ifGiven('percentile_metrics', 'percentile-metrics'),
      ...ifGiven('metric_percentiles', 'metric-percentiles'),
    },
  };
}

async function finish(vector: VectorCase, more: Record<string, unknown> = {}): Promise<FinishedReport> {
  const header = headerOf(vector);
  const { goodput } = settingsOf(header.options);
  const aggregate = new RunAggregate({ keepDetail: true, ...(goodput === null ? {} : { goodput }) });
  for (const record of vectorRecords(vector).reverse()) aggregate.add(record);
  const end: RecordEnd = {
    type: 'end',
    duration_s: vector.dur_s,
    interrupted: false,
    ...(vector.spec_decode_before_after ? { spec_decode_before_after: vector.spec_decode_before_after } : {}),
    ...(vector.diffusion_before_after ? { diffusion_before_after: vector.diffusion_before_after } : {}),
    ...more,
  };
  return await finishReport({
    aggregate,
    header,
    end,
    countTokens: async (texts) => texts.map((text) => QWEN_COUNTS[QWEN_TEXTS.indexOf(text)] as number),
  });
}

/** The written JSON, read as any consumer would. */
function written(report: FinishedReport): Record<string, unknown> {
  return JSON.parse(resultText(report.result)) as Record<string, unknown>;
}

describe('the result JSON of vLLM 0.30.0', () => {
  it.each(VECTORS.map((vector) => [vector.name, vector] as const))('%s: keys, order, values', async (_name, vector) => {
    const result = written(await finish(vector));
    const { tabby_load: own, ...rest } = result;
    expect(Object.keys(result)).toEqual([...vector.expected.result_key_order, 'tabby_load']);
    expect(own).toMatchObject({ schema: 'tabby-load.result/1', percentile_source: 'exact' });
    const expected = vector.expected.result_json;
    for (const [key, value] of Object.entries(expected)) {
      if (key === 'date') continue;
      // toEqual compares numbers by Object.is, at any depth.
      expect(rest[key], key).toEqual(value);
    }
    for (const key of vector.expected.arrays_left_out) expect(Array.isArray(rest[key]), key).toBe(true);
  });

  it.each(VECTORS.map((vector) => [vector.name, vector] as const))(
    '%s: per-request arrays repeat the outputs',
    async (_name, vector) => {
      const result = written(await finish(vector));
      const of = (read: (output: VectorCase['outputs'][number]) => unknown) => vector.outputs.map(read);
      expect(result['input_lens']).toEqual(of((o) => o.prompt_len));
      expect(result['latencies']).toEqual(of((o) => o.latency));
      expect(result['queue_times']).toEqual(of((o) => o.start_time - o.arrival_time));
      expect(result['errors']).toEqual(of((o) => o.error));
      if (!('ttfts' in result)) return;
      expect(result['ttfts']).toEqual(of((o) => o.ttft));
      expect(result['itls']).toEqual(of((o) => o.itl));
      expect(result['start_times']).toEqual(of((o) => o.start_time));
      expect(result['generated_texts']).toEqual(of((o) => o.generated_text));
    },
  );

  it.each(VECTORS.map((vector) => [vector.name, vector] as const))(
    '%s: table and failures, line by line',
    async (_name, vector) => {
      const { consoleLines } = await finish(vector);
      const table = consoleLines.slice(consoleLines.findIndex((line) => line.startsWith('====')));
      const end = table.lastIndexOf('='.repeat(50));
      expect(table.slice(0, end + 1)).toEqual(vector.expected.stdout_table);
      const failures = consoleLines.filter((line) => /^(Failed requests during|Error \d)/.test(line));
      expect(failures).toEqual(vector.expected.stdout_failures ?? []);
      for (const line of table.slice(end + 1)) expect(line).toMatch(/^(tabby-load: | {12})/);
    },
  );

  it('drops exactly the detailed arrays without --save-detailed', async () => {
    const vector = VECTORS[0] as VectorCase;
    const header = headerOf(vector);
    const aggregate = new RunAggregate();
    for (const record of vectorRecords(vector)) aggregate.add(record);
    const report = await finishReport({
      aggregate,
      header: { ...header, options: { ...header.options, save_detailed: false } },
      end: { type: 'end', duration_s: vector.dur_s, interrupted: false },
    });
    const gone = ['input_lens', 'output_lens', 'start_times', 'ttfts', 'itls', 'generated_texts', 'errors'];
    expect(Object.keys(written(report))).toEqual([
      ...vector.expected.result_key_order.filter((key) => !gone.includes(key)),
      'tabby_load',
    ]);
  });

  it('puts metadata where vLLM does, whatever its keys', async () => {
    const vector = VECTORS[0] as VectorCase;
    const header = headerOf(vector);
    const aggregate = new RunAggregate();
    const report = await finishReport({
      aggregate,
      header: {
        ...header,
        options: { ...header.options, metadata: ['mode = shim', '7=x', 'label=mine', 'tabby_load=no', '__proto__=p'] },
      },
      end: { type: 'end', duration_s: 1, interrupted: false },
    });
    const keys = [...resultText(report.result).matchAll(/[{,] ?"([^"]+)": /g)].map((match) => match[1]);
    expect(keys.slice(0, 10)).toEqual([
      'date',
      'endpoint_type',
      'backend',
      'label',
      'model_id',
      'tokenizer_id',
      'num_prompts',
      'mode',
      '7',
      '__proto__',
    ]);
    expect(report.result.get('label')).toBe('mine');
    expect([...report.result.keys()].at(-1)).toBe('tabby_load');
  });

  it('has probes, rate changes and ramp where vLLM has them', async () => {
    const vector = VECTORS[0] as VectorCase;
    const report = await finish(vector, {
      probe: { latencies_s: [0.3, 0.1, 0.2], failed: 1 },
      rps_change_events: [{ rps: 2, timestamp: 'x' }],
    });
    const keys = [...report.result.keys()];
    const at = keys.indexOf('rtfx');
    expect(keys.slice(at, at + 8)).toEqual([
      'rtfx',
      'probe_completed',
      'probe_failed',
      'probe_median_e2el_ms',
      'probe_p99_e2el_ms',
      'probe_max_e2el_ms',
      'rps_change_events',
      'mean_ttft_ms',
    ]);
    expect(report.result.get('probe_median_e2el_ms')).toBe(200);
    expect(report.result.get('probe_max_e2el_ms')).toBe(300);
    const lines = report.consoleLines;
    const probes = lines.indexOf('------------------Probe Requests------------------');
    expect(lines.slice(probes - 1, probes + 7)).toEqual([
      'Total token throughput (tok/s):          1882.54   ',
      '------------------Probe Requests------------------',
      'Probe requests completed:                3         ',
      'Probe requests failed:                   1         ',
      'Median probe E2EL (ms):                  200.00    ',
      'P99 probe E2EL (ms):                     298.00    ',
      'Max probe E2EL (ms):                     300.00    ',
      '---------------Time to First Token----------------',
    ]);
  });

  it('writes an infinite burstiness as text, since Infinity is not JSON', async () => {
    const vector = VECTORS[0] as VectorCase;
    const header = headerOf(vector);
    const report = await finishReport({
      aggregate: new RunAggregate(),
      header: {
        ...header,
        options: {
          ...header.options,
          burstiness: 'inf',
          request_rate: 4,
          ramp_up_strategy: 'linear',
          ramp_up_start_rps: 1,
          ramp_up_end_rps: 9,
        },
      },
      end: { type: 'end', duration_s: 0, interrupted: false },
    });
    const result = written(report);
    expect(result).toMatchObject({
      burstiness: 'inf',
      request_rate: 4,
      ramp_up_strategy: 'linear',
      ramp_up_start_rps: 1,
      ramp_up_end_rps: 9,
      request_throughput: 0,
    });
  });
});

describe('a result of a whole run of vLLM 0.30.0', () => {
  interface LiveResult {
    [key: string]: unknown;
    duration: number;
    input_lens: number[];
    output_lens: number[];
    ttfts: number[];
    itls: number[][];
    latencies: number[];
    start_times: number[];
    queue_times: number[];
    errors: string[];
    generated_texts: string[];
  }

  /** The recorded run as records: arrival times and text counts are what the recording implies. */
  async function rebuilt(live: LiveResult): Promise<FinishedReport> {
    const aggregate = new RunAggregate({ keepDetail: true });
    live.input_lens.forEach((prompt_len, i) => {
      const start = live.start_times[i] as number;
      const error = live.errors[i] as string;
      aggregate.add({
        type: 'request',
        i,
        success: error === '',
        prompt_len,
        output_tokens: live.output_lens[i] as number,
        ttft: live.ttfts[i] as number,
        itl: live.itls[i] as number[],
        latency: live.latencies[i] as number,
        start_time: start,
        arrival_time: start - (live.queue_times[i] as number),
        error,
        generated_text: live.generated_texts[i] as string,
      });
    });
    return await finishReport({
      aggregate,
      header: {
        type: 'header',
        schema: RECORD_SCHEMA,
        started_at: '2026-12-01T02:39:28.000Z',
        options: {
          backend: 'openai-chat',
          model: 'mock-model',
          tokenizer: 'TOKENIZER',
          num_prompts: 20,
          metadata: live['mode'] === undefined ? null : { mode: live['mode'] },
          max_concurrency: 4,
          percentile_metrics: 'ttft,tpot,itl,e2el,client_queue_time',
          metric_percentiles: [50, 90, 99],
          save_detailed: true,
        },
      },
      end: { type: 'end', duration_s: live.duration, interrupted: false },
      countTokens: async (texts) => texts.map((text) => (text === '' ? 0 : Number.NaN)),
    });
  }

  const read = (name: string) => readFileSync(new URL(`../fixtures/golden/${name}`, import.meta.url), 'utf8');

  it.each(['live_shim', 'live_stock', 'live_shim_ping', 'live_stock_ping'])('%s', async (name) => {
    const live = JSON.parse(read(`${name}.json`)) as LiveResult;
    const result = written(await rebuilt(live));
    delete result['tabby_load'];
    expect(Object.keys(result)).toEqual(Object.keys(live));
    for (const [key, value] of Object.entries(live)) {
      // The recording has gaps rounded to 1 µs and no arrival times, only the difference to them.
      if (/_itl_ms$/.test(key)) expect(Math.abs((result[key] as number) - (value as number)), key).toBeLessThan(0.002);
      else if (/client_queue_time_ms$/.test(key)) expect(result[key], key).toBeCloseTo(value as number, 6);
      else if (key !== 'date' && key !== 'queue_times') expect(result[key], key).toEqual(value);
    }
  });

  it.each(['live_shim', 'live_stock'])('%s: the printed table', async (name) => {
    const recorded = read(`${name}.stdout.txt`).trimEnd().split('\n');
    const table = recorded.slice(recorded.findIndex((line) => line.includes('Serving Benchmark Result')));
    const { consoleLines } = await rebuilt(JSON.parse(read(`${name}.json`)) as LiveResult);
    expect(consoleLines.slice(0, table.length)).toEqual(table);
  });
});
