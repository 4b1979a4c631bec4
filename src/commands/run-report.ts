/** The end of a run: the report on the terminal, the files, the exit code. */
import type { CountTokens, RunAggregate } from '../aggregate/collect.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { type FinishedReport, finishReport } from '../report/finish.ts';
import { printErr } from '../report/terminal.ts';
import { putOut } from './put-out.ts';
import type { Carried } from './run-load.ts';
import type { Outputs } from './run-outputs.ts';

/** What the end needs. */
export interface ReportInput {
  readonly options: RunOptions;
  readonly outputs: Outputs;
  readonly aggregate: RunAggregate;
  readonly carried: Carried;
  readonly countTokens?: CountTokens;
}

/** Prints and saves the report; returns the exit code of the run. */
export async function endReport(input: ReportInput): Promise<ExitCode> {
  const { options, aggregate, carried, outputs } = input;
  const { header, end, histograms } = carried;
  const finished = await finishReport({
    aggregate,
    header,
    end,
    ...(input.countTokens === undefined ? {} : { countTokens: input.countTokens }),
  });
  await putOut({ report: finished, header, end, places: options, histograms: () => histograms });
  const trouble = outputs.records?.failure ?? null;
  if (trouble !== null) printErr(`tabby-load: error: ${trouble}`);
  return exitCode(options, carried, finished, trouble);
}

function exitCode(options: RunOptions, carried: Carried, finished: FinishedReport, trouble: string | null): ExitCode {
  if (carried.signalCode !== null) return carried.signalCode;
  const { completed, failed } = finished;
  const total = completed + failed;
  const isTooMany = options.maxErrorRate === null ? false : failed > options.maxErrorRate * total;
  if ((total > 0 && completed === 0) || isTooMany) return EXIT.requestsFailed;
  return trouble === null ? EXIT.ok : EXIT.usage;
}
