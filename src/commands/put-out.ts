/** Puts a finished report out: on the terminal, and where else the user asked for it. */
import type { HistogramSet } from '../aggregate/histogram.ts';
import { histogramLog } from '../aggregate/histogram-log.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import type { FinishedReport } from '../report/finish.ts';
import { resultChunks } from '../report/json.ts';
import { resultPath, writeResult, writeWhole } from '../report/result-file.ts';
import { printErr, printOut, writeOut } from '../report/terminal.ts';

/** Options that say where a report goes. */
export interface SavePlaces {
  readonly quiet: boolean;
  readonly json: string | null;
  readonly saveHdr: string | null;
  readonly saveResult: boolean;
  readonly appendResult: boolean;
  readonly resultDir: string | null;
  readonly resultFilename: string | null;
}

/** What is put out. */
export interface PutOut {
  readonly report: FinishedReport;
  readonly header: RecordHeader;
  readonly end: RecordEnd;
  readonly places: SavePlaces;
  /** Asked for once when there is a `--save-hdr`; the set is destroyed here. */
  histograms(): HistogramSet;
}

/**
 * Warnings to stderr, the table to stdout (unless the JSON goes there), then the files.
 * @throws a usage error when a file cannot be written
 */
export async function putOut({ report, header, end, places, histograms }: PutOut): Promise<void> {
  const { result } = report;
  for (const line of report.warningLines) printErr(line);
  if (places.json === '-') {
    for (const chunk of resultChunks(result)) writeOut(chunk);
    writeOut('\n');
  } else if (!places.quiet) {
    for (const line of report.consoleLines) printOut(line);
  }
  if (places.json !== null && places.json !== '-') await writeResult(places.json, result, false, '--json');
  if (places.saveResult || places.appendResult) {
    const path = resultPath(report.settings, places, report.date);
    await writeResult(path, result, places.appendResult, '--result-dir');
    printErr(`tabby-load: result: ${path}`);
  }
  if (places.saveHdr === null) return;
  const span = { startedAtMs: Date.parse(header.started_at), durationS: end.duration_s };
  const set = histograms();
  await writeWhole(places.saveHdr, [histogramLog(set, span)], '--save-hdr');
  set.destroy();
}
