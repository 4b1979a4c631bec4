import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { centred, percentileName, pythonFixed, pythonFloat } from '../../src/report/python-format.ts';

const { cases } = JSON.parse(
  readFileSync(new URL('../fixtures/report/python-floats.json', import.meta.url), 'utf8'),
) as { cases: [string, string, string, string, string][] };

/** The double with these bits. */
function fromBits(hex: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}

describe('numbers as CPython prints them', () => {
  it('has cases', () => {
    expect(cases.length).toBeGreaterThan(500);
  });

  it.each([
    [2, 1],
    [0, 2],
    [3, 3],
  ] as const)('with %i digits', (digits, column) => {
    for (const row of cases) expect(pythonFixed(fromBits(row[0]), digits), row[0]).toBe(row[column]);
  });

  it('in shortest form', () => {
    for (const [bits, , , , text] of cases) expect(pythonFloat(fromBits(bits)), bits).toBe(text);
  });

  it('rounds ties to the even digit, where toFixed does not', () => {
    expect([0.125, 0.375, 2.5].map((x) => pythonFixed(x, 2))).toEqual(['0.12', '0.38', '2.50']);
    expect([0.5, 1.5, 2.5].map((x) => pythonFixed(x, 0))).toEqual(['0', '2', '2']);
  });

  it('names percentiles and centres headings as vLLM does', () => {
    expect([99, 99.9, 0.1, 50].map(percentileName)).toEqual(['99', '99.9', '0.1', '50']);
    expect(centred(' Serving Benchmark Result ', 50, '=')).toBe('============ Serving Benchmark Result ============');
    expect(centred('Inter-token Latency', 50, '-')).toBe('---------------Inter-token Latency----------------');
  });
});
