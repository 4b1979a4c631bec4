/** `tabby-load compare A B [C…]`: results and record files against the first of them. */
import { type Difference, differences, objections } from '../aggregate/comparison.ts';
import { initHistograms } from '../aggregate/histogram.ts';
import { EXIT, type ExitCode, usageError } from '../errors.ts';
import type { CompareOptions } from '../options/table.ts';
import { comparisonLines, sentence } from '../report/comparison.ts';
import { comparePage } from '../report/html-compare.ts';
import { checkWritable, writeWhole } from '../report/result-file.ts';
import { printable, printErr, printOut, writeOut } from '../report/terminal.ts';
import { loadRun } from './compare-load.ts';
import { putHtml } from './put-html.ts';

/** A bound of `--fail-on`. */
interface FailRule {
  readonly text: string;
  readonly key: string;
  readonly operator: '<' | '>';
  readonly bound: number;
  readonly isShare: boolean;
}

/**
 * Compares, prints, and judges.
 * @throws usage errors: fewer than two files, files that are no results, what is not comparable without --force
 */
export async function compareCommand(options: CompareOptions): Promise<ExitCode> {
  const rules = (options.failOn ?? []).map(readRule);
  if (options.json !== null && options.json !== '-') await checkWritable(options.json, '--json');
  if (options.html !== null) await checkWritable(options.html, '--html');
  await initHistograms();
  const [first, ...others] = await Promise.all(options.files.map(loadRun));
  if (first === undefined || others.length === 0)
    throw usageError('compare needs two files', 'Give the one to compare with first.');
  const comparisons = others.map((other) => {
    const reasons = objections(first.result, other.result);
    if (reasons.length > 0 && !options.force) {
      throw usageError(
        `${first.name} and ${other.name} are not comparable: ${reasons.join('; ')}`,
        'Compare runs of the same samples, model and load, or say --force.',
      );
    }
    return {
      a: first.name,
      b: other.name,
      not_comparable: reasons,
      differences: differences(first, other, options.margin),
    };
  });
  let isMissed = false;
  for (const { a, b, not_comparable: reasons, differences: all } of comparisons) {
    for (const reason of reasons) printErr(printable(`tabby-load: warning: not comparable: ${reason}`));
    if (options.json !== '-') for (const line of comparisonLines([a, b], all, options.margin)) printOut(line);
    for (const rule of rules) {
      const line = missed(rule, all);
      if (line === null) continue;
      isMissed = true;
      printErr(printable(`tabby-load: ${b}: ${line}`));
    }
  }
  const text = `${JSON.stringify({ schema: 'tabby-load.compare/1', margin: options.margin, comparisons }, null, 2)}\n`;
  if (options.json === '-') writeOut(text);
  else if (options.json !== null) await writeWhole(options.json, [text], '--json');
  if (options.html !== null) {
    const compared = comparisons.map((one) => ({ ...one, words: sentence(one.differences, options.margin) }));
    await putHtml(options.html, comparePage(compared, options.margin));
  }
  return isMissed ? EXIT.limitMissed : EXIT.ok;
}

function readRule(text: string): FailRule {
  const [, key, operator, sign, digits, unit] =
    /^\s*([a-z0-9_.]+)\s*([<>])\s*([+-]?)\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/i.exec(text) ?? [];
  if (key === undefined || digits === undefined) {
    throw usageError(
      `--fail-on: ${JSON.stringify(text)} cannot be read`,
      'Write KEY > +N% or KEY < -N%, such as "mean_ttft_ms > +10%".',
    );
  }
  const value = Number(digits) * (sign === '-' ? -1 : 1);
  return {
    text,
    key,
    operator: operator as '<' | '>',
    bound: unit === '%' ? value / 100 : value,
    isShare: unit === '%',
  };
}

/** What is to be said of a rule that is broken; null when it is kept. */
function missed({ text, key, operator, bound, isShare }: FailRule, all: readonly Difference[]): string | null {
  const found = all.find((one) => one.key === key);
  if (found === undefined) {
    throw usageError(
      `--fail-on: the files have no figure ${JSON.stringify(key)} in common`,
      `There are ${all.map((one) => one.key).join(', ')}.`,
    );
  }
  const value = isShare ? found.relative : found.b - found.a;
  if (value === null || (operator === '>' ? value <= bound : value >= bound)) return null;
  const shown = isShare ? `${(value * 100).toFixed(1)} %` : String(Number(value.toPrecision(6)));
  return `${text}: ${found.a} became ${found.b}, a difference of ${shown}`;
}
