/** The files of a run: found to be writable before the first request, filled while it goes on. */
import type { FileHandle } from 'node:fs/promises';
import { openManifest, saveManifest, writeManifest } from '../dataset/manifest.ts';
import type { SampleRequest } from '../dataset/sample.ts';
import { usageError } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { RecordFileWriter } from '../record/codec-writer.ts';
import { checkWritable } from '../report/result-file.ts';
import { printable, printErr } from '../report/terminal.ts';
import { resultOutputs } from './put-out.ts';

/** The open files. */
export interface Outputs {
  readonly records: RecordFileWriter | null;
  /** Writes the manifest where one was asked for; returns its SHA-256 either way. */
  saveSamples(samples: readonly SampleRequest[]): Promise<string>;
  /** Closes what is still open because the run did not come to its end. */
  abandon(): Promise<void>;
}

/**
 * Opens or checks every file that the run will write.
 * @throws a usage error naming the option and the path
 */
export async function openOutputs(options: RunOptions): Promise<Outputs> {
  checkDistinct(options);
  if (options.json !== null && options.json !== '-') await checkWritable(options.json, '--json');
  if (options.saveHdr !== null) await checkWritable(options.saveHdr, '--save-hdr');
  for (const [path, option] of resultOutputs(options)) await checkWritable(path, option);
  let manifest: FileHandle | null =
    options.samplesOut === null ? null : await openManifest(options.samplesOut, '--samples-out');
  const records = options.saveRecords === null ? null : await RecordFileWriter.open(options.saveRecords);
  if ((records?.replacedBytes ?? 0) > 0) {
    printErr(
      `tabby-load: ${printable(options.saveRecords ?? '')} holds records of an earlier run, which this one will replace`,
    );
  }
  return {
    records,
    async saveSamples(samples) {
      const file = manifest;
      manifest = null;
      return (file === null ? await writeManifest(samples) : await saveManifest(file, samples)).sha256;
    },
    async abandon() {
      await records?.abandon();
      await manifest?.close();
      manifest = null;
    },
  };
}

function checkDistinct(options: RunOptions): void {
  const files: [string, string | null][] = [
    ['--save-records', options.saveRecords],
    ['--json', options.json === '-' ? null : options.json],
    ['--save-hdr', options.saveHdr],
    ['--html', options.html],
    ['--samples-out', options.samplesOut],
  ];
  const seen = new Map<string, string>();
  for (const [option, path] of files) {
    if (path === null || path.startsWith('/dev/')) continue;
    const other = seen.get(path);
    if (other !== undefined)
      throw usageError(`${other} and ${option} name the same file ${path}`, 'Give each its own.');
    seen.set(path, option);
  }
}
