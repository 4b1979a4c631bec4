/** `--format markdown`: the figures as two tables to paste, from the same catalogue as the console's; below them the lines of ours. */
import { LATENCY_METRICS, RATE_METRICS } from '../metrics.ts';
import type { FinishedReport } from './finish.ts';
import { percentileName } from './python-format.ts';
import { printable } from './terminal.ts';

/** The lines. */
export function markdownLines({ result, settings, ownLines }: FinishedReport): string[] {
  const number = (key: string): number | null => {
    const value = result.get(key);
    return typeof value === 'number' ? value : null;
  };
  const rates = [
    ['Requests', `${number('completed') ?? 0} completed, ${number('failed') ?? 0} failed`],
    ...RATE_METRICS.flatMap(({ key, label, unit }) => {
      const value = number(key);
      return value === null ? [] : [[`${label} (${unit})`, figure(value)]];
    }),
  ];
  const statistics = ['mean', 'median', 'std', ...settings.percentiles.map((p) => `p${percentileName(p)}`)];
  const latencies = LATENCY_METRICS.flatMap(({ key, label }) => {
    const cells = statistics.map((name) => number(`${name}_${key}_ms`));
    return cells.every((cell) => cell === null)
      ? []
      : [[label, ...cells.map((cell) => (cell === null ? '' : figure(cell)))]];
  });
  const model = settings.modelId === null ? '' : ` of ${printable(settings.modelId)}`;
  return [
    `**Serving benchmark${cell(model)}**`,
    '',
    ...table(['', ''], rates),
    '',
    ...(latencies.length === 0 ? [] : [...table(['ms', ...statistics], latencies), '']),
    ...ownLines.map((line) =>
      line.startsWith('tabby-load: ') ? `- ${cell(line.slice('tabby-load: '.length))}` : `  ${cell(line.trim())}`,
    ),
  ];
}

/** Numbers stand at the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `| ${head.map((_, k) => (k === 0 ? '---' : '---:')).join(' | ')} |`, ...rows.map(line)];
}

/** What would end a cell, or begin a tag. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

function figure(value: number): string {
  return value.toFixed(2);
}
