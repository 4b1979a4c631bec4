import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';
import {
  complete,
  DONE,
  LAST_CHUNK,
  type ScriptedServer,
  STREAM_HEAD,
  startScripted,
  token,
} from '../support/scripted-server.ts';

const SAMPLE = join(import.meta.dirname, '../../examples/sharegpt-sample.json');
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-counting-'));
const file = (name: string) => join(dir, name);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface Result {
  readonly total_input_tokens: number;
  readonly total_output_tokens: number;
  readonly tabby_load: {
    readonly token_counts: Record<string, unknown>;
  };
}

interface Counted {
  /** Of the run. */
  readonly result: Result;
  /** Of `report` on its records. */
  readonly reported: Result;
  /** End of the records. */
  readonly end: { readonly counted_tokens?: Record<'i' | 'tokens' | 'by', unknown[]> };
}

/** A run, and the report of what it saved. */
async function runAndReport(url: string, name: string, args: readonly string[]): Promise<Counted> {
  const [records, json] = [file(`${name}.jsonl`), file(`${name}.json`)];
  const base = ['--base-url', url, '--dataset', SAMPLE, '--num-prompts', '6', '--concurrency', '6', '--no-gpus'];
  const run = await runCli([...base, '--quiet', '--save-records', records, '--json', json, ...args]);
  expect(run.code, run.stderr).toBe(0);
  const report = await runCli(['report', records, '--json', '-']);
  expect(report.code, report.stderr).toBe(0);
  return {
    result: JSON.parse(readFileSync(json, 'utf8')),
    reported: JSON.parse(report.stdout),
    end: JSON.parse(readFileSync(records, 'utf8').trim().split('\n').at(-1) as string),
  };
}

describe('outputs beyond the chunk of the server, whose usage is wrong', () => {
  let mock: RunningCli;
  let url = '';
  beforeAll(async () => {
    mock = startCli(['mock', '--port', '0', '--chunk-size', '256', '--ttft', '1', '--itl', '0.2'], { limitMs: 60_000 });
    url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
  });
  afterAll(() => mock.stop('SIGTERM'));

  it.each<[string, readonly string[], string, number]>([
    ['by logprobs', ['--sharegpt-output-len', '1000', '--extra-body', '{"logprobs":true}', '--keep-text'], 'logprobs', 999],
    ['by the text', ['--sharegpt-output-len', '1000', '--keep-text'], 'text', 999],
    ['by the limit', ['--sharegpt-output-len', '1000'], 'limit', 999],
    ['taken anew only once', ['--sharegpt-output-len', '550'], 'limit', 549],
    ['with the full length', ['--sharegpt-output-len', '550', '--exact-length'], 'limit', 550],
  ])('are counted %s, and the same from the records', async (name, args, by, each) => {
    const { result, reported, end } = await runAndReport(url, name.replaceAll(' ', '-'), args);
    expect(reported).toEqual(result);
    expect(result.tabby_load.token_counts).toEqual({ told: 0, counted: 0, assumed_one: 0, usage_corrected: { [by]: 6 } });
    expect(result.total_output_tokens).toBe(6 * each);
    // Prompts as the client counts them: without the template.
    const manifest = await runCli(['samples', '--base-url', url, '--dataset', SAMPLE, '--num-prompts', '6']);
    const prompts = manifest.stdout.trim().split('\n').slice(1).map((line) => Number(line.split('\t')[2]));
    expect(result.total_input_tokens).toBe(prompts.reduce((sum, tokens) => sum + tokens, 0));
    expect(end.counted_tokens?.by).toEqual(Array(6).fill(by));
    expect(end.counted_tokens?.tokens).toEqual(Array(6).fill(each));
    expect([...(end.counted_tokens?.i ?? [])].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  }); // biome-ignore format: a table

  it('stand as told where they end before', async () => {
    const { result, reported, end } = await runAndReport(url, 'short', ['--sharegpt-output-len', '200']);
    expect(reported).toEqual(result);
    expect(result.tabby_load.token_counts).toEqual({ told: 6, counted: 0, assumed_one: 0 });
    expect(result.total_output_tokens).toBe(6 * 199);
    expect(end.counted_tokens).toBeUndefined();
  });
});

describe('answers without usage', () => {
  /** Request n makes n + 3 tokens, one a frame, and tells usage where `tells` says so. Its tokenizer takes four letters for a token. */
  async function withUsage(tells: (n: number) => boolean): Promise<ScriptedServer> {
    return await startScripted(async (reply, { n }) => {
      if (tells(n)) return await complete(reply, n + 3);
      await reply.send(STREAM_HEAD);
      for (let k = 0; k < n + 3; k++) await reply.chunk(token(' abc'));
      await reply.chunk('data: {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\r\n\r\n');
      await reply.chunk(DONE);
      await reply.send(LAST_CHUNK);
    });
  }

  const noUsage = ['--extra-body', '{"stream_options":{"include_usage":false}}'];

  it.each<[string, (n: number) => boolean, readonly string[], Record<string, number>]>([
    ['none tells', () => false, noUsage, { told: 0, counted: 6 }],
    ['some tell', (n) => n % 2 === 0, noUsage, { told: 3, counted: 3 }],
    ['all tell', () => true, noUsage, { told: 6, counted: 0 }],
    ['it was asked for, and none tells', () => false, [], { told: 0, counted: 0, by_frames: 6 }],
  ])('are the same from the records: %s', async (name, tells, args, counts) => {
    const server = await withUsage(tells);
    try {
      const more = ['--concurrency', '1', '--sharegpt-output-len', '50', ...args];
      const { result, reported } = await runAndReport(server.url, name.replaceAll(/\W/g, '-'), more);
      expect(reported).toEqual(result);
      expect(result.tabby_load.token_counts).toMatchObject({ assumed_one: 0, ...counts });
      expect(server.requests.length).toBe(6);
      expect(result.total_output_tokens).toBe(3 + 4 + 5 + 6 + 7 + 8);
    } finally {
      await server.close();
    }
  });
});

describe('a record file', () => {
  it('is refused to a second run while the first writes to it', async () => {
    let release: () => void = () => undefined;
    const isHeld = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = await startScripted(async (reply) => {
      await isHeld;
      await complete(reply, 3);
    });
    try {
      const args = ['--base-url', server.url, '--dataset', SAMPLE, '--num-prompts', '2', '--concurrency', '2'];
      const both = [...args, '--no-gpus', '--save-records', file('one.jsonl')];
      const first = startCli(both);
      await first.waitFor(/requests from sharegpt/);
      const second = await runCli(both);
      expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('is being written by another run')]);
      release();
      expect((await first.ended).code).toBe(0);
      const report = await runCli(['report', file('one.jsonl'), '--json', '-']);
      expect(JSON.parse(report.stdout)).toMatchObject({ completed: 2, failed: 0 });
      expect(report.stderr).not.toContain(file('one.jsonl'));
      // Then it is free again, and what it holds is told.
      const third = await runCli(both);
      expect([third.code, third.stderr]).toEqual([0, expect.stringContaining('holds records of an earlier run')]);
    } finally {
      release();
      await server.close();
    }
  });
});
