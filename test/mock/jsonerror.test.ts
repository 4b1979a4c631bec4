import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ValidationIssue } from '../../src/mock/bodies.ts';
import { jsonIssue } from '../../src/mock/jsonerror.ts';

describe('where a text is not JSON', () => {
  // Message and position as CPython 3.11's json.loads gives them.
  it.each([
    ['', 'Expecting value', 0],
    ['{', 'Expecting property name enclosed in double quotes', 1],
    ['{"a"', "Expecting ':' delimiter", 4],
    ['{"a":', 'Expecting value', 5],
    ['{"a":1', "Expecting ',' delimiter", 6],
    ['{"a":1,}', 'Expecting property name enclosed in double quotes', 7],
    ['[1,]', 'Expecting value', 3],
    ['[1 2]', "Expecting ',' delimiter", 3],
    ['{a:1}', 'Expecting property name enclosed in double quotes', 1],
    ['"ab', 'Unterminated string starting at', 0],
    ['"a\nb"', 'Invalid control character at', 2],
    ['"\\x"', 'Invalid \\escape', 1],
    ['"\\u12"', 'Invalid \\uXXXX escape', 2],
    ['1 2', 'Extra data', 2],
    ['nul', 'Expecting value', 0],
    ['{"messages": [', 'Expecting value', 14],
    ['01', 'Extra data', 1],
    ['-', 'Expecting value', 0],
    ['  [true, fals]', 'Expecting value', 9],
    ['{"a":1 "b"}', "Expecting ',' delimiter", 7],
    ['{"a" 1}', "Expecting ':' delimiter", 5],
    ['["\\ud800",]', 'Expecting value', 10],
  ])('%j: %s at %i', (text, message, at) => {
    expect(jsonIssue(text, 1000)).toMatchObject({ type: 'json_invalid', loc: ['body', at], ctx: { error: message } });
  });

  it('finds nothing wrong before the cut in JSON that was cut off', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, cut) => {
        const text = `{"x": ${json}}`;
        const part = text.slice(0, cut % text.length);
        const { loc } = jsonIssue(part, 1000) as ValidationIssue;
        const at = loc[1] as number;
        expect(at).toBeLessThanOrEqual(part.length);
        expect(at).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('survives a nesting that no stack can hold', () => {
    expect(jsonIssue('['.repeat(1_000_000), 1000)).toBeNull();
    expect(jsonIssue('{"a":'.repeat(1001), 1000)).toBeNull();
    expect(jsonIssue('['.repeat(1000), 1000)?.loc).toEqual(['body', 1000]);
    // What is closed again does not count.
    expect(jsonIssue(`[${'[],'.repeat(5000)}`, 1000)?.loc).toEqual(['body', 15_001]);
  });
});
