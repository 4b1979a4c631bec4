/** Repeated runs in words: a table of the spread, and which figures it makes useless for small differences. */
import { type Repeated, WIDE_CV } from '../aggregate/repeats.ts';

/** The lines; empty when there is nothing to say. */
export function repeatLines(figures: readonly Repeated[]): string[] {
  if (figures.length === 0) return [];
  const rows = [
    ['', 'mean', 'std', 'CV', '95 % interval'],
    ...figures.map(({ key, mean, std, cv, low, high }) => [
      key,
      mean.toFixed(2),
      std.toFixed(2),
      `${(cv * 100).toFixed(1)} %`,
      `${low.toFixed(2)} to ${high.toFixed(2)}`,
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const table = rows.map((row) =>
    row.map((cell, k) => (k === 0 ? cell.padEnd(widths[k]!) : cell.padStart(widths[k]!))).join('  '),
  );
  const wide = figures.filter(({ cv }) => cv > WIDE_CV).map(({ key }) => key);
  const runs = figures[0]!.values.length;
  return [
    `tabby-load: ${runs} runs of the same load`,
    ...table.map((line) => `            ${line}`),
    ...(wide.length === 0
      ? []
      : [
          `            spread by more than ${WIDE_CV * 100} % from run to run, so that such differences may be chance: ${wide.join(', ')}`,
        ]),
  ];
}
