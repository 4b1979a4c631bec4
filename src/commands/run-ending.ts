/** Everything that ends a run before its last request: signals, `--duration`, limits on failures, a server that stays away. */
import { EXIT, type ExitCode } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { nowMs } from '../record/clock.ts';
import { printErr } from '../report/terminal.ts';
import type { LoadRun } from '../transport/coordinator.ts';

/** After the second signal the run gets so long to give up what is in flight; then it is reported as it stands. */
const LEAVE_MS = 1000;
/** No timer of Node's runs longer: a longer one would end at once. */
const MOST_MS = 2 ** 31 - 1;

/** How long requests in flight are waited for once no more are sent, ms; Infinity = as long as they take. */
export function drainMs(options: Pick<RunOptions, 'drainTimeoutMs'>): number {
  return options.drainTimeoutMs ?? Number.POSITIVE_INFINITY;
}

/**
 * The first Ctrl-C stops the sending and waits a little for what is under way, the second gives that up; the report is made in both
 * cases. The third does not even wait for the workers.
 */
export class RunEnding {
  /** What ended the run before its time; null when nothing did. */
  reason: string | null = null;
  /** Exit code that follows from it; null = as the results say. */
  code: ExitCode | null = null;
  /** Resolves when nothing is to be waited for any more. */
  readonly leaving: Promise<void>;

  private readonly run: LoadRun;
  private readonly options: RunOptions;
  private signals = 0;
  private durationTimer: NodeJS.Timeout | null = null;
  private deadlineTimer: NodeJS.Timeout | null = null;
  private leaveTimer: NodeJS.Timeout | null = null;
  private leave: () => void = () => undefined;
  private readonly onInt = (): void => this.signal('SIGINT', EXIT.sigint);
  private readonly onTerm = (): void => this.signal('SIGTERM', EXIT.sigterm);

  constructor(run: LoadRun, options: RunOptions) {
    this.run = run;
    this.options = options;
    this.leaving = new Promise((resolve) => {
      this.leave = resolve;
    });
    process.on('SIGINT', this.onInt);
    process.on('SIGTERM', this.onTerm);
  }

  /** The clock has started: `--duration` counts from here. */
  startDuration(): void {
    const { durationMs } = this.options;
    if (durationMs === null) return;
    this.durationTimer = setTimeout(() => this.run.stop(drainMs(this.options)), durationMs);
  }

  /** At this moment, on the clock of `nowMs`, whatever is under way is given up (`--max-duration`); infinite: never. */
  startDeadline(atMs: number): void {
    if (!Number.isFinite(atMs)) return;
    const giveUp = (): void => {
      this.run.stop(0);
      this.leaveTimer ??= setTimeout(this.leave, LEAVE_MS);
    };
    this.deadlineTimer = setTimeout(giveUp, Math.min(MOST_MS, Math.max(0, atMs - nowMs())));
  }

  /** No more requests are sent. The first reason counts. */
  endEarly(reason: string, code: ExitCode, message: string): void {
    if (this.reason !== null) return;
    this.reason = reason;
    this.code = code;
    printErr(`tabby-load: ${message}`);
    this.run.stop(drainMs(this.options));
  }

  close(): void {
    if (this.durationTimer !== null) clearTimeout(this.durationTimer);
    if (this.deadlineTimer !== null) clearTimeout(this.deadlineTimer);
    if (this.leaveTimer !== null) clearTimeout(this.leaveTimer);
    process.off('SIGINT', this.onInt);
    process.off('SIGTERM', this.onTerm);
  }

  private signal(name: string, code: ExitCode): void {
    this.signals++;
    this.code = code;
    this.reason ??= name;
    if (this.signals === 1) {
      const wait = drainMs(this.options);
      const patience = Number.isFinite(wait) ? ` for up to ${wait / 1000} s` : '';
      printErr(
        `tabby-load: ${name}: no more requests; waiting${patience} for those in flight (again to leave at once)`,
      );
      this.run.stop(wait);
      return;
    }
    this.run.stop(0);
    if (this.signals > 2) this.leave();
    else this.leaveTimer = setTimeout(this.leave, LEAVE_MS);
  }
}
