/** Puts a finished report out: on the terminal, and where else the user asked for it. */
import { isAbsolute, join } from 'node:path';
import type { HistogramSet } from '../aggregate/histogram.ts';
import { histogramLog } from '../aggregate/histogram-log.ts';
import { messageOf } from '../errors.ts';
import type { Form } from '../options/spec.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';
import type { FinishedReport } from '../report/finish.ts';
import { runPage } from '../report/html-run.ts';
import { resultChunks } from '../report/json.ts';
import { markdownLines } from '../report/markdown.ts';
import { PROBE_NAME, resultPath, writeResult, writeWhole } from '../report/result-file.ts';
import { printable, printErr, printOut, writeOut } from '../report/terminal.ts';
import { putHtml } from './put-html.ts';
import { type PlotOptions, plotPaths, putPlots } from './put-plots.ts';

/** Options that say where a report goes. */
export interface SavePlaces extends PlotOptions {
  readonly quiet: boolean;
  readonly html: string | null;
  /** How the command was called. */
  readonly form: Form;
  readonly typed: readonly string[];
  readonly format: 'console' | 'markdown';
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
  /** Texts that may be in no page. */
  readonly secrets: readonly string[];
  /** Asked for once at most, for `--save-hdr` and for the page of a run whose values were not kept; the set is destroyed here. */
  histograms(): HistogramSet;
}

/**
 * The files that the result and its plots will be, each with the option to name when it cannot be written. The result's own name is formed
 * at the end; its folder, or the name the user gave, can be tried before.
 */
export function resultOutputs(places: SavePlaces): [path: string, option: string][] {
  const name = places.resultFilename ?? PROBE_NAME;
  const path = places.resultDir === null || isAbsolute(name) ? name : join(places.resultDir, name);
  const isSaved = places.saveResult || places.appendResult;
  const html: [string, string][] = places.html === null ? [] : [[places.html, '--html']];
  return [...(isSaved ? [[path, resultOption(places)] as [string, string]] : []), ...plotPaths(places, path), ...html];
}

/** The option that says where the result goes. */
function resultOption({ resultFilename }: SavePlaces): string {
  return resultFilename === null ? '--result-dir' : '--result-filename';
}

/**
 * Warnings to stderr, the table to stdout (unless the JSON goes there), then the files. A file that cannot be written does not keep the
 * others from being written.
 * @throws a usage error when a file could not be written
 */
export async function putOut(put: PutOut): Promise<void> {
  const { report, header, end, places } = put;
  const { result } = report;
  for (const line of report.warningLines) printErr(line);
  if (places.json === '-') {
    for (const chunk of resultChunks(result)) writeOut(chunk);
    writeOut('\n');
  } else if (!places.quiet) {
    const lines = places.format === 'markdown' ? markdownLines(report) : report.consoleLines;
    for (const line of lines) printOut(line);
  }
  const writers: (() => Promise<void>)[] = [];
  const { json, saveHdr } = places;
  if (json !== null && json !== '-') writers.push(() => writeResult(json, result, false, '--json'));
  if (places.saveResult || places.appendResult) writers.push(() => saveResult(report, places));
  writers.push(() => putPlots(report, places, resultPath(report.settings, places, report.date)));
  let set: HistogramSet | null = null;
  const histograms = (): HistogramSet => (set ??= put.histograms());
  if (saveHdr !== null) writers.push(() => saveHistograms(saveHdr, histograms(), header, end));
  const { html } = places;
  if (html !== null) writers.push(() => savePage(html, put, histograms));
  const troubles: unknown[] = [];
  for (const write of writers) await write().catch((error: unknown) => troubles.push(error));
  (set as HistogramSet | null)?.destroy();
  // The first ends the program; the others are told here.
  for (const trouble of troubles.slice(1)) printErr(`tabby-load: error: ${printable(messageOf(trouble))}`);
  if (troubles.length > 0) throw troubles[0];
}

async function saveResult(report: FinishedReport, places: SavePlaces): Promise<void> {
  const path = resultPath(report.settings, places, report.date);
  await writeResult(path, report.result, places.appendResult, resultOption(places));
  printErr(`tabby-load: result: ${printable(path)}`);
}

async function saveHistograms(path: string, set: HistogramSet, header: RecordHeader, end: RecordEnd): Promise<void> {
  const span = { startedAtMs: Date.parse(header.started_at), durationS: end.duration_s };
  await writeWhole(path, [histogramLog(set, span)], '--save-hdr');
}

async function savePage(path: string, put: PutOut, histograms: () => HistogramSet): Promise<void> {
  const { report, header, end, places } = put;
  const page = runPage({
    report,
    header,
    end,
    buckets: (key) => histograms().buckets(key),
    typed: places.typed,
    isFromRecords: places.form === 'report',
  });
  await putHtml(path, page, put.secrets);
}
