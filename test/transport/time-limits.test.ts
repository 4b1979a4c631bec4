import { describe, expect, it } from 'vitest';
import { overdue } from '../../src/transport/time-limits.ts';

const NONE = { connectMs: 0, firstTokenMs: 0, tokenMs: 0, requestMs: 0 };
const LIMITS = { connectMs: 0, firstTokenMs: 1000, tokenMs: 100, requestMs: 5000 };
const request = (startMs: number, ...times: number[]) => ({
  startMs,
  stream: { tokenFrames: times.length, times: Float64Array.from(times) },
});
const kind = (...args: Parameters<typeof overdue>) => overdue(...args)?.kind ?? null;

describe('time limits', () => {
  it('count to the first token, then from token to token, and over the whole', () => {
    expect(kind(request(50), 1050, LIMITS, Number.NaN)).toBe(null);
    expect(kind(request(50), 1051, LIMITS, Number.NaN)).toBe('timeout_first_token');
    expect(kind(request(50, 900, 1000), 1100, LIMITS, Number.NaN)).toBe(null);
    expect(kind(request(50, 900, 1000), 1101, LIMITS, Number.NaN)).toBe('timeout_idle');
    expect(kind(request(50, 5040), 5050, LIMITS, Number.NaN)).toBe(null);
    expect(kind(request(50, 5040), 5051, LIMITS, Number.NaN)).toBe('timeout_request');
  });

  it('are off at 0', () => {
    for (const one of [request(0), request(0, 1)]) expect(kind(one, 1e12, NONE, Number.NaN)).toBe(null);
  });

  it('give orphans of a model that went away five seconds more', () => {
    expect(kind(request(0, 500), 6000, NONE, 1000)).toBe(null);
    expect(kind(request(0, 500), 6001, NONE, 1000)).toBe('timeout_idle');
    expect(kind(request(0), 6001, NONE, 1000)).toBe('timeout_first_token');
    // It still gets tokens: the server was not gone for it.
    expect(kind(request(0, 500, 5900), 10_900, NONE, 1000)).toBe(null);
    // Sent after the model was found missing: it waits for the new one.
    expect(kind(request(1001), 99_999, NONE, 1000)).toBe(null);
  });
});
