/**
 * Python's JSON as TabbyAPI sends it. Frames of a stream come from `json.dumps(…, ensure_ascii=False)`: a space after each comma
 * and colon, text beyond ASCII raw (U+2028 too). Whole bodies come from pydantic: the same without the spaces.
 * Floats keep a decimal point, so they are marked with {@link py}.
 */
import { PyFloat, type PyJson, pythonJson } from '../python-json.ts';

export type { PyJson };
export { PyFloat };

/** Marks a number as a Python float. */
export function py(value: number): PyFloat {
  return new PyFloat(value);
}

/** As `json.dumps(value, ensure_ascii=False)`. */
export function dumpsSpaced(value: PyJson): string {
  return pythonJson(value, { ascii: false, spaced: true, sortKeys: false });
}

/** As pydantic's and FastAPI's bodies: no spaces. */
export function dumpsCompact(value: PyJson): string {
  return pythonJson(value, { ascii: false, spaced: false, sortKeys: false });
}

/** Python's `round(value, 2)`. `toFixed` works on the exact binary value; only exact ties differ (half up, not half even). */
export function round2(value: number): number {
  return Number(value.toFixed(2));
}
