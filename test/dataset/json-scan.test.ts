import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScanner, JsonSyntaxError, type JsonVisitor } from '../../src/dataset/json-scan.ts';

/** Notes everything that is told, as text. */
class Recorder implements JsonVisitor {
  readonly keyDepth: number;
  readonly log: string[] = [];
  constructor(keyDepth = 1) {
    this.keyDepth = keyDepth;
  }
  valueStart(depth: number, firstByte: number, offset: number): void {
    this.log.push(`${offset}: ${String.fromCharCode(firstByte)} at depth ${depth}`);
  }
  containerEnd(depth: number, end: number): void {
    this.log.push(`${end}: end at depth ${depth}`);
  }
  key(name: string | null): void {
    this.log.push(`key ${name}`);
  }
}

/** Copies into memory of its own, aligned or not, so that both paths of the scanner are used. */
function placed(bytes: Buffer, shift: number): Buffer {
  const memory = Buffer.allocUnsafeSlow(bytes.length + 4);
  bytes.copy(memory, shift);
  return memory.subarray(shift, shift + bytes.length);
}

function scan(
  bytes: Buffer,
  cuts: readonly number[] = [],
  keyDepth = 1,
): { log: string[]; error: JsonSyntaxError | null } {
  const recorder = new Recorder(keyDepth);
  const scanner = new JsonScanner(recorder);
  const ends = [...new Set(cuts.filter((cut) => cut < bytes.length))].sort((a, b) => a - b);
  let start = 0;
  try {
    for (const end of [...ends, bytes.length]) {
      scanner.push(placed(bytes.subarray(start, end), start % 3), start);
      start = end;
    }
    scanner.end();
    return { log: recorder.log, error: null };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return { log: recorder.log, error };
  }
}

/** As JSON.parse, with Python's three words more: each stands where a number might. */
function parses(bytes: Buffer): boolean {
  const words = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;
  const plain = bytes.toString('utf8').replace(words, (part) => (part.startsWith('"') ? part : ' 0 '));
  try {
    JSON.parse(plain);
    return true;
  } catch {
    return false;
  }
}

const PIECES = [
  '{', '}', '[', ']', ',', ':', '"', '"a"', '"\\n"', '"\\u12aF"', '"\\u12g"', '"\\x"', '\\', 'true', 'fals', 'null', '0', '-', '-0.5e+3', '01', '1.',
  '1e', '2E9', ' ', '\n', '\r', '\t', '\f', '\u0000', 'é', '🚀', '"é🚀"', '"\u0001"', '//', "'", 'NaN', 'Infinity', '-Infinity', 'Infinit', '"\u2028"', '\u00a0', '""', '"conversations"',
]; // biome-ignore format: one list

describe('JsonScanner', () => {
  it('accepts what Python accepts and nothing else: pieces of JSON in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }), (pieces) => {
        const bytes = Buffer.from(pieces.join(''));
        expect(scan(bytes).error === null).toBe(parses(bytes));
      }),
      { numRuns: 4000 },
    );
  });

  it('accepts what Python accepts and nothing else: whole texts with one byte changed', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.integer({ min: 0, max: 127 }), (json, at, byte) => {
        const bytes = Buffer.from(json);
        expect(scan(bytes).error).toBeNull();
        bytes[at % bytes.length] = byte;
        if (isUtf8(bytes)) expect(scan(bytes).error === null).toBe(parses(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  it('tells the same wherever the text is cut into chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), fc.array(fc.nat(60)), (pieces, cuts) => {
        const bytes = Buffer.from(pieces.join(''));
        const whole = scan(bytes);
        const cut = scan(bytes, cuts);
        expect(cut.log).toEqual(whole.log);
        expect(cut.error?.message).toBe(whole.error?.message);
        expect(cut.error?.offset).toBe(whole.error?.offset);
      }),
      { numRuns: 1500 },
    );
  });

  it('tells the same in single bytes, for valid texts with long strings', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.string({ minLength: 30, unit: 'binary' }), (value, text) => {
        const bytes = Buffer.from(JSON.stringify([value, text, { [text]: text }], null, 1));
        const single = Array.from({ length: bytes.length }, (_, i) => i);
        expect(scan(bytes, single)).toEqual(scan(bytes));
        expect(scan(bytes).error).toBeNull();
      }),
    );
  });

  it('a text that ends before its time is never taken for whole', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1 }), fc.nat(), (value, at) => {
        const bytes = Buffer.from(JSON.stringify(value));
        const { error } = scan(bytes.subarray(0, at % bytes.length));
        expect(error).toMatchObject({ cutOff: true, offset: at % bytes.length });
      }),
    );
  });

  it('names values, ends and members with their depth and offset', () => {
    const text = '[ {"a\\u0062":1, "c": [true]}, "x"]';
    expect(scan(Buffer.from(text), [], 2).log).toEqual([
      '0: [ at depth 0',
      '2: { at depth 1',
      'key ab',
      '13: 1 at depth 2',
      'key c',
      '21: [ at depth 2',
      '22: t at depth 3',
      '27: end at depth 2',
      '28: end at depth 1',
      '30: " at depth 1',
      '34: end at depth 0',
    ]);
  });

  it('gives names of up to 40 characters however they are written, and null for longer ones', () => {
    const name = 'conversations';
    const escaped = [...name].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    const forty = 'k'.repeat(40);
    const text = `{"${escaped}":0,"${forty}":0,"${'\\u006b'.repeat(40)}":0,"${'k'.repeat(241)}":0,"":0}`;
    const names = scan(Buffer.from(text), [7, 8, 9, 100]).log.filter((line) => line.startsWith('key'));
    expect(names).toEqual([`key ${name}`, `key ${forty}`, `key ${forty}`, 'key null', 'key ']);
  });

  it('goes as deep as the text does', () => {
    const deep = Buffer.from('['.repeat(100_000) + ']'.repeat(100_000));
    expect(scan(deep).error).toBeNull();
    expect(scan(deep.subarray(0, -1)).error).toMatchObject({ cutOff: true });
  });

  it.each([
    ['', 'ends before its first value', 0],
    ['["abc', 'ends inside a text', 5],
    ['{"a":1', 'ends inside an object', 6],
    ['[1,', 'ends inside a list', 3],
    ['[1 2]', '"2" where "," or the end of the list or object should be', 3],
    ['[1,]', '"]" where a value should be', 3],
    ['[] x', '"x" where nothing more should be', 3],
    ['["a\nb"]', 'control character 0x0a inside a text', 3],
    ['["\\q"]', '"q" where one of "\\/bfnrtu after a backslash should be', 3],
    ['["\\u00g0"]', '"g" where four hex digits after \\u should be', 6],
    ['[trap]', '"a" where the word true should be', 3],
    ['[-]', '"]" where a digit should be', 2],
    ['{"a" 1}', '"1" where ":" should be', 5],
    ['{1:2}', '"1" where a member name or "}" should be', 1],
    ['<html>', '"<" where a value should be', 0],
    ['\u0000', 'byte 0x0 where a value should be', 0],
  ])('says what is wrong with %j', (text, message, offset) => {
    expect(scan(Buffer.from(text)).error).toMatchObject({ message, offset });
  });
});
