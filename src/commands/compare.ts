/** `tabby-load compare A B [C…]`: results, record files and whole sweeps against the first of them. */
import { differences, objections } from '../aggregate/comparison.ts';
import { initHistograms } from '../aggregate/histogram.ts';
import type { ComparedSweeps } from '../aggregate/sweep-comparison.ts';
import { EXIT, type ExitCode, usageError } from '../errors.ts';
import type { CompareOptions } from '../options/table.ts';
import { comparisonLines, sentence, sweepsLines, sweepsSentences } from '../report/comparison.ts';
import { type Compared, comparePage } from '../report/html-compare.ts';
import { sweepsComparePage } from '../report/html-compare-sweeps.ts';
import type { PageData } from '../report/html-data.ts';
import { checkWritable, writeWhole } from '../report/result-file.ts';
import { printable, printErr, printOut, writeOut } from '../report/terminal.ts';
import { type ComparedRun, loadRun } from './compare-load.ts';
import { broken, type FailRule, readRule } from './compare-rules.ts';
import { compareSweeps, type LoadedSweep, loadSweep } from './compare-sweeps.ts';
import { putHtml } from './put-html.ts';

/** What a comparison comes to, whatever is compared. */
interface Outcome {
  readonly lines: readonly string[];
  /** Printed on stderr. */
  readonly warnings: readonly string[];
  /** A line per broken rule. */
  readonly missed: readonly string[];
  readonly json: unknown;
  /** Made when it is asked for. */
  page(): PageData;
}

/**
 * Compares, prints, and judges.
 * @throws usage errors: fewer than two files, files that are no results, what is not comparable without --force
 */
export async function compareCommand(options: CompareOptions): Promise<ExitCode> {
  const rules = (options.failOn ?? []).map(readRule);
  if (options.files.length < 2) throw usageError('compare needs two files', 'Give the one to compare with first.');
  if (options.json !== null && options.json !== '-') await checkWritable(options.json, '--json');
  if (options.html !== null) await checkWritable(options.html, '--html');
  await initHistograms();
  const sweeps = await Promise.all(options.files.map(loadSweep));
  const outcome = sweeps.every((sweep) => sweep === null)
    ? await ofRuns(options, rules)
    : await ofSweeps(options, allSweeps(options.files, sweeps), rules);
  for (const line of outcome.warnings) printErr(printable(`tabby-load: warning: ${line}`));
  if (options.json !== '-') for (const line of outcome.lines) printOut(line);
  for (const line of outcome.missed) printErr(printable(`tabby-load: ${line}`));
  const text = `${JSON.stringify(outcome.json, null, 2)}\n`;
  if (options.json === '-') writeOut(text);
  else if (options.json !== null) await writeWhole(options.json, [text], '--json');
  if (options.html !== null) await putHtml(options.html, outcome.page(), []);
  return outcome.missed.length > 0 ? EXIT.limitMissed : EXIT.ok;
}

async function ofRuns({ files, force, margin, typed }: CompareOptions, rules: readonly FailRule[]): Promise<Outcome> {
  const runs = await Promise.all(files.map(loadRun));
  const first = runs[0] as (typeof runs)[number];
  const comparisons = runs.slice(1).map((other) => {
    const reasons = objections(first.result, other.result);
    if (reasons.length > 0 && !force) {
      throw usageError(
        `${first.name} and ${other.name} are not comparable: ${reasons.join('; ')}`,
        'Compare runs of the same samples, model and load, or say --force.',
      );
    }
    return { a: first.name, b: other.name, not_comparable: reasons, differences: differences(first, other, margin) };
  });
  return {
    lines: comparisons.flatMap(({ a, b, differences: all }, k) => [
      ...(k === 0 ? [] : ['']),
      ...comparisonLines([a, b], all, margin),
    ]),
    warnings: comparisons.flatMap(({ not_comparable: reasons }) =>
      reasons.map((reason) => `not comparable: ${reason}`),
    ),
    missed: comparisons.flatMap(({ b, differences: all }) => brokenRules(rules, all).map((line) => `${b}: ${line}`)),
    json: { schema: 'tabby-load.compare/1', margin, comparisons },
    page: () =>
      comparePage(
        comparisons.map((one, k) => ({
          ...one,
          words: sentence(one.differences, margin),
          values: bothSeries(first, runs[k + 1] as (typeof runs)[number]),
        })),
        margin,
        typed,
      ),
  };
}

function bothSeries({ series: a }: ComparedRun, { series: b }: ComparedRun): Compared['values'] {
  return a === null || b === null ? null : { a, b };
}

function allSweeps(files: readonly string[], sweeps: readonly (LoadedSweep | null)[]): LoadedSweep[] {
  return sweeps.map((sweep, k) => {
    if (sweep !== null) return sweep;
    throw usageError(
      `${files[k]} is no sweep, and what it is to be compared with is one`,
      "Compare sweeps with sweeps, or name the records of one level in the sweep's folder.",
    );
  });
}

async function ofSweeps(
  { force, margin, typed }: CompareOptions,
  sweeps: readonly LoadedSweep[],
  rules: readonly FailRule[],
): Promise<Outcome> {
  const first = sweeps[0] as LoadedSweep;
  const comparisons: ComparedSweeps[] = [];
  for (const other of sweeps.slice(1)) comparisons.push(await compareSweeps(first, other, margin, force));
  return {
    lines: comparisons.flatMap((one, k) => [...(k === 0 ? [] : ['']), ...sweepsLines(one, margin)]),
    warnings: comparisons.flatMap((one) => [
      ...one.not_comparable.map((reason) => `not comparable: ${reason}`),
      ...one.levels.flatMap(({ level, not_comparable: reasons }) =>
        reasons.map((reason) => `level ${level}: not comparable: ${reason}`),
      ),
    ]),
    missed: comparisons.flatMap((one) => brokenBySweep(rules, one)),
    json: { schema: 'tabby-load.compare-sweeps/1', margin, comparisons },
    page: () =>
      sweepsComparePage(
        sweeps,
        comparisons.map((compared) => ({ compared, words: sweepsSentences(compared, margin) })),
        margin,
        typed,
      ),
  };
}

/** Rules of the answer hold for the sweep, all others for each level. */
function brokenBySweep(rules: readonly FailRule[], { b, answers, levels }: ComparedSweeps): string[] {
  const [ofAnswer, ofLevel] = [true, false].map((wanted) => rules.filter(({ key }) => /^knee/.test(key) === wanted));
  return [
    ...brokenRules(ofAnswer ?? [], answers).map((line) => `${b}: ${line}`),
    ...levels.flatMap(({ level, differences: all }) =>
      brokenRules(ofLevel ?? [], all).map((line) => `${b}, level ${level}: ${line}`),
    ),
  ];
}

function brokenRules(rules: readonly FailRule[], all: Parameters<typeof broken>[1]): string[] {
  return rules.flatMap((rule) => broken(rule, all) ?? []);
}
