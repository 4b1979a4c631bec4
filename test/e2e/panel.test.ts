/** The panel of a real run on a real pseudo-terminal, made by `script` of util-linux; skipped where that is not there. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM, type RunningCli, startCli } from '../support/cli.ts';
import { Screen } from '../support/screen.ts';

const SAMPLE = join(import.meta.dirname, '../../examples/sharegpt-sample.json');
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-panel-'));
const hasScript =
  process.platform === 'linux' &&
  /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

let mock: RunningCli;
let url = '';

beforeAll(async () => {
  mock = startCli(['mock', '--port', '0', '--ttft', '20ms', '--itl', '10ms'], { limitMs: 60_000 });
  url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
});

afterAll(async () => {
  await mock.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface Terminal {
  readonly child: ChildProcess;
  text: string;
  readonly code: Promise<number | null>;
  waitFor(pattern: RegExp): Promise<void>;
}

/** Runs the program in a terminal of 80 × 24. */
function inTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}): Terminal {
  const quoted = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qefc', `stty cols 80 rows 24; exec ${quoted}`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'xterm', LANG: 'C.UTF-8', ...env },
  });
  const watchers = new Set<() => void>();
  const limit = setTimeout(() => child.kill('SIGKILL'), 30_000);
  const code = new Promise<number | null>((resolve) => {
    child.once('close', (ended) => {
      clearTimeout(limit);
      resolve(ended);
    });
  });
  const terminal: Terminal = {
    child,
    text: '',
    code,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const watch = () => {
          if (pattern.test(terminal.text)) resolve();
        };
        watchers.add(watch);
        watch();
        code.then(() => reject(new Error(`ended before ${pattern}: ${terminal.text}`)));
      }),
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    terminal.text += text;
    for (const watch of watchers) watch();
  });
  return terminal;
}

/** What stands on the terminal when all of it was written. */
function screenOf(text: string): Screen {
  const screen = new Screen(80, 24);
  screen.write(text);
  return screen;
}

const load = (...more: string[]): string[] => ['--base-url', url, '--dataset', SAMPLE, '--concurrency', '4', ...more];

describe.skipIf(!hasScript)('on a terminal', () => {
  it('the panel moves while answers stream, and leaves a clean report', async () => {
    const terminal = inTerminal(load('--num-prompts', '4', '--sharegpt-output-len', '120'));
    expect(await terminal.code).toBe(0);
    const { text } = terminal;
    // Before the first request has ended there are latencies already.
    expect(text).toMatch(/ 0 of 4[\s\S]*ITL[^\r]* ms p50/);
    const screen = screenOf(text);
    expect(screen.isCursorShown).toBe(true);
    const { whole } = screen;
    expect(whole.join('\n')).toMatch(
      /^tabby-load: 0[\s\S]*\ntabby-load: 4 requests[\s\S]*\n=+ Serving Benchmark Result =+\n/,
    );
    expect(whole.filter((line) => /[█░▁]|so far|p50/.test(line))).toEqual([]);
  });

  it('Ctrl-C takes it away, with the keys that were pressed', async () => {
    const terminal = inTerminal(load('--num-prompts', '8', '--sharegpt-output-len', '2000'));
    await terminal.waitFor(/ITL[^\r]* ms p50/);
    terminal.child.stdin?.write('\r\u0003');
    await terminal.waitFor(/SIGINT: no more requests[\s\S]*TTFT/);
    terminal.child.stdin?.write('\u0003');
    expect(await terminal.code).toBe(130);
    const screen = screenOf(terminal.text);
    expect(screen.isCursorShown).toBe(true);
    const { whole } = screen;
    const from = whole.findIndex((line) => line.startsWith('tabby-load: SIGINT'));
    expect(whole[from - 1]).toMatch(/^tabby-load: 8 requests/);
    expect(whole[from + 1]).toMatch(/^tabby-load: warning: /);
    expect(whole.filter((line) => /[█░▁]|so far|p50/.test(line))).toEqual([]);
  });

  it('NO_COLOR and --ui plain have no cursor codes', async () => {
    for (const [args, env] of [
      [[], { NO_COLOR: '1' }],
      [['--ui', 'plain'], {}],
    ] as const) {
      const terminal = inTerminal([...load('--num-prompts', '4', '--sharegpt-output-len', '4'), ...args], env);
      expect(await terminal.code).toBe(0);
      expect(terminal.text).not.toContain('\u001b');
    }
  });
});
