import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import { OPTIONS } from '../../src/options/table.ts';
import { resultFileName, resultPath } from '../../src/report/result-file.ts';
import { settingsOf } from '../../src/report/settings.ts';
import { scratchFolder } from '../dataset/support.ts';
import { fuzz, hostileText, mutated } from './support.ts';

const dir = scratchFolder();
const names = Object.keys(OPTIONS);
const value = fc.oneof(
  hostileText,
  fc.constantFrom('1', '-1', '0.5', '1e999', 'inf', '5s', '16MB', '{}', '{"a":1}', 'a=b', 'off', '5%'),
);
const KEY = 'sk-fuzz-0123456789abcdef';

/** Options, or a usage error of whole lines that shows no key. */
async function parse(words: readonly string[]): Promise<void> {
  try {
    const line = await parseCommandLine(words, { TABBY_API_KEY: KEY });
    expect(line.command).toMatch(/^(run|report|samples|mock|overhead|sweep|compare|help|version)$/);
    if (line.command === 'run') {
      for (const [name, text] of Object.entries(line.options.header ?? {})) expect(name + text).not.toMatch(/[\r\n\0]/);
      expect(line.options.requestIdPrefix).not.toMatch(/[\r\n\0]/);
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.exitCode).toBe(2);
    expect(error.message + error.hint).not.toContain(KEY);
  }
}

describe('command lines', () => {
  fuzz(
    'of any values give options or a message for people',
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 6 }), async (pairs) => {
      const words = pairs.filter(([name]) => name !== 'config').map(([name, text]) => `--${name}=${text}`);
      await parse(['run', '--dataset', 'random', ...words, '--header', `X=${pairs[0]?.[1] ?? ''}`]);
      await parse(['bench', 'serve', ...words, `--api-key=${KEY}`, '--no-such-option']);
    }),
  );

  const yaml = Buffer.from(
    'num-prompts: 10\nconcurrency: 4\nheader:\n  X-A: b\n  X-C: "d"\nextra-body: {a: [1, 2], b: null}\ndataset: random\n',
  );
  fuzz(
    'with a config file of any bytes as well',
    fc.asyncProperty(mutated([yaml], 5), async (bytes) => {
      const path = join(dir, 'config.yaml');
      writeFileSync(path, bytes);
      await parse(['run', '--config', path]);
    }),
  );
});

describe('the name of the result file', () => {
  fuzz(
    'stays in its folder, whatever the model and the label are called',
    fc.property(hostileText, hostileText, hostileText, (model, label, backend) => {
      const settings = settingsOf({ model, label: label === '' ? null : label, backend });
      const name = resultFileName(settings, '20261201-020000');
      expect(name).not.toMatch(/[/\\\0\r\n]/);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
      expect(['.', '..']).not.toContain(name);
      expect(resultPath(settings, { resultDir: '/results', resultFilename: null }, '20261201-020000')).toBe(
        `/results/${name}`,
      );
    }),
  );
});
