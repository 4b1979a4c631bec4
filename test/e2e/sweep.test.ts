/** Sweeps through the built program against the built-in server. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SweepDocument } from '../../src/record/sweep.ts';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'tabby-load-sweep-'));
let mock: RunningCli;
let base: string[];

beforeAll(async () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    id: `c${i}`,
    conversations: [
      { from: 'human', value: `Question ${i}: what is a promise worth that nobody has heard of?` },
      { from: 'gpt', value: 'As much as the one who has given it.' },
    ],
  }));
  writeFileSync(join(dir, 'sharegpt.json'), JSON.stringify(rows));
  mock = startCli(['mock', '--port', '0', '--slots', '4', '--ttft', '20', '--itl', '5'], { limitMs: 120_000 });
  const url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
  const fixed = [
    '--sharegpt-output-len',
    '12',
    '--settle',
    '0',
    '--num-warmups',
    '1',
    '--ui',
    'none',
    '--workers',
    '1',
  ];
  base = ['sweep', '--dataset', 'sharegpt.json', '--base-url', url, ...fixed];
});

afterAll(async () => {
  await mock.stop();
  rmSync(dir, { recursive: true, force: true });
});

const sweep = (...words: string[]) => runCli([...base, ...words], { cwd: dir, limitMs: 60_000 });
const document = (folder: string) => JSON.parse(readFileSync(join(dir, folder, 'sweep.json'), 'utf8')) as SweepDocument;

describe('a sweep', () => {
  it('measures level by level, and saves each level with the hash of the common sample', async () => {
    const { code, stdout, stderr } = await sweep(
      '--concurrency',
      '2,4,8,16',
      '--requests-per-level',
      '32',
      '--sweep-dir',
      'a',
    );
    expect(code, stderr).toBe(0);
    const { levels, complete, answer, samples_sha256: sha } = document('a');
    expect(complete).toBe(true);
    // Four slots carry more than two streams can ask for, and sixteen streams wait in their queue, however slow the machine is.
    expect(answer.knee).toBeGreaterThanOrEqual(4);
    expect(levels.at(-1)?.server_queue?.mean_ms).toBeGreaterThan(20);
    for (const words of answer.words) expect(stdout).toContain(words);
    expect(new Set(levels.map(({ nonce }) => nonce)).size).toBe(4);
    for (const level of levels) {
      const result = JSON.parse(readFileSync(join(dir, 'a', level.result_file), 'utf8')) as {
        completed: number;
        max_concurrency: number;
        tabby_load: { samples_sha256: string };
      };
      expect(result).toMatchObject({ completed: 32, max_concurrency: level.level });
      expect(result.tabby_load.samples_sha256).toBe(sha);
    }
    const report = await runCli(['report', 'a/concurrency-8.records'], { cwd: dir });
    expect(report.code, report.stderr).toBe(0);
  });

  it('goes on after Ctrl-C where it was, and not with another sweep', async () => {
    const words = ['--concurrency', '2,1', '--requests-per-level', '16', '--drain-timeout', '0'];
    const first = startCli([...base, ...words, '--sweep-dir', 'b'], { cwd: dir });
    await first.waitFor(/level 1 stream:/);
    const broken = await first.stop('SIGINT');
    expect(broken.code, broken.stderr).toBe(130);
    expect(broken.stderr).toContain('--resume b');
    expect(document('b').complete).toBe(false);
    const before = document('b').levels.find(({ level }) => level === 2);
    const other = await sweep(...words, '--temperature', '1', '--resume', 'b');
    expect(other.code).toBe(2);
    expect(other.stderr).toContain('that is another sweep: --temperature differs');
    const resumed = await sweep(...words, '--resume', 'b');
    expect(resumed.code, resumed.stderr).toBe(0);
    const after = document('b');
    expect(after.complete).toBe(true);
    expect(after.levels.map(({ level, status }) => [level, status])).toEqual([
      [2, 'done'],
      [1, 'done'],
    ]);
    expect(after.levels[0]).toEqual(before);
  });

  it('exits with 99 when no level keeps a limit, and names value and bound', async () => {
    const { code, stdout, stderr } = await sweep(
      ...['--concurrency', '1', '--requests-per-level', '8', '--slo', 'ttft p50 < 1ms', '--sweep-dir', 'c'],
    );
    expect(code, stderr).toBe(99);
    expect(stderr).toMatch(/level 1: limit MISSED: ttft p50 < 1ms: \d/);
    expect(stdout).toContain('No level keeps every limit.');
  });

  it('reports a level that fails and goes on, until --max-errors', async () => {
    const words = [
      '--concurrency',
      '1,2,3',
      '--requests-per-level',
      '4',
      '--model',
      'x',
      '--endpoint',
      '/v1/nothing/chat/completions',
    ];
    const all = await sweep(...words, '--num-warmups', '0', '--sweep-dir', 'd');
    expect(all.code).toBe(5);
    expect(document('d').levels.map(({ status, failed }) => [status, failed])).toEqual([
      ['failed', 4],
      ['failed', 4],
      ['failed', 4],
    ]);
    const some = await sweep(...words, '--num-warmups', '0', '--max-errors', '6', '--sweep-dir', 'e');
    expect(some.code).toBe(5);
    expect(document('e').levels.map(({ level }) => level)).toEqual([1, 2]);
  });

  it('refuses a folder that holds a sweep, and results of another version', async () => {
    expect((await sweep('--concurrency', '1', '--sweep-dir', 'a')).stderr).toContain('a holds a sweep already');
    writeFileSync(join(dir, 'a', 'sweep.json'), JSON.stringify({ ...document('a'), schema: 'tabby-load.sweep/9' }));
    const { code, stderr } = await sweep('--concurrency', '1', '--resume', 'a');
    expect(code).toBe(2);
    expect(stderr).toContain('has schema "tabby-load.sweep/9", not tabby-load.sweep/1');
  });
});
