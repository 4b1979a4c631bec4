import { type ExitCode, usageError } from '../errors.ts';
import type { SamplesOptions } from '../options/table.ts';

/** `tabby-load samples`: not there yet. */
export async function samplesCommand(_options: SamplesOptions): Promise<ExitCode> {
  throw usageError('the command "samples" is not there yet');
}
