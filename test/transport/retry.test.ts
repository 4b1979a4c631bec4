import { describe, expect, it } from 'vitest';
import { mayBeRetried, retryWaitMs } from '../../src/transport/retry.ts';

const NOW = Date.UTC(2026, 11, 1, 12, 0, 0);

describe('retries', () => {
  it('are for 429 and 503 alone', () => {
    expect([200, 400, 408, 429, 500, 502, 503, 504].filter(mayBeRetried)).toEqual([429, 503]);
  });

  it('wait as Retry-After says: seconds or a date', () => {
    expect(retryWaitMs('3', 0, NOW)).toBe(3000);
    expect(retryWaitMs(' 0 ', 5, NOW)).toBe(0);
    expect(retryWaitMs('1.5', 0, NOW)).toBe(1500);
    expect(retryWaitMs('Tue, 01 Dec 2026 12:00:07 GMT', 0, NOW)).toBe(7000);
    expect(retryWaitMs('Tue, 01 Dec 2026 11:59:00 GMT', 0, NOW)).toBe(0);
    // Timers take 24 days at most, and nobody waits that long.
    expect(retryWaitMs('99999999999', 0, NOW)).toBe(24 * 3600 * 1000);
  });

  it('wait longer and longer where the server does not say', () => {
    expect([0, 1, 2, 3, 10].map((before) => retryWaitMs('', before, NOW))).toEqual([500, 1000, 2000, 4000, 30_000]);
    expect(retryWaitMs('soon', 0, NOW)).toBe(500);
    expect(retryWaitMs('-5', 0, NOW)).toBe(500);
  });
});
