/** One level of a sweep under way, and what follows where it could not be measured. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { triesOf, withTry } from '../aggregate/sweep-noise.ts';
import { AppError, EXIT, type ExitCode, messageOf } from '../errors.ts';
import { parseLimit } from '../limits.ts';
import type { SweepLevel } from '../record/sweep.ts';
import { limitLines } from '../report/limits.ts';
import { printable, printErr } from '../report/terminal.ts';
import type { ServerFound } from '../transport/server.ts';
import { meetServer } from './run-server.ts';
import { SetupSignals } from './setup-signals.ts';
import { levelWords, requestsFor } from './sweep-asked.ts';
import { levelFiles, levelOptions, runLevel } from './sweep-level.ts';
import { answered, NotSaved, next, type Sweep, save } from './sweep-state.ts';
import { estimateInput, estimateOf, estimateWords, OverTime } from './sweep-time.ts';

/** One level; returns the exit code that ends the sweep, or null to go on. */
export async function measure(sweep: Sweep, level: number, isFirst: boolean): Promise<ExitCode | null> {
  const { options, plan, deadline } = sweep;
  const requests = Math.min(requestsFor(plan, level), sweep.taken.samples.length);
  const known = sweep.document.levels.find((each) => each.level === level && each.status === 'done');
  const signals = new SetupSignals();
  const over = deadline.passed();
  try {
    if (!isFirst) {
      await Promise.race([sleep(options.settleMs), signals.interrupted, over]);
      await Promise.race([checkSame(sweep), signals.interrupted, over]);
    }
    const again = known === undefined ? '' : ', once more to be sure';
    printErr(`tabby-load: level ${levelWords(plan.axis, level)}: ${requests} requests${again}`);
    const running = runLevel({
      ...sweep,
      axis: plan.axis,
      level,
      requests,
      place: plan.levels === 'auto' ? null : { number: plan.levels.indexOf(level) + 1, of: plan.levels.length },
      attempt: known === undefined ? 1 : triesOf(known).length + 1,
      nonce: options.nonce ? randomBytes(4).toString('hex') : null,
      deadlineMs: deadline.atMs,
      begin: () => {
        signals.close();
        deadline.release();
      },
    });
    const { level: ran, code, trouble } = await Promise.race([running, signals.interrupted, over]);
    if (trouble !== null) {
      printErr(`tabby-load: error: ${printable(trouble)}`);
      sweep.hasTrouble = true;
    }
    await add(sweep, ran);
    tell(sweep, ran);
    if (code === EXIT.sigint || code === EXIT.sigterm || code === EXIT.unreachable) return code;
    return tooManyErrors(sweep);
  } catch (error) {
    return notMeasured(sweep, { level, requests, error });
  } finally {
    signals.close();
    deadline.release();
  }
}

/** What follows from a level that could not be measured. */
async function notMeasured(
  sweep: Sweep,
  { level, requests, error }: { readonly level: number; readonly requests: number; readonly error: unknown },
): Promise<ExitCode | null> {
  const words = levelWords(sweep.plan.axis, level);
  if (error instanceof OverTime) {
    printErr(`tabby-load: --max-duration is over before the load of ${words}`);
    return null;
  }
  if (error instanceof ServerLost) {
    if (error.exitCode === EXIT.unreachable) await doubtLast(sweep);
    printErr(`tabby-load: the sweep ends before ${words}: ${printable(error.message)}`);
    return error.exitCode;
  }
  if (!(error instanceof AppError)) throw error;
  if (error.exitCode === EXIT.sigint || error.exitCode === EXIT.sigterm) {
    printErr(`tabby-load: ${error.exitCode === EXIT.sigint ? 'SIGINT' : 'SIGTERM'}: the sweep ends before ${words}`);
    return error.exitCode;
  }
  // The sweep itself cannot be saved: there is no use in going on.
  if (error instanceof NotSaved) throw error;
  if (error.exitCode === EXIT.usage) sweep.hasTrouble = true;
  printErr(`tabby-load: ${words} could not be measured: ${printable(messageOf(error))}`);
  await add(sweep, unrun(sweep, level, requests, messageOf(error)));
  return null;
}

/** A server that is gone before a level may have gone while the one before was still running: what failed there is not the load's doing. */
async function doubtLast(sweep: Sweep): Promise<void> {
  const last = sweep.document.levels.at(-1);
  if (last === undefined || last.failed === 0 || last.tries !== undefined) return;
  const reason = `${last.failed} requests failed, and then the server was gone`;
  sweep.document = {
    ...sweep.document,
    levels: [...sweep.document.levels.slice(0, -1), { ...last, status: 'partial', reason }],
  };
}

/** The server is gone, or is another one than the levels so far were measured on. */
class ServerLost extends AppError {}

/** Levels say something together only when all are of one server. */
async function checkSame({ options, plan, server }: Sweep): Promise<void> {
  let now: ServerFound;
  try {
    now = await meetServer(levelOptions(options, { axis: plan.axis, level: 1, requests: 1 }));
  } catch (error) {
    throw error instanceof AppError ? new ServerLost(error.exitCode, error.message) : error;
  }
  if (now.kind === server.kind && now.model === server.model) return;
  throw new ServerLost(
    EXIT.wrongServer,
    `the server has ${now.model ?? 'no model'} now, not ${server.model ?? 'none'} as before`,
  );
}

function tell(sweep: Sweep, { level, status, reason, output_throughput: rate, limits }: SweepLevel): void {
  const { plan, options, document, requestMs } = sweep;
  const words = status === 'done' ? `${rate.toFixed(1)} tokens/s` : `${status}: ${printable(reason)}`;
  const isLast = status === 'partial' || next(sweep) === null;
  const left = estimateOf(estimateInput(plan, options, requestMs, document.levels));
  printErr(`tabby-load: level ${level}: ${words}${isLast ? '' : `; then ${estimateWords(left)}`}`);
  const results = limits.map(({ limit, value, kept }) => ({ limit: parseLimit(limit), value, isKept: kept }));
  for (const line of limitLines(results)) printErr(`tabby-load: level ${level}: ${line}`);
}

async function add(sweep: Sweep, level: SweepLevel): Promise<void> {
  const known = sweep.document.levels.find((other) => other.level === level.level);
  const others = sweep.document.levels.filter((other) => other.level !== level.level);
  sweep.document = { ...sweep.document, levels: [...others, withTry(known, level)] };
  sweep.document = answered(sweep, false);
  await save(sweep);
}

/** `--max-errors` bounds the whole sweep. */
function tooManyErrors({ document, options }: Sweep): ExitCode | null {
  const failed = document.levels.flatMap(triesOf).reduce((sum, level) => sum + level.failed, 0);
  if (options.maxErrors === null || failed < options.maxErrors) return null;
  printErr(`tabby-load: ${failed} requests failed (--max-errors ${options.maxErrors}): no more levels`);
  return EXIT.requestsFailed;
}

/** A level that did not even begin. */
function unrun({ plan, document }: Sweep, level: number, requests: number, reason: string): SweepLevel {
  const { result, records } = levelFiles(plan.axis, level);
  return {
    level,
    status: 'failed',
    reason,
    result_file: result,
    records_file: records,
    samples_sha256: document.samples_sha256,
    nonce: null,
    requests,
    completed: 0,
    failed: 0,
    duration_s: 0,
    request_throughput: 0,
    output_throughput: 0,
    throughput_from: 'whole_run',
    ttft: null,
    tpot: null,
    itl: null,
    e2el: null,
    server_queue: null,
    limits: [],
    goodput: null,
    client_was_limit: null,
  };
}
