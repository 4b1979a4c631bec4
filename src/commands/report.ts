import { type ExitCode, usageError } from '../errors.ts';
import type { ReportOptions } from '../options/table.ts';

/** `tabby-load report`: not there yet. */
export async function reportCommand(_options: ReportOptions): Promise<ExitCode> {
  throw usageError('the command "report" is not there yet');
}
