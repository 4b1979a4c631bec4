/**
 * `tabby-load report FILE…`: rebuilds every figure of a run from its records with the code that ends a run. Several files are
 * merged: shards of one run when their indices are all different, else repeats.
 */
import { stat } from 'node:fs/promises';
import { type CountTokens, RunAggregate } from '../aggregate/collect.ts';
import { initHistograms } from '../aggregate/histogram.ts';
import { isLocalTokenizer, type TokenCounter } from '../dataset/tokenizer.ts';
import { openTokenizer, recogniseTokenizer } from '../dataset/tokenizer-open.ts';
import { EXIT, type ExitCode, usageError } from '../errors.ts';
import { optionsForRecord, recordName } from '../options/redact.ts';
import { keyOf } from '../options/spec.ts';
import { OPTIONS, type ReportOptions } from '../options/table.ts';
import type { RecordHeader } from '../record/record.ts';
import { finishReport } from '../report/finish.ts';
import { isAnyMissed } from '../report/limits.ts';
import { checkWritable } from '../report/result-file.ts';
import { settingsOf } from '../report/settings.ts';
import { printErr } from '../report/terminal.ts';
import { putOut, resultOutputs } from './put-out.ts';
import { type MergedRecords, mergeRecords } from './report-merge.ts';

/**
 * Reads the files and reports them. Damage that leaves something to report is a warning. Exit code 5 as after a run: no request succeeded, or
 * there is none at all.
 * @throws usage errors: no files, files that are no records, outputs that cannot be written, a tokenizer that cannot be had
 */
export async function reportCommand(options: ReportOptions): Promise<ExitCode> {
  if (options.files.length === 0) {
    throw usageError(
      'report needs a record file',
      'Give one or more files that --save-records wrote: tabby-load report FILE...',
    );
  }
  await initHistograms();
  for (const line of options.warnings) printErr(`tabby-load: warning: ${line}`);
  for (const [path, option] of outputsOf(options)) await checkWritable(path, option);
  const given = givenOptions(options);
  const merged = await mergeRecords(options.files, given, (header) => aggregateFor(header, options));
  const tokens = await tokenCounter(merged, options);
  try {
    const report = await finishReport({
      ...merged,
      ...(tokens === null ? {} : { countTokens: countTokensBy(tokens) }),
    });
    const { aggregate, header, end } = merged;
    await putOut({
      report,
      header,
      end,
      places: options,
      secrets: [],
      histograms: () => aggregate.histograms(),
    });
    const { completed, failed } = report;
    if (completed === 0) return EXIT.requestsFailed;
    const { maxErrorRate } = options;
    if (maxErrorRate !== null && failed > maxErrorRate * (completed + failed)) return EXIT.requestsFailed;
    return isAnyMissed(report.limits) ? EXIT.limitMissed : EXIT.ok;
  } finally {
    await tokens?.close();
  }
}

function outputsOf(options: ReportOptions): [path: string, option: string][] {
  const outputs = resultOutputs(options);
  if (options.json !== null && options.json !== '-') outputs.push([options.json, '--json']);
  if (options.saveHdr !== null) outputs.push([options.saveHdr, '--save-hdr']);
  return outputs;
}

/** What was given on the command line, under the names that record headers use. */
function givenOptions(options: ReportOptions): Readonly<Record<string, unknown>> {
  const all = optionsForRecord(options);
  const names = Object.entries(OPTIONS)
    .filter(([name, spec]) => options.given.has(keyOf(name, spec)))
    .map(([name, spec]) => recordName(name, spec));
  return Object.fromEntries(names.filter((name) => name in all).map((name) => [name, all[name]]));
}

function aggregateFor(header: RecordHeader, options: ReportOptions): RunAggregate {
  const settings = settingsOf(header.options);
  return new RunAggregate({
    maxExactValues: options.maxExactValues,
    keepDetail: settings.saveDetailed,
    exactLength: settings.exactLength,
    ...(settings.goodput === null ? {} : { goodput: settings.goodput }),
  });
}

/**
 * A tokenizer for requests whose server told no token count; null when none is needed or at hand. One named on the command line must
 * open; one named in the records is used when it is a folder here, as nothing is fetched that was not asked for.
 */
async function tokenCounter(merged: MergedRecords, options: ReportOptions): Promise<TokenCounter | null> {
  if (merged.aggregate.uncounted === 0 || !settingsOf(merged.header.options).hasTokenizer) return null;
  const asked = options.given.has('tokenizer') ? options.tokenizer : null;
  if (asked !== null) return await openTokenizer(await recogniseTokenizer(asked));
  const recorded = merged.header.options['tokenizer'];
  if (typeof recorded !== 'string' || !(await stat(recorded).catch(() => null))?.isDirectory()) return null;
  return await openTokenizer({ kind: 'folder', path: recorded }).catch(() => null);
}

/** Counts as vLLM does for missing usage: the text alone, no special tokens. */
export function countTokensBy(tokenizer: TokenCounter): CountTokens {
  if (!isLocalTokenizer(tokenizer)) return (texts) => tokenizer.countAll(texts);
  return async (texts) => texts.map((text) => tokenizer.encode(text, false).length);
}
