import { type ExitCode, usageError } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';

/** `tabby-load run`: not there yet. */
export async function runCommand(_options: RunOptions): Promise<ExitCode> {
  throw usageError('the command "run" is not there yet');
}
