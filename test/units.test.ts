import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatCount,
  formatDuration,
  formatShare,
  formatSize,
  parseCount,
  parseDuration,
  parseFloating,
  parseInteger,
  parseShare,
  parseSize,
} from '../src/units.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['1m30s', 90_000],
    ['1.5s', 1500],
    ['2h', 7_200_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['250us', 0.25],
    ['0', 0],
    ['30', 30_000],
    [' 2.5 ', 2500],
    ['1M', 60_000],
    ['off', null],
    ['None', null],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it('counts a bare number in the unit asked for', () => expect(parseDuration('50', 'ms')).toBe(50));

  it.each(['', ' ', '-1s', '1x', 's', '1 s', '30s1m', '1s1s', 'NaN', 'inf', '1e3s', '1,5s', `${'9'.repeat(400)}s`])(
    'refuses %j',
    (text) => expect(parseDuration(text)).toBeUndefined(),
  );

  it('reads back what it writes', () => {
    const anyMs = fc.oneof(
      fc.nat(10_000_000),
      fc.nat(1e12),
      fc.integer({ min: 1, max: 999 }).map((us) => us / 1000),
    );
    fc.assert(
      fc.property(anyMs, (ms) => {
        expect(parseDuration(formatDuration(ms))).toBeCloseTo(ms, 9);
      }),
    );
    expect(formatDuration(null)).toBe('off');
    expect(formatDuration(90_000)).toBe('1m30s');
    expect(formatDuration(0)).toBe('0s');
    expect(formatDuration(86_400_000)).toBe('1d');
  });
});

describe('sizes', () => {
  it.each([
    ['16MB', 16_000_000],
    ['16MiB', 16_777_216],
    ['1.5kB', 1500],
    ['1 GiB', 1_073_741_824],
    ['200', 200],
    ['7b', 7],
  ])('%s', (text, bytes) => expect(parseSize(text)).toBe(bytes));

  it.each(['', 'MB', '-1MB', '1TB', '1M', 'inf'])('refuses %j', (text) => expect(parseSize(text)).toBeUndefined());

  it('reads back what it writes', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), (bytes) => {
        expect(parseSize(formatSize(bytes))).toBe(bytes);
      }),
    );
    expect(formatSize(16_000_000)).toBe('16MB');
    expect(formatSize(1500)).toBe('1500B');
  });
});

describe('counts', () => {
  it.each([
    ['20M', 20_000_000],
    ['2.5k', 2500],
    ['1.1k', 1100],
    ['1G', 1e9],
    ['0', 0],
  ])('%s', (text, count) => expect(parseCount(text)).toBe(count));

  it.each(['', 'k', '-1', '1.5', '1e3', '1.0001k', '99999999999999999999'])('refuses %j', (text) =>
    expect(parseCount(text)).toBeUndefined(),
  );

  it('reads back what it writes', () => {
    fc.assert(
      fc.property(fc.nat(1e12), (count) => {
        expect(parseCount(formatCount(count))).toBe(count);
      }),
    );
    expect(formatCount(20_000_000)).toBe('20M');
  });
});

describe('shares', () => {
  it.each([
    ['5%', 0.05],
    ['0.05', 0.05],
    ['100%', 1],
    ['1', 1],
    ['.5', 0.5],
    ['0', 0],
  ])('%s', (text, share) => expect(parseShare(text)).toBe(share));

  it.each(['', '%', '101%', '1.01', '-5%', '5 %'])('refuses %j', (text) => expect(parseShare(text)).toBeUndefined());

  it('reads back whole and half per cents', () => {
    fc.assert(
      fc.property(fc.nat(200), (halves) => {
        expect(parseShare(formatShare(halves / 200))).toBe(halves / 200);
      }),
    );
  });
});

describe('numbers as Python reads them', () => {
  it.each([
    ['12', 12],
    ['-3', -3],
    ['+7', 7],
    [' 5 ', 5],
    ['1_000', 1000],
    ['-0', 0],
  ])('int(%j)', (text, value) => expect(parseInteger(text)).toBe(value));

  it.each(['', '1.0', '1e3', '0x10', '_1', '1__0', '1_', 'many', '9007199254740993'])('int(%j) fails', (text) =>
    expect(parseInteger(text)).toBeUndefined(),
  );

  it.each([
    ['1', 1],
    ['.5', 0.5],
    ['5.', 5],
    ['1e-3', 0.001],
    ['-2.5E2', -250],
    ['inf', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['1_0.5', 10.5],
  ])('float(%j)', (text, value) => expect(parseFloating(text)).toBe(value));

  it.each(['', '.', 'e5', '1e', 'nan', '0x1', '1,5', '--1'])('float(%j) fails', (text) =>
    expect(parseFloating(text)).toBeUndefined(),
  );
});
