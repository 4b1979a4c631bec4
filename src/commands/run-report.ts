/** The end of a run: the report on the terminal, the files, the exit code. */
import type { RunAggregate } from '../aggregate/collect.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { finishReport } from '../report/finish.ts';
import { isAnyMissed } from '../report/limits.ts';
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
}

/** Prints and saves the report; returns the exit code of the run. */
export async function endReport(input: ReportInput): Promise<ExitCode> {
  const { aggregate, carried, options, outputs } = input;
  const { header, end, histograms } = carried;
  const finished = await finishReport({
    aggregate,
    header,
    end,
  });
  await putOut({ report: finished, header, end, places: options, histograms: () => histograms });
  const trouble = outputs.records?.failure ?? null;
  if (trouble !== null) printErr(`tabby-load: error: ${trouble}`);
  if (carried.code !== EXIT.ok) return carried.code;
  return trouble !== null ? EXIT.usage : isAnyMissed(finished.limits) ? EXIT.limitMissed : EXIT.ok;
}
