/** Python's `json.dumps(value, sort_keys=True)`, byte for byte: the form in which vLLM's corrected client hashes list prompts. */

/**
 * The value as Python writes it: ", " and ": " between, keys in code point order, everything but printable ASCII as `\uXXXX` (half
 * surrogate pairs too). A number that is whole is written as an int, since JavaScript does not know `1.0` from `1`.
 * `undefined` members are left out.
 */
export function pythonJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return pythonNumber(value);
  if (typeof value === 'string') return pythonString(value);
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (typeof value !== 'object') throw new TypeError(`pythonJson: a ${typeof value} is no JSON value`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([key, member]) => `${pythonString(key)}: ${pythonJson(member)}`);
  return `{${members.join(', ')}}`;
}

function pythonString(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `repr(float)`: the same shortest digits as JavaScript's, but with an exponent from 1e16 up and below 1e-4. */
function pythonNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (Object.is(value, -0)) return '-0.0';
  if (Number.isInteger(value)) return BigInt(value).toString();
  if (Math.abs(value) >= 1e-4) return String(value);
  const [digits, exponent] = value.toExponential().split('e-') as [string, string];
  return `${digits}e-${exponent.padStart(2, '0')}`;
}
