/** `--num-runs N`: which files each of the runs writes. */
import { format, parse } from 'node:path';
import type { RunOptions } from '../options/table.ts';

/** Options of each run: those of the call, with the number of the run in the names of its files. */
export function optionsOfRuns(options: RunOptions): readonly RunOptions[] {
  const count = options.numRuns;
  if (count === 1) return [options];
  return Array.from({ length: count }, (_, k) => {
    const isLast = k === count - 1;
    const name = (path: string | null): string | null => (path === null ? null : numbered(path, k + 1));
    return {
      ...options,
      saveRecords: name(options.saveRecords),
      saveHdr: name(options.saveHdr),
      resultFilename: options.appendResult ? options.resultFilename : name(options.resultFilename),
      // Stdout has room for one document: that of the last run, which tells of all.
      json: options.json === '-' ? (isLast ? '-' : null) : isLast ? options.json : name(options.json),
      html: isLast ? options.html : name(options.html),
      quiet: options.quiet || (options.json === '-' && !isLast),
      samplesOut: k === 0 ? options.samplesOut : null,
    };
  });
}

/** `run.msgpack` → `run.2.msgpack`. */
function numbered(path: string, run: number): string {
  const { dir, name, ext } = parse(path);
  return format({ dir, name: `${name}.${run}`, ext });
}
