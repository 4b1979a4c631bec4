import { describe, expect, it } from 'vitest';
import { dumpsCompact, dumpsSpaced, py, round2 } from '../../src/mock/pyjson.ts';

describe("Python's JSON", () => {
  // Each of these is what CPython 3.11 prints for repr(value).
  it.each([
    [0, '0.0'],
    [-0, '-0.0'],
    [1375, '1375.0'],
    [0.08, '0.08'],
    [0.16999999999999998, '0.16999999999999998'],
    [155.55555555555557, '155.55555555555557'],
    [0.0001, '0.0001'],
    [0.00001, '1e-05'],
    [1.5e-7, '1.5e-07'],
    [1e15, '1000000000000000.0'],
    [1e16, '1e+16'],
    [1.25e22, '1.25e+22'],
    [1e-100, '1e-100'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
  ])('writes the float %s as %s', (value, text) => {
    expect(dumpsSpaced(py(value))).toBe(text);
  });

  it('spaces as json.dumps does, leaves text raw, and leaves out what is undefined', () => {
    const value = { a: [1, py(2), null, true], b: { c: 'é\u2028"\\\n\u0001' }, d: undefined };
    expect(dumpsSpaced(value)).toBe('{"a": [1, 2.0, null, true], "b": {"c": "é\u2028\\"\\\\\\n\\u0001"}}');
    expect(dumpsCompact(value)).toBe('{"a":[1,2.0,null,true],"b":{"c":"é\u2028\\"\\\\\\n\\u0001"}}');
    expect(dumpsSpaced({ empty: {}, list: [] })).toBe('{"empty": {}, "list": []}');
  });

  it('rounds to two decimals', () => {
    expect([round2(0.184), round2(222.2222), round2(1e-9), round2(262.5)]).toEqual([0.18, 222.22, 0, 262.5]);
  });
});
