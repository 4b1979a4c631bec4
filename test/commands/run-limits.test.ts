import { describe, expect, it } from 'vitest';
import { FailureCount, isBeyondChance } from '../../src/commands/run-limits.ts';

describe('a share of failures beyond chance', () => {
  it('is none before 20 requests, whatever they did', () => {
    expect(isBeyondChance(19, 19, 0.05)).toBe(false);
    expect(isBeyondChance(20, 20, 0.05)).toBe(true);
  });

  it('is judged by the lower end of the interval of Wilson', () => {
    // Lower ends for z = 3.29, worked out by hand: 2 of 20 → 0.0139; 10 of 100 → 0.0375; 100 of 1000 → 0.0729.
    expect(isBeyondChance(2, 20, 0.013)).toBe(true);
    expect(isBeyondChance(2, 20, 0.014)).toBe(false);
    expect(isBeyondChance(10, 100, 0.037)).toBe(true);
    expect(isBeyondChance(10, 100, 0.038)).toBe(false);
    expect(isBeyondChance(100, 1000, 0.072)).toBe(true);
    expect(isBeyondChance(100, 1000, 0.073)).toBe(false);
  });

  it('is none at or below the limit, and always at a limit of 0', () => {
    expect(isBeyondChance(50, 1000, 0.05)).toBe(false);
    expect(isBeyondChance(1, 1000, 0)).toBe(true);
  });
});

describe('limits on failures', () => {
  const failure = { success: false, error_kind: 'http' } as const;
  const success = { success: true } as const;

  it('are missed with the request that reaches them', () => {
    const count = new FailureCount({ maxErrors: 2, maxErrorRate: null });
    expect([failure, success, failure].map((one) => count.add(one))).toEqual([null, null, '--max-errors 2']);
    expect(count.words).toBe('2 of 3 requests failed');
  });

  it('do not count what we gave up ourselves', () => {
    const count = new FailureCount({ maxErrors: 1, maxErrorRate: 0.1 });
    expect(count.add({ success: false, error_kind: 'aborted' })).toBe(null);
    expect(count.isRateMissed).toBe(false);
  });

  it('are judged by the plain share at the end', () => {
    const count = new FailureCount({ maxErrors: null, maxErrorRate: 0.5 });
    count.add(failure);
    count.add(success);
    expect(count.isRateMissed).toBe(false);
    count.add(failure);
    expect(count.isRateMissed).toBe(true);
    expect(new FailureCount({ maxErrors: null, maxErrorRate: null }).isRateMissed).toBe(false);
  });
});
