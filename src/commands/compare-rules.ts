/** The bounds of `--fail-on`: `mean_ttft_ms > +10%`, `output_throughput < -5%`, `mean_itl_ms > 2`. */
import { usageError } from '../errors.ts';
import { suggest } from '../options/suggest.ts';

/** A bound of `--fail-on`. */
export interface FailRule {
  readonly text: string;
  readonly key: string;
  readonly operator: '<' | '>';
  readonly bound: number;
  readonly isShare: boolean;
}

/** A figure of two runs, as far as a rule looks at it. */
export interface RuledFigure {
  readonly key: string;
  readonly a: number;
  readonly b: number;
  /** (b − a) / a; null when a is 0. */
  readonly relative: number | null;
}

/** @throws a usage error when it cannot be read */
export function readRule(text: string): FailRule {
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

/**
 * What is to be said of a rule that is broken; null when it is kept.
 * @throws a usage error when there is no such figure
 */
export function broken({ text, key, operator, bound, isShare }: FailRule, all: readonly RuledFigure[]): string | null {
  const found = all.find((one) => one.key === key);
  if (found === undefined) {
    const keys = all.map((one) => one.key);
    const near = suggest(key, keys);
    throw usageError(
      `--fail-on: the files have no figure ${JSON.stringify(key)} in common`,
      `${near === undefined ? '' : `Did you mean ${near}? `}There are ${keys.join(', ')}.`,
    );
  }
  const value = isShare ? found.relative : found.b - found.a;
  if (value === null || (operator === '>' ? value <= bound : value >= bound)) return null;
  const shown = isShare ? `${(value * 100).toFixed(1)} %` : short(value);
  return `${text}: ${short(found.a)} became ${short(found.b)}, a difference of ${shown}`;
}

function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}
