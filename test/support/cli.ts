/** Runs the built program as a user does: as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HOME_VARIABLE } from './home.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Path of the built program. */
export const PROGRAM = `${root}dist/main.js`;

let isBuildChecked = false;

/** How a process ended and what it said. */
export interface CliResult {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where and how to run the program. */
export interface CliOptions {
  /** Variables on top of a minimal environment: none of the caller's TABBY_… or OPENAI_… are passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Kill it after this time, in ms (default 30,000): a test that hangs tells less than one that fails. */
  readonly limitMs?: number;
}

/** Runs the program to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).ended;
}

/** A program that goes on: the mock server, or a run that is to be interrupted. */
export interface RunningCli {
  readonly child: ChildProcess;
  readonly ended: Promise<CliResult>;
  /**
   * Waits until what it has written to stdout or stderr fits the pattern, and returns the match. Rejects when it ends before.
   */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Ends it by a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<CliResult>;
}

/** Starts the program without waiting. Its stdin is closed. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  refuseStaleBuild();
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env[HOME_VARIABLE] ?? process.env['HOME'], ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const output = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const watch of watchers) watch();
    });
  }
  const limit = setTimeout(() => child.kill('SIGKILL'), options.limitMs ?? 30_000);
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, ...output });
    });
  });
  const waitFor = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const watch = () => {
        const match = pattern.exec(output.stdout) ?? pattern.exec(output.stderr);
        if (match !== null) resolve(match);
      };
      watchers.add(watch);
      watch();
      ended.then(({ code, stderr }) => reject(new Error(`ended with ${code} before ${pattern}: ${stderr}`)), reject);
    });
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  return { child, ended, waitFor, stop };
}

/** Tests of an old build would say nothing about the sources: `npm test` builds, a bare `npx vitest` does not. */
function refuseStaleBuild(): void {
  if (isBuildChecked) return;
  const newest = (path: string): number =>
    statSync(path).isDirectory()
      ? Math.max(0, ...readdirSync(path).map((name) => newest(`${path}/${name}`)))
      : statSync(path).mtimeMs;
  if (!existsSync(PROGRAM) || statSync(PROGRAM).mtimeMs < newest(`${root}src`)) {
    throw new Error('dist/ is older than src/: run npm run build first');
  }
  isBuildChecked = true;
}
