/** Random ids, drawn from the system a few hundred at a time: one draw each costs as much as the rest of a small request. */
import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(8192);
let used = pool.length;

/** `bytes` random bytes in hexadecimal; at most 64. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const text = pool.toString('hex', used, used + bytes);
  used += bytes;
  return text;
}
