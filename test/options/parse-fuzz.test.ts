import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import { OPTIONS } from '../../src/options/table.ts';

const names = Object.keys(OPTIONS);
const name = fc.constantFrom(...names);
const odd = fc.constantFrom(
  '',
  '-',
  '--',
  '=',
  '-1',
  '--=x',
  '__proto__',
  'inf',
  'NaN',
  '{}',
  '{"a":',
  '\u0000',
  '\ud800',
  'a=b',
  'ttft:5',
  '1e999',
);
const word = fc.oneof(
  odd,
  fc.string({ maxLength: 8 }),
  name.map((each) => `--${each}`),
  name.map((each) => `--${each.replaceAll('-', '_')}`),
  fc.tuple(name, fc.oneof(odd, fc.string({ maxLength: 8 }))).map(([each, value]) => `--${each}=${value}`),
  fc.tuple(name, fc.string({ maxLength: 5 })).map(([each, path]) => `--${each}.${path}`),
  fc.tuple(name, fc.nat(20)).map(([each, length]) => `--${each.slice(0, length)}`),
  fc.constantFrom('run', 'bench', 'serve', 'report', 'samples', 'mock', 'help', '--help', '--version', '-h'),
);

describe('any command line', () => {
  it('gives options or a usage error of whole lines, never anything else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 8 }), async (words) => {
        // --config reads files: another test's matter.
        if (words.some((each) => /^--con?f?i?g?(=|$)/.test(each))) return;
        try {
          const line = await parseCommandLine(words, {});
          expect(line.command).toMatch(/^(run|report|samples|mock|help|version)$/);
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          expect(error.exitCode).toBe(2);
          expect(error.message.length).toBeGreaterThan(5);
        }
      }),
      { numRuns: 400 },
    );
  });
});
