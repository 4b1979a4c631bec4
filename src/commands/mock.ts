import { type ExitCode, usageError } from '../errors.ts';
import type { MockOptions } from '../options/table.ts';

/** `tabby-load mock`: not there yet. */
export async function mockCommand(_options: MockOptions): Promise<ExitCode> {
  throw usageError('the command "mock" is not there yet');
}
