/** Every option that is accepted does something: its value is read somewhere outside the folder that parses options. */
import { describe, expect, it } from 'vitest';
import { recordName } from '../../src/options/redact.ts';
import { type CommandName, keyOf, type OptionSpec } from '../../src/options/spec.ts';
import { OPTIONS } from '../../src/options/table.ts';
import { codeOf, sourceFiles } from '../project/sources.ts';

/** Options that nothing outside src/options reads, and why. */
const UNREAD: Readonly<Record<string, string>> = {
  dataset: 'resolved into --dataset-name or --dataset-path',
  'output-len': "stands for each data set's own output length",
  'dry-run': 'turns the run into the command samples',
  'tokenizer-mode': 'auto, hf and slow all read tokenizer.json; other modes are refused',
  'trust-remote-code': 'no code that comes with a tokenizer is ever run, as its help says',
  'use-beam-search': "accepted without effect, as in vLLM's client",
};

/** Options of a run that `report` accepts, so that its command line can be used again, and that change no figure. */
const RECORDED_ONLY: Readonly<Record<string, string>> = {
  endpoint: 'stands in the options of the result',
  seed: 'stands in the options of the result',
  'request-id-prefix': 'stands in the options of the result',
  'disable-tqdm': 'report shows no progress',
};

const SOURCES = sourceFiles()
  .filter((file) => !file.startsWith('options/'))
  .map((file) => ({ file, code: codeOf(file) }));

/** Files that may read the options of a command. */
const READERS: Readonly<Record<CommandName, (file: string) => boolean>> = {
  run: (file) => !file.startsWith('mock/') && file !== 'commands/mock.ts',
  samples: (file) => /^(dataset|transport)\/|^commands\/(samples|run-target|run-server)\.ts$/.test(file),
  report: (file) => /^(report|aggregate)\/|^commands\/(report|report-merge|put-out|put-plots)\.ts$/.test(file),
  mock: (file) => file.startsWith('mock/') || file === 'commands/mock.ts',
  overhead: (file) => /^commands\/overhead/.test(file),
  sweep: (file) => /^commands\/sweep/.test(file),
  compare: (file) => file === 'commands/compare.ts',
};

/** Is it read: as a member, by destructuring, or from the options of a record header? */
function isRead(code: string, name: string, spec: OptionSpec): boolean {
  const key = keyOf(name, spec);
  return new RegExp(`\\.${key}\\b|\\b${key}\\b(?=\\s*[,}:])|['"]${key}['"]|['"]${recordName(name, spec)}['"]`).test(
    code,
  );
}

const accepted = Object.entries(OPTIONS).filter(([, spec]) => spec.refused === undefined);
const uses = accepted.flatMap(([name, spec]) => spec.commands.map((command) => [command, name, spec] as const));

describe('an accepted option', () => {
  it.each(uses)('of %s is read: --%s', (command, name, spec) => {
    const found = SOURCES.filter(({ file, code }) => READERS[command](file) && isRead(code, name, spec));
    const isExcused = name in UNREAD || (command === 'report' && name in RECORDED_ONLY);
    if (!isExcused) expect(found.length, `nothing reads --${name} for ${command}`).toBeGreaterThan(0);
  });

  it('is excused only where nothing reads it', () => {
    for (const name of Object.keys(UNREAD)) {
      const spec = OPTIONS[name] as OptionSpec;
      const readers = SOURCES.filter(({ file, code }) => READERS.run(file) && isRead(code, name, spec));
      expect([
        name,
        readers.filter(({ code }) => new RegExp(`options\\.${keyOf(name, spec)}\\b`).test(code)).length,
      ]).toEqual([name, 0]);
    }
    for (const name of [...Object.keys(UNREAD), ...Object.keys(RECORDED_ONLY)]) expect(OPTIONS).toHaveProperty([name]);
  });

  it('would be missed by this test if nothing read it', () => {
    const made: OptionSpec = { type: 'duration', group: 'load', commands: ['run'], default: null, help: '' };
    expect(SOURCES.filter(({ code }) => isRead(code, 'made-up-wait', made))).toEqual([]);
    expect(isRead('const x = options.madeUpWaitMs;', 'made-up-wait', made)).toBe(true);
    expect(isRead("options['made_up_wait_ms']", 'made-up-wait', made)).toBe(true);
    expect(isRead('const { madeUpWaitMs, other } = options;', 'made-up-wait', made)).toBe(true);
    expect(isRead('options.madeUpWaitMsTwice', 'made-up-wait', made)).toBe(false);
    expect(uses.length).toBeGreaterThan(200);
  });
});
