import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';
import { complete, type ScriptedServer, startScripted } from '../support/scripted-server.ts';

const SAMPLE = join(import.meta.dirname, '../../examples/sharegpt-sample.json');
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-run-'));
const file = (name: string) => join(dir, name);

interface Result {
  readonly completed: number;
  readonly failed: number;
  readonly total_output_tokens: number;
  readonly total_input_tokens: number;
  readonly output_lens?: readonly number[];
  readonly max_concurrency: number;
  readonly tabby_load: Record<string, unknown>;
}

const readResult = (name: string) => JSON.parse(readFileSync(file(name), 'utf8')) as Result;

describe('the main job against the built-in server', () => {
  let mock: RunningCli;
  let url = '';
  const stats = async () => (await (await fetch(`${url}/__stats`)).json()) as Record<string, unknown>;

  beforeAll(async () => {
    mock = startCli(['mock', '--port', '0', '--ttft', '5', '--itl', '1', '--api-key', 'sekrit-key'], {
      limitMs: 120_000,
    });
    url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
  });
  afterAll(async () => {
    await mock.stop('SIGTERM');
    rmSync(dir, { recursive: true, force: true });
  });

  const args = (...more: string[]) => [
    '--base-url',
    url,
    '--dataset',
    SAMPLE,
    '--num-prompts',
    '120',
    '--seed',
    '3',
    ...more,
  ];
  const env = { TABBY_API_KEY: 'sekrit-key' };

  it('completes, counts what the server made, and reports the same from the records', async () => {
    const before = await stats();
    const run = await runCli(
      args(
        '--concurrency',
        '32',
        '--json',
        file('run.json'),
        '--save-records',
        file('r.msgpack'),
        '--save-hdr',
        file('r.hlog'),
        '--samples-out',
        file('s32.tsv'),
      ),
      { env },
    );
    expect(run.stderr).toMatch(/^tabby-load: \S+ · TabbyAPI at /m);
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toContain('============ Serving Benchmark Result ============');
    const result = readResult('run.json');
    expect([result.completed, result.failed, result.max_concurrency]).toEqual([120, 0, 32]);
    const after = await stats();
    expect(result.total_output_tokens).toBe(Number(after['tokensMade']) - Number(before['tokensMade']));

    const report = await runCli(['report', file('r.msgpack'), '--json', '-']);
    expect(report.code, report.stderr).toBe(0);
    expect(JSON.parse(report.stdout)).toEqual(result);
    expect(readFileSync(file('r.hlog'), 'utf8')).toContain('Tag=ttft,');
    expect(readFileSync(file('s32.tsv'), 'utf8').split('\n').length).toBe(122);
  });

  it('takes the same samples at another concurrency and with more workers, and counts the same', async () => {
    const run = await runCli(
      args(
        '--concurrency',
        '7',
        '--workers',
        '3',
        '--json',
        file('run7.json'),
        '--save-detailed',
        '--samples-out',
        file('s7.tsv'),
      ),
      { env },
    );
    expect(run.code, run.stderr).toBe(0);
    expect(readFileSync(file('s7.tsv'), 'utf8')).toBe(readFileSync(file('s32.tsv'), 'utf8'));
    const [first, second] = [readResult('run.json'), readResult('run7.json')];
    expect(second.total_output_tokens).toBe(first.total_output_tokens);
    expect(second.total_input_tokens).toBe(first.total_input_tokens);
    // TabbyAPI makes one token fewer than max_tokens, and at least one.
    const asked = readFileSync(file('s7.tsv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(line.split('\t')[3]));
    expect(second.output_lens).toEqual(asked.map((length) => Math.max(1, length - 1)));
  });

  it('makes exactly the asked lengths with --exact-length', async () => {
    const run = await runCli(
      args('--concurrency', '64', '--exact-length', '--save-detailed', '--json', file('exact.json')),
      { env },
    );
    expect(run.code, run.stderr).toBe(0);
    const asked = readFileSync(file('s7.tsv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(line.split('\t')[3]));
    expect(readResult('exact.json').output_lens).toEqual(asked);
  });

  it('stops on Ctrl-C with a report, exit code 130, and records that can be read', async () => {
    const run = startCli(
      args(
        '--concurrency',
        '4',
        '--num-prompts',
        '5000',
        '--drain-timeout',
        '200ms',
        '--json',
        file('int.json'),
        '--save-records',
        file('int.msgpack'),
        '--ui',
        'none',
      ),
      { env },
    );
    const before = Number((await stats())['completed']);
    while (Number((await stats())['completed']) < before + 20) await new Promise((resolve) => setTimeout(resolve, 50));
    const ended = await run.stop('SIGINT');
    expect(ended.code, ended.stderr).toBe(130);
    const result = readResult('int.json');
    expect(result.completed).toBeGreaterThan(5);
    expect(result.completed).toBeLessThan(5000);
    expect(JSON.stringify(result.tabby_load)).toContain('"interrupted":true');
    expect((await runCli(['report', file('int.msgpack')])).code).toBe(0);
  });

  it('says at once when the key is refused, and never shows it', async () => {
    const refused = await runCli(args('--concurrency', '4'), { env: { TABBY_API_KEY: 'wrong-sekrit' } });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/refuses the key: 401 Invalid API key/);
    expect(refused.stderr + refused.stdout).not.toContain('wrong-sekrit');
  });

  it('counts tokens over the text when the user asks for no usage', async () => {
    const noUsage = ['--extra-body', '{"stream_options":{"include_usage":false}}'];
    const run = await runCli(
      args('--concurrency', '16', '--num-prompts', '20', ...noUsage, '--json', file('nou.json')),
      { env },
    );
    expect(run.code, run.stderr).toBe(0);
    const asked = (
      await runCli(args('--concurrency', '16', '--num-prompts', '20', '--json', file('usage.json')), { env })
    ).code;
    expect(asked).toBe(0);
    const [without, told] = [readResult('nou.json'), readResult('usage.json')];
    // The text retokenised is not always the tokens made, but nearly so; it was 0.
    expect(without.total_output_tokens).toBeGreaterThan(told.total_output_tokens * 0.8);
  });

  it('leaves the records of an earlier run alone when a run does not start', async () => {
    const before = readFileSync(file('r.msgpack'));
    const run = await runCli([
      '--base-url',
      'http://127.0.0.1:1',
      '--ready-timeout',
      '100ms',
      '--dataset',
      SAMPLE,
      '--concurrency',
      '2',
      '--save-records',
      file('r.msgpack'),
    ]);
    expect(run.code).toBe(4);
    expect(readFileSync(file('r.msgpack')).equals(before)).toBe(true);
  });

  it('refuses an endpoint that makes no address, by its name', async () => {
    const run = await runCli(args('--concurrency', '2', '--endpoint', 'v1/chat/completions'), { env });
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('--endpoint')]);
  });

  it('keeps the key out of every file and stream of a run', async () => {
    const run = await runCli(
      args('--concurrency', '8', '--save-records', file('k.jsonl'), '--json', file('k.json'), '--save-detailed'),
      { env },
    );
    expect(run.code).toBe(0);
    for (const text of [
      run.stdout,
      run.stderr,
      readFileSync(file('k.jsonl'), 'utf8'),
      readFileSync(file('k.json'), 'utf8'),
    ]) {
      expect(text).not.toContain('sekrit');
    }
  });
});

describe('connections and order', () => {
  let server: ScriptedServer;
  afterAll(() => server.close());

  it('has exactly the asked number in flight, over several workers, and starts in sample order', async () => {
    const held: (() => void)[] = [];
    const asked = 40;
    // Holds every answer until it has seen as many requests as may be in flight.
    server = await startScripted(async (reply, request) => {
      if (request.n < asked) {
        await new Promise<void>((resolve) => {
          held.push(resolve);
          if (held.length === asked) for (const release of held) release();
        });
      }
      await complete(reply);
    });
    const run = await runCli([
      '--base-url',
      server.url,
      '--dataset',
      SAMPLE,
      '--num-prompts',
      '100',
      '--concurrency',
      String(asked),
      '--workers',
      '3',
      '--json',
      '-',
      '--request-id-prefix',
      'r-',
    ]);
    expect(run.code, run.stderr).toBe(0);
    expect((JSON.parse(run.stdout) as Result).completed).toBe(100);
    expect(server.maxInFlight).toBe(asked);
    expect(server.connections).toBeLessThanOrEqual(asked + 12);
    const ids = server.requests.map((request) => Number(request.headers['x-request-id']?.slice(2)));
    expect([...ids].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(new Set(server.requests.map((request) => request.headers['accept-encoding']))).toEqual(
      new Set(['identity']),
    );
  });
});
