import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/options/parse.ts';
import { typedWords } from '../../src/options/typed.ts';

const run = (...words: string[]) => typedWords(words, 'run', 'run');

describe('the words of a command line', () => {
  it('stand as they were typed', () => {
    const words = [
      'run',
      '--concurrency',
      '4',
      '--dataset=my file.json',
      '--slo',
      'ttft p99 < 500ms',
      '--temperature',
      '-1',
    ];
    expect(run(...words)).toEqual(words);
  });

  it('have no key, in whatever form it is given', () => {
    expect(run('--api-key', 'sk-geheim', '--seed', '1')).toEqual(['--api-key', '***', '--seed', '1']);
    expect(run('--api_key=sk-geheim')).toEqual(['--api_key=***']);
    expect(run('--api-ke', 'sk-geheim')).toEqual(['--api-ke', '***']);
    // A key that begins with a dash is one, an option is not.
    expect(run('--api-key', '-Ab3', '--seed', '1')).toEqual(['--api-key', '***', '--seed', '1']);
    expect(run('--api-key', '--Ab3', '--seed', '1')).toEqual(['--api-key', '***', '--seed', '1']);
    expect(run('--api-key', '--seed', '1')).toEqual(['--api-key', '--seed', '1']);
  });

  it('have no credentials in headers, bodies and addresses', () => {
    expect(run('--header', 'X-Run=7', 'Authorization=Bearer geheim', 'X-Api-Key=geheim')).toEqual([
      '--header',
      'X-Run=7',
      'Authorization=***',
      'X-Api-Key=***',
    ]);
    expect(run('--extra-body', '{"a": {"password": "geheim"}, "n": 1}')).toEqual([
      '--extra-body',
      '{"a":{"password":"***"},"n":1}',
    ]);
    expect(run('--extra-body.auth.token', 'geheim')).toEqual(['--extra-body.auth.token', '***']);
    expect(run('--extra-body.max_tokens=12')).toEqual(['--extra-body.max_tokens=12']);
    expect(run('--base-url', 'http://me:geheim@host:1/v1')).toEqual(['--base-url', 'http://***@host:1/v1']);
    expect(run('--proxy=http://me:geheim@host:1')).toEqual(['--proxy=http://***@host:1']);
    // JSON that hides nothing stays as it was typed, spaces and all; so does what the user wants in the result.
    expect(run('--extra-body', '{ "n": 1 }')).toEqual(['--extra-body', '{ "n": 1 }']);
    expect(run('--metadata', 'tokens=12')).toEqual(['--metadata', 'tokens=12']);
  });

  it('are as many as were typed, and hold no key wherever it stands behind its option', () => {
    const word = fc.constantFrom(
      '--seed',
      '1',
      '--header',
      'a=b',
      '--quiet',
      'x',
      '--extra-body',
      '{"n":1}',
      '--',
      '-',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), fc.array(word, { maxLength: 6 }), (before, after) => {
        const words = [...before, '--api-key', 'sk-geheim', ...after];
        const typed = run(...words);
        expect(typed.length).toBe(words.length);
        expect(typed.join(' ')).not.toContain('geheim');
      }),
    );
  });

  it('go with the options of a call', async () => {
    const line = await parseCommandLine(['bench', 'serve', '--model', 'm', '--dataset-name', 'random'], {});
    if (line.command !== 'run') throw new Error('not a run');
    expect(line.options.typed).toEqual(['bench', 'serve', '--model', 'm', '--dataset-name', 'random']);
  });
});
