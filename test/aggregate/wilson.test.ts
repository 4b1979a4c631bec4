import { describe, expect, it } from 'vitest';
import { wilson } from '../../src/aggregate/wilson.ts';

describe("Wilson's interval", () => {
  it.each([
    // n / (n + z²) for all good, with z² = 3.841459.
    [10, 10, 10 / 13.841459, 1],
    [0, 10, 0, 3.841459 / 13.841459],
    // By the published formula, by hand.
    [95, 100, 0.888252, 0.978456],
    [0, 0, 0, 1],
  ])('of %d in %d', (hits, trials, low, high) => {
    expect(wilson(hits, trials).low).toBeCloseTo(low, 5);
    expect(wilson(hits, trials).high).toBeCloseTo(high, 5);
  });
});
