import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/options/parse.ts';
import { readLevelRequests, readLevels, requestsOf } from '../../src/options/sweep-levels.ts';

const sweep = (...words: string[]) => parseCommandLine(['sweep', '--dataset', 'random', ...words], {});

describe('levels', () => {
  it('are read as given, in that order', () => {
    expect(readLevels(['4', ' 1', '2'], 'concurrency')).toEqual({ levels: [4, 1, 2] });
    expect(readLevels(['0.5', '1e1'], 'request_rate')).toEqual({ levels: [0.5, 10] });
    expect(readLevels(['AUTO'], 'concurrency')).toEqual({ levels: 'auto' });
  });

  it.each([
    [[], /no levels/],
    [[''], /no levels/],
    [['1', ''], /"" is no level/],
    [['1', 'x'], /"x" is no level/],
    [['0'], /"0" is no level/],
    [['-1'], /"-1" is no level/],
    [['Infinity'], /"Infinity" is no level/],
    [['1.5'], /1\.5 is no number of streams/],
    [['2', '2.0'], /2 is there twice/],
    [['1', 'auto'], /"auto" is no level/],
  ])('%j are refused', (words, problem) => {
    expect(readLevels(words, 'concurrency')).toEqual({ problem: expect.stringMatching(problem) });
  });
});

describe('requests of a level', () => {
  it('are fixed, or scaled with at least eight', () => {
    expect(requestsOf(64, readLevelRequests('500') ?? { count: 0, isScaled: false })).toBe(500);
    expect(requestsOf(64, readLevelRequests('4x') ?? { count: 0, isScaled: false })).toBe(256);
    expect(requestsOf(1, readLevelRequests('4X') ?? { count: 0, isScaled: false })).toBe(8);
    expect(requestsOf(3, readLevelRequests('2.5x') ?? { count: 0, isScaled: false })).toBe(8);
  });

  it.each(['', '0', '-4x', 'x', '2.5', '4y', '0x'])('%j is none', (text) => {
    expect(readLevelRequests(text)).toBeNull();
  });
});

describe('the command line of a sweep', () => {
  it('takes the options of a run beside its own', async () => {
    const line = await sweep('--concurrency', '1,2', '--temperature', '0', '--slo', 'ttft p99 < 500ms', '--no-nonce');
    expect(line).toMatchObject({
      command: 'sweep',
      options: {
        sweepMaxConcurrency: ['1', '2'],
        temperature: 0,
        slo: ['ttft p99 < 500ms'],
        nonce: false,
        form: 'sweep',
      },
    });
  });

  it.each([
    [[], /which levels/],
    [['--concurrency', '1', '--request-rate', '2'], /give only one/],
    [['--concurrency', '1,1'], /--concurrency: 1 is there twice/],
    [['--request-rate', '1,z'], /--request-rate: "z" is no level/],
    [['--concurrency', '1', '--requests-per-level', 'q'], /--requests-per-level q/],
    [['--concurrency', '1', '--goodput-target', '90%'], /--goodput-target: good by what/],
    [['--concurrency', '1', '--resume', 'a', '--sweep-dir', 'b'], /--resume names the folder already/],
    [['--concurrency', '1', '--num-prompts', '3'], /not an option of "sweep"/],
  ])('%j is refused', async (words, problem) => {
    await expect(sweep(...words)).rejects.toThrow(problem);
  });
});
