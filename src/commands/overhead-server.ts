/** The built-in server in a process of its own, with notes of when it wrote what. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SentRequest } from '../aggregate/delivery.ts';
import type { ServerFigures } from '../aggregate/overhead.ts';
import { unreachableError } from '../errors.ts';
import { decodeTruth } from '../mock/truth.ts';

/** How the server answers. */
export interface ServerPlan {
  readonly ttftMs: number;
  readonly itlMs: number;
  /** Streams at once that it must be able to serve. */
  readonly streams: number;
  readonly lockstep: boolean;
}

/** Longest wait for a server that starts. */
const START_MS = 20_000;

/** A server that runs until {@link stop}. */
export class TruthServer {
  readonly url: string;
  private readonly child: ChildProcess;
  private readonly cpuUsAtStart: number;

  private constructor(child: ChildProcess, url: string, cpuUsAtStart: number) {
    this.child = child;
    this.url = url;
    this.cpuUsAtStart = cpuUsAtStart;
  }

  /** Starts one. @throws AppError when it does not come up */
  static async start(plan: ServerPlan): Promise<TruthServer> {
    const flags = [
      ...['--port', '0', '--stamp', '--ping-interval', 'off', '--keep-alive', '1h'],
      ...['--ttft', `${plan.ttftMs}ms`, '--itl', `${plan.itlMs}ms`],
      ...['--slots', String(Math.max(4096, plan.streams)), '--cache-size', '1000000000'],
      ...(plan.lockstep ? ['--lockstep'] : []),
    ];
    const child = spawn(process.execPath, [programFile(), 'mock', ...flags], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const url = await addressOf(child);
      const { cpuUs } = (await (await fetch(`${url}/__stats`)).json()) as { cpuUs: number };
      return new TruthServer(child, url, cpuUs);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  /** What it wrote, and when. */
  async truth(): Promise<readonly SentRequest[]> {
    const answer = await fetch(`${this.url}/__truth?clear=1`);
    return decodeTruth(Buffer.from(await answer.arrayBuffer()));
  }

  async figures(): Promise<ServerFigures> {
    const stats = (await (await fetch(`${this.url}/__stats`)).json()) as {
      readonly lateness: { readonly meanMs: number; readonly p99Ms: number; readonly maxMs: number };
      readonly frames: number;
      readonly cpuUs: number;
    };
    const { lateness, frames, cpuUs } = stats;
    return {
      lateMs: { mean: lateness.meanMs, p99: lateness.p99Ms, max: lateness.maxMs },
      frames,
      cpuUsPerFrame: frames === 0 ? 0 : (cpuUs - this.cpuUsAtStart) / frames,
    };
  }

  /** Ends it at once. */
  stop(): void {
    this.child.kill('SIGKILL');
  }
}

/** Waits for the line that names the address. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(unreachableError(`the built-in server did not start: ${why}`));
    const timer = setTimeout(() => fail(`nothing heard of it in ${START_MS / 1000} s`), START_MS);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`it ended with code ${String(code)}`));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(timer);
      const url = /https?:\/\/\S+/.exec(line)?.[0];
      if (url === undefined) fail(`it said ${JSON.stringify(line.slice(0, 100))}`);
      else resolve(url);
    });
  });
}

/** The program's file: beside this one when bundled, else (from the sources) in the build. */
function programFile(): string {
  const here = fileURLToPath(import.meta.url);
  return here.endsWith('.ts')
    ? fileURLToPath(new URL('../../dist/main.js', import.meta.url))
    : fileURLToPath(new URL('./main.js', import.meta.url));
}
