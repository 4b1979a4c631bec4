import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { optionsOfRuns } from '../../src/commands/run-repeats.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import type { RunOptions } from '../../src/options/table.ts';
import { runCli } from '../support/cli.ts';
import { complete, startScripted } from '../support/scripted-server.ts';

async function runs(...words: string[]): Promise<readonly RunOptions[]> {
  const line = await parseCommandLine(['--dataset', 'random', ...words], {});
  if (line.command !== 'run') throw new Error('not a run');
  return optionsOfRuns(line.options);
}

describe('the files of --num-runs', () => {
  it('have the number of the run in their names, but for the JSON of all', async () => {
    const all = await runs(
      '--num-runs',
      '3',
      '--save-records',
      'd/run.msgpack',
      '--json',
      'x.json',
      '--samples-out',
      's.tsv',
    );
    expect(all.map(({ saveRecords }) => saveRecords)).toEqual([
      'd/run.1.msgpack',
      'd/run.2.msgpack',
      'd/run.3.msgpack',
    ]);
    expect(all.map(({ json }) => json)).toEqual(['x.1.json', 'x.2.json', 'x.json']);
    expect(all.map(({ samplesOut }) => samplesOut)).toEqual(['s.tsv', null, null]);
  });

  it('leave stdout to the last', async () => {
    const all = await runs('--num-runs', '2', '--json', '-');
    expect(all.map(({ json, quiet }) => [json, quiet])).toEqual([
      [null, true],
      ['-', false],
    ]);
  });

  it('are as they were for a single run', async () => {
    const [only, ...more] = await runs('--save-records', 'run.msgpack');
    expect(more).toEqual([]);
    expect(only?.saveRecords).toBe('run.msgpack');
  });
});

describe('the prompts of --num-runs', () => {
  /** Prompts that a server saw, run by run. */
  async function prompts(...more: string[]): Promise<string[][]> {
    const dir = mkdtempSync(join(tmpdir(), 'tabby-load-repeats-'));
    const server = await startScripted((reply) => complete(reply));
    try {
      const rows = ['Why is the sea salt?', 'What is a "quoted" word?'].map((prompt) => JSON.stringify({ prompt }));
      writeFileSync(join(dir, 'rows.jsonl'), rows.join('\n'));
      const words = ['--base-url', server.url, '--dataset-name', 'custom', '--dataset-path', 'rows.jsonl'];
      const { code, stderr } = await runCli(
        [
          ...words,
          '--num-prompts',
          '2',
          '--concurrency',
          '1',
          '--num-runs',
          '2',
          '--disable-shuffle',
          '--ui',
          'none',
          ...more,
        ],
        { cwd: dir },
      );
      expect(code, stderr).toBe(0);
      const seen = server.requests.map(({ body }) => JSON.parse(body).messages[0].content[0].text as string);
      return [seen.slice(-4, -2), seen.slice(-2)];
    } finally {
      await server.close();
      rmSync(dir, { recursive: true, force: true });
    }
  }

  it('are the same in each run', async () => {
    const [first, second] = await prompts();
    expect(first).toHaveLength(2);
    expect(second).toEqual(first);
  });

  it('are new to the prefix cache in each run with --unique-prompts', async () => {
    const [first = [], second = []] = await prompts('--unique-prompts');
    const parts = [...first, ...second].map((prompt) => /^([0-9a-f]{8})-(\d): (.*)$/s.exec(prompt)?.slice(1));
    expect(parts.map((part) => part?.slice(1))).toEqual([
      ['0', 'Why is the sea salt?'],
      ['1', 'What is a "quoted" word?'],
      ['0', 'Why is the sea salt?'],
      ['1', 'What is a "quoted" word?'],
    ]);
    const [a, b, c, d] = parts.map((part) => part?.[0]);
    expect([a === b, c === d, a === c]).toEqual([true, true, false]);
  });
});
