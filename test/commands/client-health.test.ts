/** The evidence that a run gives of itself, through the real program. */
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';

const SAMPLE = join(import.meta.dirname, '../../examples/sharegpt-sample.json');
const BLOCK = join(import.meta.dirname, '../support/block-loop.cjs');
const json = join(tmpdir(), `tabby-load-health-${process.pid}.json`);

interface Own {
  readonly client_was_limit: boolean;
  readonly client_limit_reasons?: readonly string[];
  readonly warnings: readonly { readonly code: string; readonly facts: Record<string, number> }[];
  readonly client_health: {
    readonly cores: number;
    readonly asked_in_flight: number;
    readonly max_in_flight: number;
    readonly process_cpu_ms: { readonly user: number; readonly system: number };
    readonly cpu_us_per_token_frame: number;
    readonly max_rss_mb: number;
    readonly workers: readonly Record<string, Record<string, number> & number>[];
  };
}

describe('the health of the client', () => {
  let mock: RunningCli;
  let url = '';

  beforeAll(async () => {
    mock = startCli(['mock', '--port', '0', '--ttft', '150', '--itl', '30', '--tokens', '20'], { limitMs: 60_000 });
    url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
  });
  afterAll(async () => {
    await mock.stop('SIGTERM');
    rmSync(json, { force: true });
  });

  async function run(more: readonly string[], env: Record<string, string> = {}) {
    const load = ['--dataset', SAMPLE, '--num-prompts', '24', '--concurrency', '8', '--no-force-length', '--seed', '3'];
    const ended = await runCli(['--base-url', url, ...load, '--json', json, ...more], { env });
    expect(ended.code, ended.stderr).toBe(0);
    const result = JSON.parse(readFileSync(json, 'utf8')) as { completed: number; tabby_load: Own };
    expect(result.completed).toBe(24);
    return { ...ended, own: result.tabby_load };
  }

  it('is found good in a run in which nothing was wrong', async () => {
    // Two seconds are too short for a steady state, and a warning says so; here it is the client that is asked about.
    const { own, stdout, stderr } = await run(['--no-steady-state']);
    const loop = own.client_health.workers[0]!['loop_delay_ms']!;
    // A machine so busy that it takes the core away for that long is no quiet one, and saying so is right.
    const isQuiet = loop['max']! < 150 && loop['p99']! < 5 && own.client_health.workers[0]!['utilisation']! < 0.9;
    if (isQuiet) {
      expect(own.client_was_limit).toBe(false);
      expect(own).not.toHaveProperty('client_limit_reasons');
      expect(stderr).not.toContain('warning');
    }
    const good = /client: was not the limit \(loop delay p99 [\d.]+ ms, max [\d,.]+ ms; \d+ % busy; 1 worker\)$/;
    const [verdict] = stdout.match(/^tabby-load: client: .*$/m) ?? [''];
    expect(verdict).toMatch(own.client_was_limit ? /client: WAS the limit: / : good);
    const { client_health: health } = own;
    expect([health.asked_in_flight, health.max_in_flight, health.workers.length]).toEqual([8, 8, 1]);
    expect(health.cpu_us_per_token_frame).toBeGreaterThan(0);
    expect(health.max_rss_mb).toBeGreaterThan(20);
    const worker = health.workers[0]!;
    expect(worker).toMatchObject({ slots: 8, requests: 24, connections_opened: 8, connect_in_run_ms: { count: 0 } });
    expect(worker['reads_per_frame']).toBeGreaterThan(0);
    expect(worker['send_lateness_ms']!['count']).toBe(24);
    expect(worker['loop_delay_ms']!['max']).toBeGreaterThan(0);
    expect(worker['utilisation']).toBeGreaterThan(0);
  });

  it('is found wanting when the loop of a worker was blocked for 200 ms', async () => {
    const env = { NODE_OPTIONS: `--require ${BLOCK}`, TEST_BLOCK_MS: '200', TEST_BLOCK_AFTER_MS: '900' };
    const { own, stdout, stderr } = await run(['--workers', '2'], env);
    expect(own.client_was_limit).toBe(true);
    expect(own.client_limit_reasons).toContain('client_loop_blocked');
    const { facts } = own.warnings.find(({ code }) => code === 'client_loop_blocked')!;
    expect(facts['max_ms']).toBeGreaterThan(180);
    expect(facts['workers']).toBe(2);
    expect(stdout).toMatch(/^tabby-load: client: WAS the limit: worker [01]'s loop was blocked up to \d+ ms/m);
    expect(stderr).toMatch(
      /tabby-load: warning: .* may be [\d.,]+ ms too high.*: worker [01]'s loop was blocked up to \d+ ms/,
    );
    expect(own.client_health.workers.map((worker) => worker['slots'])).toEqual([4, 4]);
  });
});
