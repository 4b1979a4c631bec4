/** Says where and why a text is not JSON in the words of Python's `json` module, as FastAPI passes them on. */
import type { ValidationIssue } from './bodies.ts';

/** Nested deeper than the parser can go. */
class TooDeep extends Error {}

class NotJson extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const LITERAL = /true|false|null|NaN|-?Infinity/y;

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** End of the string whose opening quote is at `start`. */
function stringEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) return i + 1;
    if (c < 32) throw new NotJson('Invalid control character at', i);
    if (c !== 92) continue;
    const escaped = text[++i];
    if (escaped === undefined) break;
    if (escaped === 'u') {
      if (!/^[0-9a-fA-F]{4}/.test(text.slice(i + 1, i + 5))) throw new NotJson('Invalid \\uXXXX escape', i);
      i += 4;
    } else if (!'"\\/bfnrt'.includes(escaped)) throw new NotJson('Invalid \\escape', i - 1);
  }
  throw new NotJson('Unterminated string starting at', start);
}

/** Levels that may still be opened while a text is walked through. */
let levelsLeft = 0;

function memberEnd(text: string, start: number): number {
  if (text[start] !== '"') throw new NotJson('Expecting property name enclosed in double quotes', start);
  const colon = skip(SPACE, text, stringEnd(text, start));
  if (text[colon] !== ':') throw new NotJson("Expecting ':' delimiter", colon);
  return valueEnd(text, skip(SPACE, text, colon + 1));
}

/** End of the object or list that opens at `start`. */
function containerEnd(text: string, start: number, close: string, item: (text: string, at: number) => number): number {
  if (levelsLeft-- === 0) throw new TooDeep();
  const end = itemsEnd(text, start, close, item);
  levelsLeft++;
  return end;
}

function itemsEnd(text: string, start: number, close: string, item: (text: string, at: number) => number): number {
  let at = skip(SPACE, text, start + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    at = skip(SPACE, text, item(text, at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ',') throw new NotJson("Expecting ',' delimiter", at);
    at = skip(SPACE, text, at + 1);
  }
}

function valueEnd(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return stringEnd(text, at);
  if (first === '{') return containerEnd(text, at, '}', memberEnd);
  if (first === '[') return containerEnd(text, at, ']', valueEnd);
  const end = Math.max(skip(NUMBER, text, at), skip(LITERAL, text, at));
  if (end === at) throw new NotJson('Expecting value', at);
  return end;
}

/**
 * The one entry of FastAPI's list for a body that is not JSON; null when Python would not get so far, as it is nested deeper than
 * `maxDepth`.
 */
export function jsonIssue(text: string, maxDepth: number): ValidationIssue | null {
  let found = new NotJson('Extra data', 0);
  levelsLeft = maxDepth;
  try {
    found = new NotJson('Extra data', skip(SPACE, text, valueEnd(text, skip(SPACE, text, 0))));
  } catch (error) {
    if (!(error instanceof NotJson)) return null;
    found = error;
  }
  return {
    type: 'json_invalid',
    loc: ['body', found.at],
    msg: 'JSON decode error',
    input: {},
    ctx: { error: found.message },
  };
}
