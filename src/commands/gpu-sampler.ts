/**
 * Samples the GPUs of the host during a run: one `nvidia-smi` that prints a line per GPU and second, here when the server is on this machine and
 * the program is at hand, else over ssh where `--gpu-host` says so. It is a guest: whatever it does, the run goes on.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { GPU_FIELDS, type GpuFigures, type GpuSample, gpuFigures, parseGpuLine } from '../aggregate/gpus.ts';
import type { RunOptions } from '../options/table.ts';
import { monotonicOffsetMs, nowMs } from '../record/clock.ts';
import { printable, printErr } from '../report/terminal.ts';
import { bareHost, isLoopback } from '../transport/route.ts';

const EVERY_MS = 1000;
/** A day of eight GPUs; beyond that every second reading is left out. */
const MAX_SAMPLES = 700_000;
const PROGRAM = 'nvidia-smi';
const ARGS = [`--query-gpu=${GPU_FIELDS}`, '--format=csv,noheader,nounits', `-lms=${EVERY_MS}`];

/** A sampler under way. */
export class GpuSampler {
  private readonly child: ChildProcess;
  private readonly startMs = nowMs();
  private samples: GpuSample[] = [];
  private seen = 0;
  private keepEvery = 1;
  private readonly onExit = (): void => void this.child.kill('SIGKILL');

  private constructor(command: string, args: readonly string[], host: string | null) {
    this.child = spawn(command, args, { stdio: ['ignore', 'pipe', host === null ? 'ignore' : 'pipe'] });
    process.on('exit', this.onExit);
    let said = '';
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, 300);
    });
    const tell = (why: string): void => {
      if (host !== null && this.samples.length === 0) {
        printErr(`tabby-load: warning: --gpu-host ${printable(host)}: no readings: ${printable(why.trim())}`);
      }
    };
    this.child.on('error', (error) => tell(error.message));
    this.child.on('close', (code) => tell(said === '' ? `it ended with ${code}` : said));
    if (this.child.stdout !== null) createInterface({ input: this.child.stdout }).on('line', (line) => this.take(line));
  }

  /** Null where there is nothing to sample. */
  static start({ gpuHost, gpus, baseUrl }: Pick<RunOptions, 'gpuHost' | 'gpus' | 'baseUrl'>): GpuSampler | null {
    if (!gpus) return null;
    if (gpuHost !== null) {
      return new GpuSampler('ssh', ['-o', 'BatchMode=yes', '--', gpuHost, [PROGRAM, ...ARGS].join(' ')], gpuHost);
    }
    // The GPUs of this machine are no business of a server elsewhere.
    const path = isLoopback(bareHost(new URL(baseUrl))) ? found(PROGRAM) : null;
    return path === null ? null : new GpuSampler(path, ARGS, null);
  }

  /** Ends it. Null when nothing was read. */
  stop(): readonly GpuFigures[] | null {
    this.child.removeAllListeners('close');
    process.off('exit', this.onExit);
    this.child.stdout?.destroy();
    this.child.kill('SIGTERM');
    this.child.unref();
    const figures = gpuFigures(this.samples, this.startMs, nowMs(), monotonicOffsetMs());
    return figures.length === 0 ? null : figures;
  }

  private take(line: string): void {
    const sample = parseGpuLine(line, nowMs());
    if (sample === null || this.seen++ % this.keepEvery !== 0) return;
    this.samples.push(sample);
    if (this.samples.length < MAX_SAMPLES) return;
    this.samples = this.samples.filter((_, k) => k % 2 === 0);
    this.keepEvery *= 2;
  }
}

/** Where a program lies on the PATH; null when it does not. */
function found(program: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not there.
    }
  }
  return null;
}
