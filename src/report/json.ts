/**
 * Writes a result as JSON text, piece by piece: with `--save-detailed` the arrays of a long run exceed what one string can hold.
 * Numbers are written so that reading them gives the identical double.
 */
import type { View } from '../aggregate/summary.ts';
import { plainData } from '../record/codec.ts';

/** Elements of a view per piece of text. */
const PIECE = 1024;

/**
 * The result as pieces of JSON on one line, without a line end. Keys stand in the order of the map (an object would move keys
 * such as "1" to the front, and `--metadata` may have any).
 */
export function* resultChunks(result: ReadonlyMap<string, unknown>): Generator<string> {
  let lead = '{';
  for (const [key, value] of result) {
    yield `${lead}${JSON.stringify(key)}: `;
    if (isView(value)) yield* viewChunks(value);
    else yield JSON.stringify(plainData(value)) ?? 'null';
    lead = ', ';
  }
  yield lead === '{' ? '{}' : '}';
}

/** The result as one string; for results without large arrays. */
export function resultText(result: ReadonlyMap<string, unknown>): string {
  return [...resultChunks(result)].join('');
}

function* viewChunks(view: View<unknown>): Generator<string> {
  let lead = '[';
  for (let from = 0; from < view.length; from += PIECE) {
    const items: string[] = [];
    for (let k = from; k < Math.min(from + PIECE, view.length); k++) items.push(itemText(view.at(k)));
    yield lead + items.join(', ');
    lead = ', ';
  }
  yield lead === '[' ? '[]' : ']';
}

function itemText(item: unknown): string {
  if (item instanceof Float64Array) return `[${item.join(', ')}]`;
  return JSON.stringify(plainData(item)) ?? 'null';
}

function isView(value: unknown): value is View<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'at' in value &&
    'length' in value &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}
