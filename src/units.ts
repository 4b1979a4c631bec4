/**
 * Quantities as people write them and as the program keeps them: durations in milliseconds, sizes in bytes, counts and shares as
 * plain numbers. The options table names these types; reports use the formatters.
 *
 * Every `parse…` returns undefined for text that is no such quantity, so that the caller can word the message with the option's
 * name. None of them accepts NaN, an empty text, or a number that a double cannot hold as a finite value.
 */

const DURATION_MS: Readonly<Record<string, number>> = {
  us: 0.001,
  µs: 0.001,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const SIZE_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};
const COUNTS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9, b: 1e9 };

/**
 * A duration in milliseconds: `500ms`, `1m30s`, `1.5s`, `2h`; a bare number counts in `bareUnit`; `off` (also `none`) gives null.
 * Parts go from large to small, each unit once. Never negative.
 */
export function parseDuration(text: string, bareUnit: 'ms' | 's' = 's'): number | null | undefined {
  const trimmed = text.trim().toLowerCase();
  if (trimmed === 'off' || trimmed === 'none') return null;
  if (/^\d+(\.\d+)?$/.test(trimmed)) return finite(Number(trimmed) * DURATION_MS[bareUnit]!);
  if (!/^(\d+(\.\d+)?(us|µs|ms|s|m|h|d))+$/.test(trimmed)) return undefined;
  let total = 0;
  let last = Number.POSITIVE_INFINITY;
  for (const [, number, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(us|µs|ms|s|m|h|d)/g)) {
    const factor = DURATION_MS[unit!]!;
    if (factor >= last) return undefined;
    last = factor;
    total += Number(number) * factor;
  }
  return finite(total);
}

/** A size in whole bytes: `16MB` (10⁶), `16MiB` (2²⁰), `200kB`; a bare number counts bytes. Case does not matter. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([kmg]?i?b)?$/i.exec(text.trim());
  if (match === null) return undefined;
  const factor = SIZE_BYTES[(match[2] ?? 'b').toLowerCase()];
  if (factor === undefined) return undefined;
  return finite(Math.round(Number(match[1]) * factor));
}

/** A whole number with an optional decimal suffix: `20000000`, `20M`, `2.5k`, `1G`. */
export function parseCount(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([kmgb]?)$/i.exec(text.trim());
  if (match === null) return undefined;
  // Rounded to 12 digits first: 1.1 × 1000 is 1100.0000000000002 in doubles.
  const value = Number((Number(match[1]) * COUNTS[match[2]!.toLowerCase()]!).toPrecision(15));
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A share from 0 to 1: `5%` or `0.05`. */
export function parseShare(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?|\.\d+)(%?)$/.exec(text.trim());
  if (match === null) return undefined;
  const value = Number(match[1]) / (match[2] === '%' ? 100 : 1);
  return value <= 1 ? value : undefined;
}

/**
 * A whole number as Python's `int()` reads it: digits, sign, single underscores between digits, white space around.
 * Undefined beyond 2⁵³, where a double is no longer exact.
 */
export function parseInteger(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^[+-]?\d+(_\d+)*$/.test(trimmed)) return undefined;
  const value = Number(trimmed.replaceAll('_', ''));
  return Number.isSafeInteger(value) ? value + 0 : undefined;
}

/** A number as Python's `float()` reads it, `inf` included and `nan` left out. */
export function parseFloating(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase();
  const infinity = /^([+-]?)inf(inity)?$/.exec(trimmed);
  if (infinity !== null) return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const digits = '\\d+(?:_\\d+)*';
  if (!new RegExp(`^[+-]?(${digits}\\.?(${digits})?|\\.${digits})(e[+-]?${digits})?$`).test(trimmed)) return undefined;
  return Number(trimmed.replaceAll('_', ''));
}

/** A duration the way {@link parseDuration} reads it, exact: `1m30s`, `500ms`, `0s`, `off` for null. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return 'off';
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const unit of ['d', 'h', 'm'] as const) {
    const whole = Math.floor(rest / DURATION_MS[unit]!);
    if (whole > 0) text += `${plain(whole)}${unit}`;
    rest -= whole * DURATION_MS[unit]!;
  }
  const seconds = Math.floor(rest / 1000);
  const millis = rest - seconds * 1000;
  if (seconds > 0) text += `${seconds}s`;
  if (millis > 0) text += `${plain(millis)}ms`;
  return text;
}

/** A size the way {@link parseSize} reads it, in the largest unit that leaves a whole number: `16MB`, `64MiB`, `1500B`. */
export function formatSize(bytes: number): string {
  for (const unit of ['GB', 'GiB', 'MB', 'MiB', 'kB', 'KiB']) {
    const factor = SIZE_BYTES[unit.toLowerCase()]!;
    if (bytes >= factor && bytes % factor === 0) return `${plain(bytes / factor)}${unit}`;
  }
  return `${plain(bytes)}B`;
}

/** A whole number the way {@link parseCount} reads it: `20M`, `1500`, `10k`. */
export function formatCount(count: number): string {
  for (const [suffix, factor] of [
    ['G', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const) {
    if (count >= factor && count % factor === 0) return `${plain(count / factor)}${suffix}`;
  }
  return plain(count);
}

/** A share as a percentage: 0.05 → `5%`. */
export function formatShare(share: number): string {
  return `${plain(Number((share * 100).toPrecision(12)))}%`;
}

/** The shortest decimal digits of a finite number, never in exponent form, so that it can be read back. */
function plain(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
