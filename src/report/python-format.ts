/**
 * Numbers as Python prints them. vLLM's table and file names are made by Python, and two rules differ from JavaScript's: a tie in
 * rounding goes to the even digit, and whole floats keep their ".0".
 */

/**
 * `f"{value:.{digits}f}"`: rounded half to even on the exact binary value. JavaScript's toFixed differs in ties (it takes the larger) and
 * from 1e21 on (exponent form).
 */
export function pythonFixed(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  // A tie x.xx5 is exact in binary only when it is an odd multiple of 2^-(digits+1); the product with a power of two is exact.
  const halves = magnitude * 2 ** (digits + 1);
  if (magnitude < 1e21 && !(Number.isInteger(halves) && halves % 2 === 1)) return sign + magnitude.toFixed(digits);
  if (magnitude >= 2 ** 53) return sign + withPoint(BigInt(magnitude) * 10n ** BigInt(digits), digits);
  const doubled = BigInt(halves) * 5n ** BigInt(digits);
  const floor = doubled / 2n;
  return sign + withPoint(doubled % 2n === 1n && floor % 2n === 1n ? floor + 1n : floor, digits);
}

function withPoint(scaled: bigint, digits: number): string {
  if (digits === 0) return scaled.toString();
  const text = scaled.toString().padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** `str(value)` of a Python float: shortest digits that read back, ".0" on whole numbers, exponents from 1e16 and below 1e-4. */
export function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [digits, exponentText] = Math.abs(value).toExponential().split('e') as [string, string];
  const exponent = Number(exponentText);
  const sign = value < 0 ? '-' : '';
  if (exponent >= 16 || exponent < -4) {
    const size = Math.abs(exponent).toString().padStart(2, '0');
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  const plain =
    exponent < 0 ? Math.abs(value).toFixed(digits.replace('.', '').length - 1 - exponent) : `${Math.abs(value)}`;
  return sign + (plain.includes('.') ? plain : `${plain}.0`);
}

/** A percentile in names, as vLLM forms it: 99 → "99", 99.5 → "99.5". */
export function percentileName(p: number): string {
  return Number.isInteger(p) ? `${p}` : pythonFloat(p);
}

/** `f"{text:{fill}^{width}}"`: centred, the odd place to the right. */
export function centred(text: string, width: number, fill: string): string {
  const space = Math.max(0, width - text.length);
  const left = Math.floor(space / 2);
  return fill.repeat(left) + text + fill.repeat(space - left);
}
