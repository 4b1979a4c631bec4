/** The self-benchmark as a user calls it. */
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/options/parse.ts';
import { runCli, startCli } from '../support/cli.ts';

const SHORT = [
  'overhead',
  '--levels',
  '4,1',
  '--tokens',
  '12',
  '--ttft',
  '20ms',
  '--itl',
  '5ms',
  '--duration',
  '160ms',
];

interface Level {
  readonly concurrency: number;
  readonly requests: number;
  readonly events: number;
  readonly lost_events: number;
  readonly unmatched_requests: number;
  readonly delivery_ms: { readonly count: number; readonly mean: number; readonly max: number };
  readonly ttft_error_ms: { readonly count: number };
  readonly gap_error_ms: { readonly count: number };
  readonly gap_bias_ms: { readonly mean: number };
  readonly request_path_ms: { readonly mean: number };
  readonly cpu_us_per_event: number;
  readonly server: { readonly frames: number };
}

async function measure(...more: string[]): Promise<Level[]> {
  const { code, stdout, stderr } = await runCli([...SHORT, '--no-search', '--json', '-', ...more]);
  expect(code, stderr).toBe(0);
  const { schema, levels } = JSON.parse(stdout) as { schema: string; levels: Level[] };
  expect(schema).toBe('tabby-load.overhead/1');
  return levels;
}

describe('tabby-load overhead', () => {
  it.each([
    ['one after the other', []],
    ['in lockstep', ['--lockstep']],
  ] as const)('matches every event, %s', async (_, more) => {
    const levels = await measure(...more);
    // 75 ms an answer, 160 ms a level: two rounds.
    expect(levels.map(({ concurrency, requests, events }) => [concurrency, requests, events])).toEqual([
      [1, 2, 24],
      [4, 8, 96],
    ]);
    for (const level of levels) {
      expect([level.lost_events, level.unmatched_requests]).toEqual([0, 0]);
      expect([level.delivery_ms.count, level.server.frames]).toEqual([level.events, level.events]);
      expect(level.ttft_error_ms.count).toBe(level.requests);
      expect(level.gap_error_ms.count).toBe(level.events - level.requests);
      // Both clocks are the same one, joined between two processes to some microseconds: nothing arrives before it was sent, or
      // (on any machine) a second after.
      expect(level.delivery_ms.mean).toBeGreaterThan(-0.05);
      expect(level.delivery_ms.max).toBeLessThan(1000);
      expect(level.request_path_ms.mean).toBeGreaterThan(0);
      expect(level.cpu_us_per_event).toBeGreaterThan(0);
    }
  });

  it('prints tables, with the search behind them', async () => {
    const { code, stdout, stderr } = await runCli([...SHORT, '--levels', '2', '--limit', '1us', '--workers', '1']);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^streams {2}mean +p50 +p99/m);
    expect(stdout).toMatch(/^All 48 events were seen, each once\.$/m);
    // Nothing is seen within a microsecond.
    expect(stdout).toMatch(
      /^No rate was found at which 99 % of the events are seen within 0\.001 ms \(1 streams: p99/m,
    );
    expect(stderr).toMatch(/^tabby-load: searching: 1 streams \.\.\.$/m);
  });

  it('leaves levels out that need more files than may be open', async () => {
    const { code, stdout } = await runCli([...SHORT, '--levels', '1,10000000', '--no-search']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^10,000,000 streams were left out: they need 10000064 open files, but the limit is \d+/m);
  });

  it('ends with its server when it is interrupted', async () => {
    const run = startCli(['overhead', '--levels', '1', '--duration', '30s']);
    await run.waitFor(/1 streams/);
    // Time enough for the server to be there, or not: both must end.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const { code, stderr } = await run.stop('SIGTERM');
    expect(code).toBe(143);
    expect(stderr).toContain('interrupted by SIGTERM');
  });

  it('refuses what cannot be measured', async () => {
    for (const [words, message] of [
      [['--levels', '0'], /--levels: "0" is not a number >= 1/],
      [['--levels', '1.5'], /--levels: 1.5 is not a whole number/],
      [['--tokens', '0'], /--tokens: at least 1/],
      [['--limit', '0'], /--limit: "0" is not a time/],
      [['--json', '/'], /--json/],
      [['--concurrency', '3'], /--concurrency: /],
    ] as const) {
      const { code, stderr } = await runCli(['overhead', ...words]);
      expect(code, stderr).toBe(2);
      expect(stderr).toMatch(message);
    }
  });

  it('has defaults of its own', async () => {
    const line = await parseCommandLine(['overhead'], {});
    expect(line).toMatchObject({
      command: 'overhead',
      options: {
        levels: [1, 10, 100, 256, 1000],
        tokens: 100,
        ttftMs: 50,
        itlMs: 10,
        durationMs: 3000,
        limitMs: 5,
        lockstep: false,
        search: true,
        workers: null,
        json: null,
      },
    });
    expect(await parseCommandLine(['mock'], {})).toMatchObject({ options: { tokens: 200 } });
  });
});
