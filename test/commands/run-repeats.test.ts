import { describe, expect, it } from 'vitest';
import { optionsOfRuns } from '../../src/commands/run-repeats.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import type { RunOptions } from '../../src/options/table.ts';

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
