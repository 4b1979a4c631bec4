/**
 * JSON text as Python's `json.dumps` writes it. Prompts are hashed and bodies sent in that form, so that both equal vLLM's to the
 * byte.
 */

/** A Python float: printed with a decimal point even when it is whole. */
export class PyFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** What can be written. Members that are undefined are left out. */
export type PyJson =
  | string
  | number
  | boolean
  | null
  | PyFloat
  | readonly PyJson[]
  | { readonly [key: string]: PyJson | undefined };

/** How to write it. */
export interface PyJsonStyle {
  /** Everything beyond ASCII as `\uXXXX` (Python's default), or raw (`ensure_ascii=False`). */
  readonly ascii: boolean;
  /** Spaces behind commas and colons (Python's default), or none. */
  readonly spaced: boolean;
  /** Keys in order of their code points, or as they are. */
  readonly sortKeys: boolean;
}

/** `json.dumps(value)`. */
export const PYTHON_DEFAULT: PyJsonStyle = { ascii: true, spaced: true, sortKeys: false };

/** `repr()` of a Python float: shortest round-trip digits, as in JavaScript, but `1.0`, `1e-05` and `1e+16` in Python's way. */
export function pythonFloat(value: number): string {
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

/** The value as JSON text in Python's form. Lone surrogates are always escaped: they have no UTF-8. */
export function pythonJson(value: PyJson, style: PyJsonStyle = PYTHON_DEFAULT): string {
  if (value instanceof PyFloat) return pythonFloat(value.value);
  if (typeof value === 'string') return pythonString(value, style.ascii);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const comma = style.spaced ? ', ' : ',';
  if (Array.isArray(value))
    return `[${(value as readonly PyJson[]).map((item) => pythonJson(item, style)).join(comma)}]`;
  const colon = style.spaced ? ': ' : ':';
  const entries = Object.entries(value as Record<string, PyJson | undefined>);
  if (style.sortKeys) entries.sort(([a], [b]) => (codePointLess(a, b) ? -1 : 1));
  const members: string[] = [];
  for (const [key, member] of entries) {
    if (member !== undefined) members.push(`${pythonString(key, style.ascii)}${colon}${pythonJson(member, style)}`);
  }
  return `{${members.join(comma)}}`;
}

function pythonString(text: string, ascii: boolean): string {
  // JSON.stringify escapes as Python does, but leaves U+007F and everything beyond raw (Python's ASCII form escapes them).
  const json = JSON.stringify(text);
  if (!ascii) return json;
  return json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function codePointLess(a: string, b: string): boolean {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return left.length < right.length;
}

/**
 * Parses JSON as Python's `json` does: with NaN and the infinities, which some data sets have in fields that nobody reads. NaN comes as null, or
 * as infinity where it shall still be a number that no check lets pass. Throws what `JSON.parse` throws.
 */
export function parsePythonJson(text: string, nan: 'null' | '1e999' = 'null'): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const words = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|(?<!-)\bNaN\b/gs;
    const plain = text.replace(words, (part) =>
      part.startsWith('"') ? part : part === 'NaN' ? nan : part.startsWith('-') ? '-1e999' : '1e999',
    );
    if (plain === text) throw error;
    return JSON.parse(plain) as unknown;
  }
}
