/**
 * `tabby-load overhead`: the self-benchmark. For each number of streams it runs against the built-in server, in a process of its own, which
 * notes on the same clock when it wrote each token, and compares that with what was recorded. Then it searches the highest rate of
 * events that are still seen in time. How late the server was is told apart: every error is counted from what it really wrote.
 */
import { cpus } from 'node:os';
import type { OverheadFigures, OverheadReport, SearchResult, SkippedLevel } from '../aggregate/overhead.ts';
import { AppError, EXIT, type ExitCode, usageError } from '../errors.ts';
import type { OverheadOptions } from '../options/table.ts';
import { wallClock } from '../record/clock.ts';
import { overheadJson, overheadLines } from '../report/overhead-table.ts';
import { checkWritable, writeWhole } from '../report/result-file.ts';
import { printErr, printOut, writeOut } from '../report/terminal.ts';
import { openFilesLimit } from '../transport/open-files.ts';
import { answerMs, type OverheadPlan, runOverhead } from './overhead-run.ts';
import { searchRate } from './overhead-search.ts';
import type { TruthServer } from './overhead-server.ts';
import { VERSION } from './version.ts';
import { availableCores } from './workers.ts';

/** Files and sockets that a process needs beside one connection per stream. */
const RESERVED_FILES = 64;
/** More streams are not tried in the search: they would take longer to open than to measure. */
const MOST_STREAMS = 16_384;
/** Rounds of a run in the search: one to begin, one that counts, one to end. */
const SEARCH_ROUNDS = 3;
/** The search begins no new run after so long. */
const SEARCH_MS = 24_000;

/**
 * Measures and reports.
 * @returns 5 when a request failed or an event was lost
 * @throws AppError for levels that are no whole numbers, files that cannot be written, a server that does not start, and interrupts
 */
export async function overheadCommand(options: OverheadOptions): Promise<ExitCode> {
  const levels = levelsOf(options);
  if (options.json !== null && options.json !== '-') await checkWritable(options.json, '--json');
  for (const line of options.warnings) printErr(`tabby-load: warning: ${line}`);
  const startedAt = wallClock().toISOString();
  const bench = new SelfBench(options);
  try {
    const measured = await bench.levels(levels);
    const search = options.search ? await bench.search(measured.levels) : null;
    await put(options, { ...machine(), ...measured, search, startedAt, ...conditions(options) });
    // An event that was not seen is a mistake of ours or of the built-in server.
    return measured.levels.some(({ lost, failed }) => lost + failed > 0) ? EXIT.requestsFailed : EXIT.ok;
  } finally {
    bench.close();
  }
}

function levelsOf(options: OverheadOptions): readonly number[] {
  const levels = [...new Set(options.levels)].sort((a, b) => a - b);
  const odd = levels.find((level) => !Number.isInteger(level));
  if (odd !== undefined) throw usageError(`--levels: ${odd} is not a whole number of streams`);
  if (options.tokens < 1) throw usageError('--tokens: at least 1');
  return levels;
}

function conditions({ ttftMs, itlMs, tokens, lockstep }: OverheadOptions) {
  return { ttftMs, itlMs, tokens, lockstep };
}

function machine(): Pick<OverheadReport, 'version' | 'node' | 'cpu' | 'cores'> {
  const cpu = cpus()[0]?.model.trim() ?? '';
  return {
    version: VERSION,
    node: process.versions.node,
    cpu: cpu === '' ? 'unknown CPU' : cpu,
    cores: availableCores(),
  };
}

async function put(options: OverheadOptions, report: OverheadReport): Promise<void> {
  const text = `${JSON.stringify(overheadJson(report), null, 2)}\n`;
  if (options.json === '-') writeOut(text);
  else {
    for (const line of overheadLines(report)) printOut(line);
    if (options.json !== null) await writeWhole(options.json, [text], '--json');
  }
}

/** The runs, and the server of the run under way, which must not outlive an interrupt. */
class SelfBench {
  private readonly options: OverheadOptions;
  private server: TruthServer | null = null;
  private interrupted: AppError | null = null;
  private readonly onInt = (): void => this.interrupt('SIGINT', EXIT.sigint);
  private readonly onTerm = (): void => this.interrupt('SIGTERM', EXIT.sigterm);

  constructor(options: OverheadOptions) {
    this.options = options;
    process.on('SIGINT', this.onInt);
    process.on('SIGTERM', this.onTerm);
  }

  close(): void {
    process.off('SIGINT', this.onInt);
    process.off('SIGTERM', this.onTerm);
    this.server?.stop();
  }

  /** Each level, as a real run: all streams start at once, and everything counts. */
  async levels(levels: readonly number[]): Promise<{ levels: OverheadFigures[]; skipped: SkippedLevel[] }> {
    const { durationMs } = this.options;
    const rounds = Math.max(1, Math.round((durationMs ?? 0) / answerMs(this.options)));
    const done: OverheadFigures[] = [];
    const skipped: SkippedLevel[] = [];
    for (const streams of levels) {
      const why = this.objection(streams);
      if (why === null) done.push(await this.run({ streams, rounds, isSteady: false }));
      else skipped.push({ streams, why });
    }
    return { levels: done, skipped };
  }

  /** The highest rate in steady state within the limit. */
  search(levels: readonly OverheadFigures[]): Promise<SearchResult> {
    const { limitMs, itlMs } = this.options;
    const files = mostStreams();
    return searchRate({
      limitMs,
      itlMs,
      first: this.firstGuess(levels),
      most: Math.min(MOST_STREAMS, files),
      mostBy: files < MOST_STREAMS ? 'files' : 'most',
      forMs: SEARCH_MS,
      run: (streams) => this.run({ streams, rounds: SEARCH_ROUNDS, isSteady: true }),
    });
  }

  /** Streams that fill about half of the cores at the cost that the largest level had. */
  private firstGuess(levels: readonly OverheadFigures[]): number {
    const cost = levels.at(-1)?.cpuUsPerEvent ?? 10;
    const eventsPerS = (0.5 * 1e6) / Math.max(cost, 1);
    return Math.max(1, Math.round((eventsPerS * this.options.itlMs) / 1000));
  }

  private objection(streams: number): string | null {
    const most = mostStreams();
    if (streams <= most) return null;
    return `they need ${streams + RESERVED_FILES} open files, but the limit is ${most + RESERVED_FILES} (ulimit -n)`;
  }

  private async run(part: Pick<OverheadPlan, 'streams' | 'rounds' | 'isSteady'>): Promise<OverheadFigures> {
    const { ttftMs, itlMs, tokens, lockstep, workers } = this.options;
    printErr(`tabby-load: ${part.isSteady ? 'searching: ' : ''}${part.streams.toLocaleString('en-US')} streams ...`);
    const plan = { ...part, ttftMs, itlMs, tokens, lockstep, workers };
    try {
      const figures = await runOverhead(plan, (server) => {
        this.server = server;
        if (this.interrupted !== null) server.stop();
      });
      if (this.interrupted !== null) throw this.interrupted;
      return figures;
    } catch (error) {
      // What fails because the server was ended is no error of its own.
      throw this.interrupted ?? error;
    } finally {
      this.server = null;
    }
  }

  private interrupt(name: string, code: ExitCode): void {
    this.interrupted ??= new AppError(code, `interrupted by ${name}`);
    this.server?.stop();
  }
}

function mostStreams(): number {
  const limit = openFilesLimit();
  return limit === null ? MOST_STREAMS : Math.max(1, limit - RESERVED_FILES);
}
