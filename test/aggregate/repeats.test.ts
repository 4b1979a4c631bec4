import { describe, expect, it } from 'vitest';
import { repeatedFigures } from '../../src/aggregate/repeats.ts';

describe('repeated runs', () => {
  it('have mean, sample deviation, spread and an interval of each figure', () => {
    const results = [8, 10, 12].map((mean_ttft_ms) => ({ mean_ttft_ms, output_throughput: 100, model_id: 'm' }));
    const figures = repeatedFigures(results);
    expect(figures.map(({ key }) => key)).toEqual(['output_throughput', 'mean_ttft_ms']);
    const ttft = figures[1];
    // Deviation 2 over 3 runs; t for 2 degrees of freedom is 4.303: 4.303 · 2 / √3.
    expect(ttft).toMatchObject({ values: [8, 10, 12], mean: 10, std: 2, cv: 0.2 });
    expect(ttft?.low).toBeCloseTo(10 - 4.9687, 3);
    expect(ttft?.high).toBeCloseTo(10 + 4.9687, 3);
    expect(figures[0]).toMatchObject({ std: 0, cv: 0, low: 100, high: 100 });
  });

  it('are at least two', () => {
    expect(repeatedFigures([{ mean_ttft_ms: 1 }])).toEqual([]);
    expect(repeatedFigures([{ mean_ttft_ms: 1 }, { mean_itl_ms: 1 }])).toEqual([]);
  });
});
