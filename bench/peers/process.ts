/** Runs a program to its end and tells what it cost: CPU time of the whole process, children included, and the most memory it held. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** What a run of a program cost. */
export interface Cost {
  /** User and system time, start-up included, seconds. */
  readonly cpuS: number;
  readonly wallS: number;
  /** Peak of the resident memory, MB; null where the system does not tell. */
  readonly rssMb: number | null;
}

/** Which cores client and server are kept on; null: wherever the system puts them. */
export interface Pinning {
  readonly client: string;
  readonly server: string;
}

const POLL_MS = 50;
/** Lines of a failed program that are shown. */
const TAIL_LINES = 15;

/** One core each, where there are two and a `taskset`. */
export function pinningOf(client: string | undefined, server: string | undefined): Pinning | null {
  if (spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status !== 0) return null;
  if (client === undefined && server === undefined && availableParallelism() < 2) return null;
  return { client: client ?? '1', server: server ?? '0' };
}

/** The command, kept on a core. */
export function pinned(command: readonly string[], core: string | undefined): readonly string[] {
  return core === undefined ? command : ['taskset', '-c', core, ...command];
}

/**
 * Runs a command. A shell around it waits for it and then tells its CPU time, which no polling could see to the end.
 * @throws Error with the end of its output when it fails or takes longer than `limitS`
 */
export async function runMeasured(
  command: readonly string[],
  env: Record<string, string>,
  limitS: number,
): Promise<Cost> {
  const script = '"$@"; code=$?; times >&3; exit $code';
  const begun = performance.now();
  const shell = spawn('sh', ['-c', script, 'sh', ...command], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    // In a group of its own, so that all of it can be ended.
    detached: true,
  });
  const pid = shell.pid as number;
  let output = '';
  let times = '';
  const keep = (text: Buffer): void => {
    output = (output + text.toString()).slice(-20_000);
  };
  shell.stdout?.on('data', keep);
  shell.stderr?.on('data', keep);
  (shell.stdio[3] as NodeJS.ReadableStream).on('data', (text: Buffer) => {
    times += text.toString();
  });
  const peaks = new Map<number, number>();
  const poll = setInterval(() => notePeaks(pid, peaks), POLL_MS);
  const limit = setTimeout(() => process.kill(-pid, 'SIGKILL'), limitS * 1000);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      shell.once('error', reject);
      shell.once('close', resolve);
    });
    if (code !== 0) {
      const tail = output.trim().split('\n').slice(-TAIL_LINES).join('\n');
      throw new Error(`${command.join(' ')}\nended with ${String(code)} (limit ${limitS} s):\n${tail}`);
    }
  } finally {
    clearInterval(poll);
    clearTimeout(limit);
  }
  const rss = [...peaks.values()].reduce((sum, kb) => sum + kb, 0) / 1000;
  return { cpuS: childSeconds(times), wallS: (performance.now() - begun) / 1000, rssMb: rss > 0 ? rss : null };
}

/** Seconds in the second line of the shell's `times`, which is about its children: `0m1.25s 0m0.31s`. */
export function childSeconds(times: string): number {
  const line = times.trim().split('\n')[1] ?? '';
  const parts = [...line.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`no CPU times in ${JSON.stringify(times)}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

/** Notes the peak memory of everything below the shell, in kB by process. */
function notePeaks(shell: number, peaks: Map<number, number>): void {
  for (const pid of descendants(shell)) {
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(contentOf(`/proc/${pid}/status`))?.[1];
    if (peak !== undefined) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, Number(peak)));
  }
}

function descendants(pid: number): number[] {
  const children = contentOf(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
