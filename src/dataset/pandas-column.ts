/**
 * How pandas' `read_json` sees a column of JSON values: when each is a number, true or false, missing, or a text that Python's `float()`
 * reads, the whole column becomes numbers; otherwise every value stays what it is. vLLM reads custom data sets through it (values
 * recorded from pandas 3.1).
 */

/** Texts for Python's `float()`: digits may be grouped by single underscores. */
const FLOAT = /^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+(_\d+)*)?$/i;
const INT = /^[+-]?\d+(_\d+)*$/;

/** Python's `float(text)`; null where it raises ValueError. */
export function pythonFloatOf(text: string): number | null {
  const trimmed = text.trim();
  if (FLOAT.test(trimmed)) return Number(trimmed.replaceAll('_', ''));
  const word = /^([+-]?)(inf|infinity|nan)$/i.exec(trimmed);
  if (word === null) return null;
  if (word[2]!.toLowerCase() === 'nan') return Number.NaN;
  return word[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** Python's `int(value)` of a value of such a column; null where it raises. */
export function pythonIntOf(value: unknown): number | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number') return Number.isFinite(value) ? Math.trunc(value) + 0 : null;
  if (typeof value !== 'string' || !INT.test(value.trim())) return null;
  return Number(value.trim().replaceAll('_', '')) + 0;
}

/** The column as numbers, missing values as NaN; null when it stays as it is. */
export function numericColumn(values: readonly unknown[]): readonly number[] | null {
  const numbers: number[] = [];
  for (const value of values) {
    const number = numberOf(value);
    if (number === null) return null;
    numbers.push(number);
  }
  return numbers;
}

function numberOf(value: unknown): number | null {
  if (value === undefined || value === null) return Number.NaN;
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'string' ? pythonFloatOf(value) : null;
}
