/** The end of a run: the report on the terminal, the files, the exit code. */
import type { RunAggregate } from '../aggregate/collect.ts';
import { repeatedFigures } from '../aggregate/repeats.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { finishReport } from '../report/finish.ts';
import { isAnyMissed } from '../report/limits.ts';
import { repeatLines } from '../report/repeats.ts';
import { printErr } from '../report/terminal.ts';
import { putOut } from './put-out.ts';
import type { Carried } from './run-load.ts';
import type { Outputs } from './run-outputs.ts';
import { secretsOfRun } from './run-target.ts';

/** What the end needs. */
export interface ReportInput {
  readonly options: RunOptions;
  readonly outputs: Outputs;
  readonly aggregate: RunAggregate;
  readonly carried: Carried;
  /** Results of the runs before this one, the last of `--num-runs`. */
  readonly earlier?: readonly RunResult[];
  /** Number of the run, from 1, where there are several: two may begin in the same second. */
  readonly run?: number;
}

/** Result of a run, key by key. */
export type RunResult = Readonly<Record<string, unknown>>;

/** What a run came to. */
export interface Ended {
  readonly code: ExitCode;
  readonly result: RunResult;
}

/** Prints and saves the report. */
export async function endReport(input: ReportInput): Promise<Ended> {
  const { aggregate, carried, options, outputs } = input;
  const { header, end, histograms } = carried;
  const finished = await finishReport({
    aggregate,
    header,
    end,
  });
  const result = Object.fromEntries(finished.result);
  const repeats = repeatedFigures([...(input.earlier ?? []), result]);
  if (repeats.length > 0) finished.result.set('tabby_load', { ...(result['tabby_load'] as object), repeats });
  const spread = repeatLines(repeats);
  const lines = { consoleLines: [...finished.consoleLines, ...spread], ownLines: [...finished.ownLines, ...spread] };
  await putOut({
    report: { ...finished, ...lines, date: finished.date + (input.run === undefined ? '' : `-${input.run}`) },
    header,
    end,
    places: options,
    secrets: secretsOfRun(options),
    histograms: () => histograms,
  });
  const trouble = outputs.records?.failure ?? null;
  if (trouble !== null) printErr(`tabby-load: error: ${trouble}`);
  const missed = isAnyMissed(finished.limits) ? EXIT.limitMissed : EXIT.ok;
  return { code: carried.code !== EXIT.ok ? carried.code : trouble !== null ? EXIT.usage : missed, result };
}
