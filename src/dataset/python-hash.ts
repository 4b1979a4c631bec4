/** Python's `hash()` of a text, as CPython 3.11 and later computes it with `PYTHONHASHSEED=0`: SipHash-1-3 under a key of zeros. */

const MASK = 0xffffffffffffffffn;

/** The lower 32 bits of `hash(text)` for an ASCII text (`hash(text) & 0xFFFFFFFF`). */
export function pythonHash32(text: string): number {
  if (text === '') return 0;
  const bytes = Buffer.from(text, 'latin1');
  // The initial state spells "somepseudorandomlygeneratedbytes"; a key of zeros leaves it as it is.
  const v: State = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) absorb(v, bytes.readBigUInt64LE(at));
  const last = Buffer.alloc(8);
  bytes.copy(last, 0, whole);
  last[7] = bytes.length & 0xff;
  absorb(v, last.readBigUInt64LE(0));
  v[2] ^= 0xffn;
  for (let i = 0; i < 3; i++) round(v);
  const hash = v[0] ^ v[1] ^ v[2] ^ v[3];
  // Python keeps −1 for errors and gives −2 in its place.
  return Number((hash === MASK ? MASK - 1n : hash) & 0xffffffffn);
}

type State = [bigint, bigint, bigint, bigint];

function absorb(v: State, word: bigint): void {
  v[3] ^= word;
  round(v);
  v[0] ^= word;
}

function round(v: State): void {
  v[0] = (v[0] + v[1]) & MASK;
  v[1] = rotated(v[1], 13n) ^ v[0];
  v[0] = rotated(v[0], 32n);
  v[2] = (v[2] + v[3]) & MASK;
  v[3] = rotated(v[3], 16n) ^ v[2];
  v[0] = (v[0] + v[3]) & MASK;
  v[3] = rotated(v[3], 21n) ^ v[0];
  v[2] = (v[2] + v[1]) & MASK;
  v[1] = rotated(v[1], 17n) ^ v[2];
  v[2] = rotated(v[2], 32n);
}

function rotated(word: bigint, by: bigint): bigint {
  return ((word << by) | (word >> (64n - by))) & MASK;
}
