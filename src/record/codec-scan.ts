/**
 * Finds where a msgpack value ends, without building anything: the guard in front of the decoder. It bounds depth and size, knows
 * an unfinished value from a broken one, and lets no extension type through, so that a hostile or damaged record file can neither
 * allocate by a length that it claims nor reach the decoder's extensions. Format: https://github.com/msgpack/msgpack/blob/master/spec.md
 */

/** What {@link valueEnd} yields when the bytes end before the value does. */
export const INCOMPLETE = -1;

/** Nesting of a frame: a request has three levels, options and server information a few more. */
const MAX_DEPTH = 64;

/** A byte that cannot be there; `offset` is where. */
export class ScanError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/**
 * End offset (exclusive) of the msgpack value at `from`, or {@link INCOMPLETE}.
 * @param end end of the bytes at hand
 * @param maxBytes a value that claims to be longer is an error
 * @throws ScanError for bytes that no writer of record files makes
 */
export function valueEnd(bytes: Uint8Array, from: number, end: number, maxBytes: number): number {
  const limit = from + maxBytes;
  // Values still to come at each open level.
  const open: number[] = [];
  let pending = 1;
  let at = from;
  while (true) {
    while (pending === 0) {
      const outer = open.pop();
      if (outer === undefined) return at;
      pending = outer;
    }
    pending--;
    if (at >= end) return INCOMPLETE;
    const step = sizeAt(bytes, at, end);
    if (step === null) return INCOMPLETE;
    at += step.bytes;
    if (at > limit) throw new ScanError(from, `a frame claims more than ${maxBytes} bytes`);
    if (at > end && step.children === 0) return INCOMPLETE;
    if (step.children > 0) {
      if (open.length >= MAX_DEPTH) throw new ScanError(at, 'values are nested too deep');
      open.push(pending);
      pending = step.children;
    }
  }
}

/** Bytes of a scalar, or of the head of a container, and the values inside; reused, since a scan calls it for every value. */
const step = { bytes: 0, children: 0 };

function sizeAt(bytes: Uint8Array, at: number, end: number): typeof step | null {
  const head = bytes[at] as number;
  if (head <= 0x7f || head >= 0xe0) return size(1);
  if (head <= 0x8f) return size(1, (head & 0x0f) * 2);
  if (head <= 0x9f) return size(1, head & 0x0f);
  if (head <= 0xbf) return size(1 + (head & 0x1f));
  const lengthBytes = LENGTH_BYTES[head - 0xc0] as number;
  if (lengthBytes < 0) throw new ScanError(at, `byte 0x${head.toString(16)} at ${at} is not part of a record`);
  if (lengthBytes === 0) return size(1 + (FIXED[head - 0xc0] as number));
  if (at + 1 + lengthBytes > end) return null;
  const length = bigEndian(bytes, at + 1, lengthBytes);
  if (head >= 0xde) return size(1 + lengthBytes, length * 2);
  if (head >= 0xdc) return size(1 + lengthBytes, length);
  return size(1 + lengthBytes + length);
}

/** For heads 0xc0..0xdf: bytes of the length that follows; 0 = fixed size; -1 = never used or an extension type. */
const LENGTH_BYTES = [
  0, -1, 0, 0, 1, 2, 4, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, 1, 2, 4, 2, 4, 2, 4,
];

/** For heads 0xc0..0xd3: bytes of the value behind a head of fixed size. */
const FIXED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8];

function size(bytes: number, children = 0): typeof step {
  step.bytes = bytes;
  step.children = children;
  return step;
}

function bigEndian(bytes: Uint8Array, at: number, n: number): number {
  let value = 0;
  for (let k = 0; k < n; k++) value = value * 256 + (bytes[at + k] as number);
  return value;
}
