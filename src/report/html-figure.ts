/** Numbers as the words and figures of a page have them. */

/** A number as a person reads it. */
export function figure(value: number, digits = 1): string {
  if (!Number.isFinite(value)) return '–';
  const shown = Math.abs(value) >= 1000 ? 0 : digits;
  return value.toLocaleString('en-US', { minimumFractionDigits: shown, maximumFractionDigits: shown });
}

/** A share as a difference in percent, with its sign. */
export function signedPercent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(share * 100).toFixed(1)} %`;
}
