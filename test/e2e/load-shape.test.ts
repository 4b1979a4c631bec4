/** What a run says of its own load: steady state, plan, cached prompts. The built-in server gives the times, no clock of a test. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'tabby-load-shape-'));
const file = (name: string) => join(dir, name);

interface Series {
  readonly count: number;
  readonly mean_ms: number;
  readonly max_ms: number;
}
type Block = Record<string, number> &
  Record<'ttft' | 'e2el' | 'late_by' | 'waiting_for_a_place' | 'client_late', Series>;
interface Result {
  readonly completed: number;
  readonly request_throughput: number;
  readonly tabby_load: {
    readonly steady_state: Block & { readonly reached: boolean };
    readonly plan?: Block & { readonly kept: boolean };
    readonly prompt_cache: Record<string, number>;
    readonly accepted_draft_tokens: Record<string, number>;
    readonly warnings: readonly { readonly code: string }[];
  };
}
const read = (name: string) => JSON.parse(readFileSync(file(name), 'utf8')) as Result;
const codes = ({ tabby_load: own }: Result) => own.warnings.map(({ code }) => code);

let mock: RunningCli;
let url = '';
beforeAll(async () => {
  const words = ['--ttft', '10', '--itl', '10', '--usage-details', '--draft-tokens', '2', '--tokens', '0'];
  mock = startCli(['mock', '--port', '0', ...words], { limitMs: 120_000 });
  url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
});
afterAll(async () => {
  await mock.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A custom data set: prompts with output lengths. */
function dataSet(name: string, rows: readonly (readonly [prompt: string, outputTokens: number])[]): string[] {
  const lines = rows.map(([prompt, output]) => JSON.stringify({ prompt, output_tokens: output }));
  writeFileSync(file(name), `${lines.join('\n')}\n`);
  return ['--dataset-name', 'custom', '--dataset-path', file(name), '--custom-output-len', '-1', '--disable-shuffle'];
}

async function run(json: string, ...words: string[]): Promise<{ result: Result; stderr: string }> {
  const ended = await runCli(['--base-url', url, '--json', file(json), '--quiet', ...words], { cwd: dir });
  expect(ended.code, ended.stderr).toBe(0);
  return { result: read(json), stderr: ended.stderr };
}

describe('a hundred short answers and one ten times as long', () => {
  it('have the rate of the steady state beside that of the run', async () => {
    const rows = Array.from({ length: 101 }, (_, i) => [`Row ${i}`, i === 100 ? 400 : 40] as const);
    const { result, stderr } = await run(
      'steady.json',
      ...dataSet('steady.jsonl', rows),
      ...['--num-prompts', '101', '--concurrency', '10', '--save-records', file('steady.msgpack')],
      '--plot-timeline',
      '--result-filename',
      'steady-plot.json',
    );
    const steady = result.tabby_load.steady_state;
    expect(steady).toMatchObject({ reached: true, concurrency: 10, min_in_flight: 10, peak_in_flight: 10 });
    // Ten in flight all the time: c / E2EL, whatever the machine was doing.
    const e2elS = steady.e2el.mean_ms / 1000;
    expect((steady['request_throughput'] as number) * e2elS).toBeGreaterThan(9);
    expect((steady['request_throughput'] as number) * e2elS).toBeLessThan(11);
    expect(steady['request_throughput']).toBeGreaterThan(1.3 * result.request_throughput);
    expect(steady['share_of_run']).toBeLessThan(0.8);
    expect(codes(result)).toContain('steady_state_short');
    expect(stderr).toContain('the steady-state window is');
    expect(readdirSync(dir)).toContain('steady-plot.timeline.html');

    const again = await runCli(['report', file('steady.msgpack'), '--json', '-']);
    expect(JSON.parse(again.stdout)).toEqual(result);
    const without = await runCli(['report', file('steady.msgpack'), '--json', '-', '--no-steady-state']);
    expect(JSON.parse(without.stdout).tabby_load).not.toHaveProperty('steady_state');
    expect(without.stderr).not.toContain('steady');
  });
});

describe('an open loop', () => {
  it('that the server is too slow for says so, and which part of the delay was whose', async () => {
    // Two at a time, 200 ms each, are 10 per second; 60 are asked for.
    const rows = Array.from({ length: 30 }, (_, i) => [`Row ${i}`, 40] as const);
    const { result, stderr } = await run(
      'slow.json',
      ...dataSet('slow.jsonl', rows),
      ...[
        '--num-prompts',
        '30',
        '--request-rate',
        '60',
        '--max-concurrency',
        '2',
        '--save-records',
        file('slow.msgpack'),
      ],
    );
    const plan = result.tabby_load.plan as NonNullable<Result['tabby_load']['plan']>;
    expect(plan).toMatchObject({ kept: false, requests: 30, asked_rate: 60 });
    expect(plan['late_share']).toBeGreaterThan(0.8);
    expect(plan['due_rate']).toBeGreaterThan(2 * (plan['sent_rate'] as number));
    expect(plan.waiting_for_a_place.mean_ms).toBeGreaterThan(0.8 * plan.late_by.mean_ms);
    expect(plan.waiting_for_a_place.mean_ms + plan.client_late.mean_ms).toBeCloseTo(plan.late_by.mean_ms, 6);
    expect(codes(result)).toContain('plan_not_kept');
    expect(stderr).toMatch(
      /not able to keep up with the requested rate: \d+ % of the requests \(\d+ of 30\) were sent late/,
    );
    expect(stderr).toContain('the places of --max-concurrency 2, which the server was too slow to free');
    const again = await runCli(['report', file('slow.msgpack'), '--json', '-']);
    expect(JSON.parse(again.stdout)).toEqual(result);
  });

  it('without such a limit waits for no place', async () => {
    const rows = Array.from({ length: 20 }, (_, i) => [`Row ${i}`, 40] as const);
    const { result } = await run(
      'open.json',
      ...dataSet('open.jsonl', rows),
      ...['--num-prompts', '20', '--request-rate', '60'],
    );
    expect(result.tabby_load.plan).toMatchObject({ requests: 20, waiting_for_a_place: { max_ms: 0 } });
  });
});

describe('prompts that are sent again', () => {
  it('are said to come from the cache', async () => {
    const long = 'one word after another '.repeat(200);
    const words = dataSet(
      'few.jsonl',
      [0, 1, 2].map((i) => [`${i} ${long}`, 10] as const),
    );
    const { result, stderr } = await run('cached.json', ...words, '--num-prompts', '12', '--concurrency', '1');
    expect(codes(result)).toContain('prompts_repeat');
    expect(stderr).toContain('9 prompts of 12 had been sent before in the same run');
    expect(result.tabby_load.prompt_cache['hit_rate']).toBeGreaterThan(0.5);
    expect(codes(result)).toContain('prompts_cached');
    const drafts = result.tabby_load.accepted_draft_tokens;
    expect(drafts['acceptance_rate']).toBeCloseTo(
      (drafts['accepted_tokens'] as number) /
        ((drafts['accepted_tokens'] as number) + (drafts['rejected_tokens'] as number)),
      12,
    );
    const unique = await run('unique.json', ...words, '--num-prompts', '12', '--concurrency', '1', '--unique-prompts');
    expect(codes(unique.result)).not.toContain('prompts_repeat');
    expect(codes(unique.result)).not.toContain('prompts_cached');
  });
});
