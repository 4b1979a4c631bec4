/**
 * Python's JSON as TabbyAPI sends it. Frames of a stream come from `json.dumps(…, ensure_ascii=False)`: a space after each comma
 * and colon, text beyond ASCII raw (U+2028 too). Whole bodies come from pydantic: the same without the spaces.
 * Floats keep a decimal point, so they are marked with {@link py}.
 */

/** A Python float: printed with a decimal point even when it is whole. */
export class PyFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** Marks a number as a Python float. */
export function py(value: number): PyFloat {
  return new PyFloat(value);
}

/** `repr()` of a Python float: shortest round-trip digits, as in JavaScript, but `1.0`, `1e-05` and `1e+16` in Python's way. */
export function pyFloatText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [digits, exponent = '0'] = value.toExponential().split('e') as [string, string];
    const sign = exponent.startsWith('-') ? '-' : '+';
    return `${digits}e${sign}${exponent.replace(/^[+-]/, '').padStart(2, '0')}`;
  }
  const text = String(value);
  return /[.e]/.test(text) ? text : `${Object.is(value, -0) ? '-0' : text}.0`;
}

/** A value of a JSON document; PyFloat where Python has a float; undefined members are left out. */
export type PyJson =
  | string
  | number
  | boolean
  | null
  | PyFloat
  | readonly PyJson[]
  | { readonly [key: string]: PyJson | undefined };

function write(value: PyJson, comma: string, colon: string): string {
  if (value instanceof PyFloat) return pyFloatText(value.value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${(value as readonly PyJson[]).map((item) => write(item, comma, colon)).join(comma)}]`;
  }
  const members: string[] = [];
  for (const [key, member] of Object.entries(value as Record<string, PyJson | undefined>)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}${colon}${write(member, comma, colon)}`);
  }
  return `{${members.join(comma)}}`;
}

/** As `json.dumps(value, ensure_ascii=False)`. */
export function dumpsSpaced(value: PyJson): string {
  return write(value, ', ', ': ');
}

/** As pydantic's and FastAPI's bodies: no spaces. */
export function dumpsCompact(value: PyJson): string {
  return write(value, ',', ':');
}

/** Python's `round(value, 2)`. `toFixed` works on the exact binary value; only exact ties differ (half up, not half even). */
export function round2(value: number): number {
  return Number(value.toFixed(2));
}
