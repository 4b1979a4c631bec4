import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ASCII,
  barSpans,
  clockText,
  columnsOf,
  cutLine,
  cutTo,
  fittingPieces,
  latencyText,
  outside,
  plainText,
  rateText,
  span,
  sparkText,
  UNICODE,
} from '../../src/report/panel-text.ts';

describe('columns', () => {
  it.each([
    ['abc', 3],
    ['', 0],
    ['日本語', 6],
    ['한국어', 6],
    ['ｆｕｌｌ', 8],
    ['e\u0301', 1],
    ['🦙', 2],
    ['ü·…█', 4],
    ['a\u200bb', 2],
  ])('of %s', (text, columns) => {
    expect(columnsOf(text)).toBe(columns);
  });

  it('are what a text is cut to, between characters, with a mark', () => {
    expect(cutTo('qwen3', 5, UNICODE)).toBe('qwen3');
    expect(cutTo('qwen3-32b', 5, UNICODE)).toBe('qwen…');
    expect(cutTo('日本語', 4, UNICODE)).toBe('日…');
    expect(cutTo('qwen3-32b', 5, ASCII)).toBe('qwen~');
    expect(cutTo('qwen3', 0, UNICODE)).toBe('');
  });

  it('are never more than asked for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, columns) => {
        expect(columnsOf(cutTo(outside(text, UNICODE), columns, UNICODE))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it('are shared by the pieces of a line', () => {
    const line = [span('one '), span('two ', 'bad'), span('three')];
    expect(plainText(cutLine(line, 6, UNICODE))).toBe('one t…');
    expect(plainText(cutLine(line, 13, UNICODE))).toBe('one two three');
    expect(cutLine(line, 4, UNICODE)).toEqual([span('one ')]);
  });
});

describe('text from outside', () => {
  it('has no control characters, in ASCII nothing else', () => {
    expect(outside('a\u001b[2Jb\r\n\u009bc\u202e', UNICODE)).toBe('a\\u001b[2Jb\\r\\n\\u009bc\\u202e');
    expect(outside('Modèle 日🦙', ASCII)).toBe('Mod?le ??');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
        expect(outside(text, UNICODE)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        expect(outside(text, ASCII)).toMatch(/^[\u0020-\u007e]*$/);
      }),
    );
  });
});

describe('figures', () => {
  it('have three digits and a unit', () => {
    expect(
      [0, 0.123, 9.994, 9.995, 99.96, 999.4, 999.5, 12_340, 999_499, 999_500, null, Number.NaN].map(latencyText),
    ).toEqual([
      '0.00 ms',
      '0.12 ms',
      '9.99 ms',
      '10.0 ms',
      ' 100 ms',
      ' 999 ms',
      '1.00 s ',
      '12.3 s ',
      ' 999 s ',
      '0.28 h ',
      '   -   ',
      '   -   ',
    ]);
    expect([0, 1.234, 98.76, 99.95, 1234.4, 999_999, 1_234_567, null].map(rateText)).toEqual([
      '   0.00',
      '   1.23',
      '   98.8',
      '    100',
      '  1,234',
      '999,999',
      '  1.23M',
      '      -',
    ]);
  });

  it('are as wide whatever they are', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 3e9, noNaN: true }), (value) => {
        expect(latencyText(value)).toHaveLength(7);
        expect(rateText(value)).toHaveLength(value < 999.5e6 ? 7 : rateText(value).length);
      }),
    );
  });

  it('of time left are rounded up, of time gone down', () => {
    expect([0, 1, 1000, 59_001, 60_000].map((ms) => clockText(ms, 'up'))).toEqual([
      ' 0:00',
      ' 0:01',
      ' 0:01',
      ' 1:00',
      ' 1:00',
    ]);
    expect([-5, 999, 61_999, 3_723_000].map((ms) => clockText(ms, 'down'))).toEqual([
      ' 0:00',
      ' 0:00',
      ' 1:01',
      '1:02:03',
    ]);
  });
});

describe('bar and sparkline', () => {
  it('show a share by eighths of a column', () => {
    expect(plainText(barSpans(0, 4, UNICODE))).toBe('░░░░');
    expect(plainText(barSpans(0.5, 4, UNICODE))).toBe('██░░');
    expect(plainText(barSpans(0.5 + 1 / 32, 4, UNICODE))).toBe('██▏░');
    expect(plainText(barSpans(1, 4, UNICODE))).toBe('████');
    expect(plainText(barSpans(0.7, 4, ASCII))).toBe('##..');
  });

  it('fill their columns exactly', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), fc.integer({ min: 1, max: 200 }), (share, columns) => {
        expect(columnsOf(plainText(barSpans(share, columns, UNICODE)))).toBe(columns);
      }),
    );
  });

  it('tell a standstill from what is not known', () => {
    expect(sparkText([null, null, 0, 1, 4, 7], UNICODE)).toBe('  ▁▂▅█');
    expect(sparkText([0, 0], UNICODE)).toBe('▁▁');
    expect(sparkText([null, 7, 0, 1], ASCII)).toBe(' #_.');
  });
});

describe('pieces', () => {
  const piece = (text: string, weight: number) => ({ line: [span(text)], weight });
  const kept = (columns: number) =>
    fittingPieces([piece('aaaa', 1), piece('bbb', 3), piece('cc', 2)], columns, 1).map(plainText);

  it('are left out whole, the least first', () => {
    expect(kept(11)).toEqual(['aaaa', 'bbb', 'cc']);
    expect(kept(10)).toEqual(['bbb', 'cc']);
    expect(kept(5)).toEqual(['bbb']);
    expect(kept(2)).toEqual([]);
  });
});
