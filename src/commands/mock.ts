/** `tabby-load mock`: the built-in server in a process of its own. */
import { EXIT, type ExitCode } from '../errors.ts';
import type { MockOptions as ServerOptions } from '../mock/options.ts';
import { startMock } from '../mock/server.ts';
import type { MockStatsSnapshot } from '../mock/stats.ts';
import type { MockOptions } from '../options/table.ts';
import { printErr, printErrSync, printOut } from '../report/terminal.ts';
import { mockSettings } from './mock-options.ts';

/** The last line, JSON: what was served, how late the server itself was, and what a frame cost it. */
export function closingLine(stats: MockStatsSnapshot): string {
  const { lateness, requests, tokensMade, frames, cpuUs } = stats;
  const rounded = (value: number): number => Math.round(value * 1000) / 1000;
  return JSON.stringify({
    requests,
    tokens: tokensMade,
    frames,
    late_mean_ms: rounded(lateness.meanMs),
    late_p99_ms: rounded(lateness.p99Ms),
    late_max_ms: rounded(lateness.maxMs),
    cpu_us_per_frame: frames === 0 ? null : rounded(cpuUs / frames),
  });
}

/** Runs a server until SIGINT or SIGTERM; then one line of JSON on stderr and exit code 0. */
export async function runMock(options: Partial<ServerOptions>): Promise<ExitCode> {
  const server = await startMock(options, { log: printErr });
  printOut(`tabby-load mock: listening on ${server.url}`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  const stats = server.stats();
  await server.close();
  printErrSync(closingLine(stats));
  return EXIT.ok;
}

/** `tabby-load mock`. The first line on stdout says where it listens. Throws AppError when it cannot, or an option is wrong. */
export function mockCommand(options: MockOptions): Promise<ExitCode> {
  return runMock({ ...mockSettings(options), precise: true });
}
