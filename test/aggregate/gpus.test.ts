import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gpuFigures, parseGpuLine } from '../../src/aggregate/gpus.ts';

describe('a line of nvidia-smi', () => {
  it('is a reading', () => {
    expect(parseGpuLine('0, NVIDIA H200, 35, 1234, 143771, 123.45, 45', 7)).toEqual({
      atMs: 7,
      index: 0,
      name: 'NVIDIA H200',
      utilisation: 35,
      memoryMib: 1234,
      memoryTotalMib: 143_771,
      powerW: 123.45,
      temperatureC: 45,
    });
    expect(parseGpuLine('1, X, [N/A], 1, 2, [Not Supported], 3', 0)).toMatchObject({
      utilisation: null,
      powerW: null,
      temperatureC: 3,
    });
  });

  it('is none when it is something else, whatever that is', () => {
    for (const line of [
      '',
      'NVIDIA-SMI has failed',
      '0, X, 1, 2',
      '-1, X, 1, 2, 3, 4, 5',
      '1e9, X, 1, 2, 3, 4, 5',
      ', X, 1, 2, 3, 4, 5',
    ]) {
      expect(parseGpuLine(line, 0), line).toBeNull();
    }
    fc.assert(fc.property(fc.string(), (line) => void parseGpuLine(line, 0)));
  });
});

describe('the GPUs of a run', () => {
  const reading = (index: number, atMs: number, powerW: number | null, utilisation = 50) => ({
    atMs,
    index,
    name: 'X',
    utilisation,
    memoryMib: 100,
    memoryTotalMib: 200,
    powerW,
    temperatureC: null,
  });

  it('have means, peaks, and energy by trapezoids', () => {
    // 100 W to 200 W in 2 s is 300 J; 100 W for 1 s before, 200 W for 1 s behind.
    const [gpu, ...more] = gpuFigures([reading(0, 1000, 100, 20), reading(0, 3000, 200, 60)], 0, 4000);
    expect(more).toEqual([]);
    expect(gpu).toMatchObject({
      index: 0,
      samples: 2,
      utilisation: { mean: 40, max: 60 },
      power_w: { mean: 150, max: 200 },
      temperature_c: null,
    });
    expect(gpu?.energy_j).toBeCloseTo(100 + 300 + 200, 9);
  });

  it('have a timeline of slices on the clock of the requests, from the start of the run to its end', () => {
    const [gpu] = gpuFigures(
      [reading(0, 500, 9), reading(0, 1500, 100, 20), reading(0, 3500, 200, 60), reading(0, 9000, 9)],
      1000,
      5000,
      7000,
    );
    // Two readings lie within: two slices of 2 s, the first from 1 s on this clock, 8 s on that of the requests.
    expect(gpu?.timeline).toEqual({
      start_time: 8,
      step_s: 2,
      utilisation: [20, 60],
      memory_mib: [100, 100],
      power_w: [100, 200],
      temperature_c: [null, null],
    });
    const many = Array.from({ length: 1000 }, (_, k) => reading(0, k, k % 2 === 0 ? 10 : 30));
    const line = gpuFigures(many, 0, 960)[0]?.timeline;
    expect(line?.power_w.length).toBe(240);
    expect(line?.power_w[5]).toBe(20);
  });

  it('count no energy from before or behind the run', () => {
    // 100 W all the time, read from 0 to 10 s; the run was 2 s of it.
    const samples = Array.from({ length: 11 }, (_, s) => reading(0, s * 1000, 100));
    expect(gpuFigures(samples, 4000, 6000)[0]?.energy_j).toBeCloseTo(200, 9);
  });

  it('stand in the order of their numbers, and have no energy without power', () => {
    const figures = gpuFigures([reading(1, 0, null), reading(0, 0, 10)], 0, 1000);
    expect(figures.map(({ index, energy_j: joules }) => [index, joules])).toEqual([
      [0, 10],
      [1, null],
    ]);
    expect(gpuFigures([], 0, 1)).toEqual([]);
  });
});
