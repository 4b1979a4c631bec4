/**
 * Fuzzing within a time: a second per property in `npm test`, as long as you like by `npm run fuzz -- SECONDS`. A failure prints its seed and
 * path, and the smallest input that was found.
 */
import fc from 'fast-check';
import { it } from 'vitest';

const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 1);

/** One test of a property that goes on until its time is over. */
export function fuzz<T>(name: string, property: fc.IAsyncPropertyWithHooks<T> | fc.IPropertyWithHooks<T>): void {
  it(name, { timeout: SECONDS * 1000 + 30_000 }, async () => {
    let runs = 0;
    const count = (): void => {
      runs++;
    };
    await fc.assert('beforeEach' in property ? (property.beforeEach(count) as fc.IAsyncProperty<T>) : property, {
      numRuns: 1_000_000_000,
      interruptAfterTimeLimit: SECONDS * 1000,
      markInterruptAsFailure: false,
    });
    // A property that never ran would pass.
    if (runs < 3) throw new Error(`only ${runs} runs in ${SECONDS} s`);
  });
}

/** Something done to bytes. Places are shares of the length, so that they stay valid whatever was done before. */
type Change = (bytes: Buffer) => Buffer;

const place = fc.double({ min: 0, max: 1, noNaN: true });

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, fc.nat(255)).map(
    ([at, byte]): Change =>
      (bytes) => {
        const out = Buffer.from(bytes);
        if (out.length > 0) out[Math.min(out.length - 1, Math.floor(at * out.length))] = byte;
        return out;
      },
  ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (bytes) =>
        Buffer.concat([
          bytes.subarray(0, Math.floor(Math.min(from, to) * bytes.length)),
          bytes.subarray(Math.floor(Math.max(from, to) * bytes.length)),
        ]),
  ),
  fc.tuple(place, fc.uint8Array({ maxLength: 12 })).map(
    ([at, more]): Change =>
      (bytes) =>
        insert(bytes, at, Buffer.from(more)),
  ),
  fc
    .tuple(
      place,
      fc.constantFrom(
        '\0',
        '\u2028',
        '\r',
        '\r\n',
        '\n\n',
        '"',
        '\\',
        '\\u0000',
        '[',
        '{',
        '{"',
        ':',
        ',',
        '\ud800',
        '\ufeff',
        '1e999',
        '-',
        'null',
        'NaN',
        'data: ',
        '[DONE]',
      ),
    )
    .map(
      ([at, more]): Change =>
        (bytes) =>
          insert(bytes, at, Buffer.from(more)),
    ),
  fc.tuple(place, place, place).map(
    ([from, to, at]): Change =>
      (bytes) =>
        insert(
          bytes,
          at,
          bytes.subarray(Math.floor(Math.min(from, to) * bytes.length), Math.floor(Math.max(from, to) * bytes.length)),
        ),
  ),
  place.map(
    (at): Change =>
      (bytes) =>
        bytes.subarray(0, Math.floor(at * bytes.length)),
  ),
);

function insert(bytes: Buffer, at: number, more: Buffer): Buffer {
  const index = Math.floor(at * bytes.length);
  return Buffer.concat([bytes.subarray(0, index), more, bytes.subarray(index)]);
}

/** One of these bytes with a few things done to it. */
export function mutated(sources: readonly Buffer[], most = 4): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.nat(sources.length - 1), fc.array(change, { maxLength: most }))
    .map(([k, changes]) => changes.reduce((bytes, apply) => apply(bytes), sources[k] as Buffer));
}

/** The bytes cut at these shares of their length. */
export function cutAt(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const places = [...shares.map((share) => Math.floor(share * bytes.length)), bytes.length].sort((a, b) => a - b);
  let from = 0;
  return places.map((to) => {
    const piece = bytes.subarray(from, to);
    from = to;
    return piece;
  });
}

/** Shares at which to cut. */
export const cuts = fc.array(place, { maxLength: 20 });

/** Text that a terminal, a file name or a parser might trip over. */
export const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    '\u001b[2J\u001b]0;owned\u0007',
    '\u009b31m',
    'a\r\nb',
    '\u2028x\u2029',
    '\u202eevil',
    '../../../etc/passwd',
    '..',
    '.',
    '/',
    '\\\\host\\share',
    'C:\\x',
    '\0',
    'x'.repeat(5000),
    '%s%n',
    '\ud800',
  ),
);
