/** `tabby-load mock`: the built-in server in a process of its own. */
import { EXIT, type ExitCode } from '../errors.ts';
import { parseFaultRate } from '../mock/faults.ts';
import { MOCK_DEFAULTS, type MockOptions as ServerOptions } from '../mock/options.ts';
import { startMock } from '../mock/server.ts';
import type { MockStatsSnapshot } from '../mock/stats.ts';
import { warmUp } from '../mock/warmup.ts';
import type { MockOptions } from '../options/table.ts';
import { printable, printErr, printErrSync, printOut } from '../report/terminal.ts';

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

/**
 * The server's settings from the options of the command line: what is "off" there is 0 or '' here. Throws a usage error for a fault
 * that is unknown.
 */
export function serverOptions(options: MockOptions): ServerOptions {
  return {
    ...MOCK_DEFAULTS,
    host: options.host,
    port: options.port,
    noModel: options.noModel,
    ttftMs: options.ttftMs,
    itlMs: options.itlMs,
    jitter: options.jitter,
    tokens: options.tokens,
    reasoningParsed: options.reasoningParsed,
    lockstep: options.lockstep,
    mergeTokens: options.mergeTokens,
    draftTokens: options.draftTokens,
    slots: options.slots,
    cacheSize: options.cacheSize,
    maxSeqLen: options.maxSeqLen,
    chunkSize: options.chunkSize,
    usageDetails: options.usageDetails,
    noStreaming: options.noStreaming,
    requeueUsage: options.requeueUsage,
    faultAt: options.faultAt,
    hold: options.hold,
    stamp: options.stamp,
    trackIds: options.trackIds,
    seed: options.seed,
    verbose: options.verbose,
    apiKey: options.apiKey ?? '',
    adminKey: options.adminKey ?? '',
    model: options.model ?? MOCK_DEFAULTS.model,
    reasoningShare: options.reasoning,
    pingIntervalMs: options.pingIntervalMs ?? 0,
    keepAliveMs: options.keepAliveMs ?? 0,
    lineEnd: options.lineEnd as ServerOptions['lineEnd'],
    style: options.style as ServerOptions['style'],
    faults: options.fault.map(parseFaultRate),
    precise: true,
  };
}

/** Runs a server until SIGINT or SIGTERM; then one line of JSON on stderr and exit code 0. */
export async function runMock(options: Partial<ServerOptions>): Promise<ExitCode> {
  if (options.precise === true) await warmUp();
  const server = await startMock(options, { log: (line) => printErr(printable(line)) });
  // Listened for before the address is told: whoever reads it may end us at once.
  const told = new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  printOut(`tabby-load mock: listening on ${server.url}`);
  await told;
  const stats = server.stats();
  await server.close();
  printErrSync(closingLine(stats));
  return EXIT.ok;
}

/** `tabby-load mock`. The first line on stdout says where it listens. Throws AppError when it cannot, or an option is wrong. */
export function mockCommand(options: MockOptions): Promise<ExitCode> {
  return runMock(serverOptions(options));
}
