/** `tabby-load overhead`. */
import type { ExitCode } from '../errors.ts';
import { EXIT } from '../errors.ts';
import type { OverheadOptions } from '../options/table.ts';

/** Measures this program itself. */
export async function overheadCommand(_options: OverheadOptions): Promise<ExitCode> {
  return EXIT.ok;
}
