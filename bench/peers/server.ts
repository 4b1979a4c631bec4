/** The server that all clients are measured against, in a process of its own, new for each run. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pinned } from './process.ts';

/** How it answers. */
export interface ServerKind {
  readonly lineEnd: 'crlf' | 'lf';
  readonly ttftMs: number;
  readonly itlMs: number;
  readonly tokens: number;
  readonly lockstep: boolean;
}

/** How late the server itself was, ms; null where it does not tell. */
export interface Lateness {
  readonly mean: number;
  readonly p99: number | null;
  readonly max: number | null;
  readonly cpuUsPerFrame: number | null;
}

/** A running server. */
export interface PeerServer {
  readonly url: string;
  /** Ends it and reads what it says of itself. */
  stop(): Promise<Lateness | null>;
}

/** The command of the built-in server. CRLF means TabbyAPI's frames, LF the OpenAI form as vLLM writes it. */
export function builtIn(program: string, kind: ServerKind, port: number): readonly string[] {
  return [
    ...[process.execPath, program, 'mock', '--port', String(port), '--ping-interval', 'off', '--keep-alive', '1h'],
    ...['--ttft', `${kind.ttftMs}ms`, '--itl', `${kind.itlMs}ms`, '--tokens', String(kind.tokens + 1)],
    ...['--style', kind.lineEnd === 'crlf' ? 'tabbyapi' : 'openai', '--slots', '100000', '--cache-size', '1000000000'],
    ...(kind.lockstep ? ['--lockstep'] : []),
  ];
}

/** A command of the user's with {port}, {ttft}, {itl}, {tokens} and {lockstep} (1 or 0) filled in. */
export function foreign(template: string, kind: ServerKind, port: number): readonly string[] {
  const values: Readonly<Record<string, string>> = {
    port: String(port),
    ttft: String(kind.ttftMs),
    itl: String(kind.itlMs),
    tokens: String(kind.tokens),
    lockstep: kind.lockstep ? '1' : '0',
  };
  return template.split(' ').map((word) => word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole));
}

/** Starts a command and waits until it answers. */
export async function startServer(
  command: readonly string[],
  port: number,
  core: string | undefined,
): Promise<PeerServer> {
  const [file, ...args] = pinned(command, core) as [string, ...string[]];
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilThere(url, child);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    url,
    async stop() {
      const closed = once(child, 'close');
      child.kill('SIGINT');
      const patience = setTimeout(() => child.kill('SIGKILL'), 5000);
      await closed;
      clearTimeout(patience);
      return latenessOf(lines);
    },
  };
}

async function untilThere(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/v1/models`).catch(() => null);
    if (answer !== null) {
      await answer.arrayBuffer();
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the server at ${url} does not answer`);
}

/** What a server prints at its end: one line of JSON with `late_mean_ms` and more. */
export function latenessOf(lines: readonly string[]): Lateness | null {
  for (const line of lines.toReversed()) {
    if (!line.startsWith('{')) continue;
    const said = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const number = (key: string): number | null => (typeof said[key] === 'number' ? said[key] : null);
    const mean = number('late_mean_ms');
    if (mean === null) continue;
    return {
      mean,
      p99: number('late_p99_ms'),
      max: number('late_max_ms'),
      cpuUsPerFrame: number('cpu_us_per_frame'),
    };
  }
  return null;
}
