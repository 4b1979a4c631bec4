import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { HistogramSet, initHistograms } from '../../src/aggregate/histogram.ts';
import { repeatedFigures } from '../../src/aggregate/repeats.ts';
import type { SweepDocument } from '../../src/record/sweep.ts';
import { typedLine } from '../../src/report/html-command.ts';
import { type Compared, comparePage } from '../../src/report/html-compare.ts';
import { sweepsSections } from '../../src/report/html-compare-sweeps.ts';
import {
  ascending,
  bucketBins,
  bucketCurve,
  commonBins,
  histogramBins,
  percentileCurve,
} from '../../src/report/html-curves.ts';
import type { DotChart, PageSection, XyChart } from '../../src/report/html-data.ts';
import { distributionSections } from '../../src/report/html-distributions.ts';
import { gpuSections } from '../../src/report/html-gpus.ts';
import { repeatSections } from '../../src/report/html-repeats.ts';
import { sweepPage } from '../../src/report/html-sweep.ts';
import { level } from '../fixtures/sweep/level.ts';

beforeAll(initHistograms);

function bucketsOf(ms: readonly number[]) {
  const set = new HistogramSet();
  set.recordAll(
    'ttft',
    Float64Array.from(ms, (value) => value / 1000),
  );
  const found = set.buckets('ttft');
  set.destroy();
  return found;
}

function section(sections: readonly PageSection[], id: string): PageSection {
  const found = sections.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no ${id} among ${sections.map((one) => one.id).join()}`);
  return found;
}

function xy({ chart }: PageSection): XyChart {
  if (chart?.type !== 'xy') throw new Error('not an xy chart');
  return chart;
}

describe('curves from histograms', () => {
  it('have the points of those from the values, to three digits', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0.01, max: 1e5, noNaN: true }), { minLength: 1, maxLength: 800 }), (ms) => {
        const exact = percentileCurve(ascending(ms));
        const curve = bucketCurve(bucketsOf(ms));
        expect(curve.map(([x]) => x)).toEqual(exact.map(([x]) => x));
        for (const [k, [, y]] of curve.entries()) {
          // Half a microsecond by rounding, and one part in a thousand by the bucket.
          const truth = exact[k]?.[1] as number;
          expect(Math.abs((y as number) - truth)).toBeLessThanOrEqual(0.0011 + truth * 0.0011);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('and histograms count every value, zeros with the smallest', () => {
    const bins = bucketBins(bucketsOf([0, 0, 1, 1, 10, 1000]));
    expect(bins.length).toBe(49);
    expect(bins.reduce((sum, [, count]) => sum + (count ?? 0), 0)).toBe(6);
    expect(bins[0]).toEqual([1, 4]);
    expect(bins[47]?.[1]).toBe(1);
    expect(bins[48]).toEqual([expect.closeTo(1000, 0), 0]);
  });

  it('are none without values', () => {
    expect(bucketCurve([])).toEqual([]);
    expect(bucketBins([])).toEqual([]);
    expect(bucketsOf([])).toEqual([]);
  });

  it('stand in for values that were not kept, and say so', () => {
    const sections = distributionSections(null, (key) => (key === 'tpot' ? [] : bucketsOf([5, 6, 7, 80])));
    expect(sections.map(({ id }) => id)).toEqual(['percentiles', 'histogram-ttft', 'histogram-itl']);
    const curves = section(sections, 'percentiles');
    expect(curves.words?.join(' ')).toMatch(/TTFT, ITL: .*from HDR histograms .* three digits/);
    const [ttft] = xy(curves).panels[0]?.series ?? [];
    expect(ttft?.points[0]?.[1]).toBeCloseTo(5, 2);
    expect(ttft?.points.at(-1)?.[1]).toBeCloseTo(80, 0);
    expect(curves.table?.rows[0]?.at(-1)).toEqual({ value: expect.closeTo(80, 0), digits: 2 });
    // Of four values no p99 can be told.
    expect(curves.table?.rows[0]?.[7]).toEqual({ value: null, digits: 2 });
  });
});

describe('bins', () => {
  it('are of equal width on a plain axis where the values lie close together', () => {
    // 0.5 apart: 48 bins from 8 to 32.
    const bins = histogramBins(ascending([8, 8.2, 8.7, 20, 32]));
    expect(bins.slice(0, 3)).toEqual([
      [8, 2],
      [8.5, 1],
      [9, 0],
    ]);
    expect(bins[24]).toEqual([20, 1]);
    expect(bins.slice(-2)).toEqual([
      [31.5, 1],
      [32, 0],
    ]);
  });

  it('are shared by two series, and count each value once', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1e4, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.array(fc.double({ min: 0, max: 1e4, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (a, b) => {
          const [ofA, ofB] = commonBins(ascending(a), ascending(b));
          expect(ofA.map(([x]) => x)).toEqual(ofB.map(([x]) => x));
          const counted = (points: typeof ofA) => points.reduce((sum, [, count]) => sum + (count ?? 0), 0);
          expect([counted(ofA), counted(ofB)]).toEqual([a.length, b.length]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('repeats', () => {
  const results = [90, 100, 110].map((rate) => ({ output_throughput: rate, mean_ttft_ms: 50 }));

  it('are dots around the mean of all, with the interval of the mean', () => {
    const [only] = repeatSections(repeatedFigures(results));
    const chart = only?.chart as DotChart;
    const row = chart.categories.indexOf('output_throughput');
    expect(chart.series[0]?.points.filter(([, k]) => k === row).map(([x]) => x)).toEqual([-10, 0, 10]);
    // s = 10, t(0.975, 2) = 4.303: 4.303 · 10 / √3 = 24.84.
    expect(chart.ranges[row]).toEqual([expect.closeTo(-24.84, 2), expect.closeTo(24.84, 2)]);
    const cells = only?.table?.rows.find(([name]) => name === 'output_throughput');
    expect(cells?.slice(1, 7).map((cell) => (typeof cell === 'object' ? cell.value : cell))).toEqual([
      90, 100, 110, 100, 10, 10,
    ]);
    expect(only?.words?.join(' ')).toContain('by more than 5 % from run to run');
    expect(only?.words?.join(' ')).toContain('output_throughput');
  });

  it('have no section for one run', () => {
    expect(repeatSections(repeatedFigures(results.slice(1, 2)))).toEqual([]);
  });
});

describe('the command as it was typed', () => {
  it('is one line while it is short, quoted for a shell', () => {
    expect(typedLine(['run', '--slo', 'ttft p99 < 1s', '--label', "it's", '--model', '']).line).toBe(
      "tabby-load run --slo 'ttft p99 < 1s' --label 'it'\\''s' --model ''",
    );
  });

  it('is continued before its options, never within a word', () => {
    const word = `say --this ${'x'.repeat(100)}`;
    expect(typedLine(['--label', word, '--seed', '1']).line).toBe(`tabby-load \\\n  --label '${word}' \\\n  --seed 1`);
  });
});

describe('the page of a comparison', () => {
  const sampled = (...ms: number[]) => ({ values: Float64Array.from(ms), weights: null });
  const difference = (key: string, relative: number, verdict: Compared['differences'][number]['verdict']) => ({
    key,
    a: 100,
    b: 100 * (1 + relative),
    relative,
    interval: [relative - 0.01, relative + 0.01] as const,
    lowerIsBetter: true,
    verdict,
  });
  const compared: Compared = {
    a: 'a.json',
    b: 'b.json',
    not_comparable: ['model: x and y'],
    words: 'B is worse.',
    differences: [difference('mean_ttft_ms', 0.1, 'worse'), difference('mean_tpot_ms', 0, 'same')],
    values: {
      a: { ttft: sampled(1, 2, 3), tpot: sampled(4, 5), e2el: sampled() },
      b: { ttft: sampled(2, 3, 4), tpot: sampled(5, 6), e2el: sampled() },
    },
  };

  it('has dots by verdict, their intervals, and the margin', () => {
    const page = comparePage([compared], 0.02, ['compare', 'a.json', 'b.json']);
    const chart = section(page.sections, 'comparison-1').chart as DotChart;
    expect(chart.series.map(({ name, points }) => [name, points])).toEqual([
      ['no difference shown', [[0, 1]]],
      ['B is worse', [[10, 0]]],
    ]);
    expect(chart.ranges).toEqual([
      [9, 11],
      [-1, 1],
    ]);
    expect(chart.band).toMatchObject({ from: -2, to: 2 });
    expect(page.alerts).toEqual(['b.json: not comparable: model: x and y']);
    expect(section(page.sections, 'command').code).toBe('tabby-load compare a.json b.json');
  });

  it('draws both distributions over each other, of what both have', () => {
    const { sections } = comparePage([compared], 0.02, []);
    const curves = xy(section(sections, 'curves-1'));
    expect(curves.panels.map(({ series }) => series.map(({ name }) => name))).toEqual([
      ['TTFT A', 'TTFT B'],
      ['TPOT A', 'TPOT B'],
    ]);
    expect(curves.panels[0]?.series[1]?.points.at(-1)).toEqual([3, 4]);
    const [a, b] = xy(section(sections, 'overlay-ttft-1')).panels[0]?.series ?? [];
    const total = (points: typeof a) => points?.points.reduce((sum, [, share]) => sum + (share ?? 0), 0);
    expect(total(a)).toBeCloseTo(100, 2);
    expect(total(b)).toBeCloseTo(100, 2);
    expect(sections.some(({ id }) => id === 'overlay-e2el-1')).toBe(false);
  });

  it('has no curves where a file has no values per request', () => {
    const { sections } = comparePage([{ ...compared, values: null }], 0.02, []);
    expect(sections.map(({ id }) => id)).toEqual(['comparison-1', 'command']);
  });
});

function sweep(own: Partial<SweepDocument>, levels: SweepDocument['levels'], knee = 4): SweepDocument {
  return {
    schema: 'tabby-load.sweep/1',
    version: '0.1.0',
    started_at: '2026-12-01T03:45:00.000Z',
    axis: 'concurrency',
    asked: 'auto',
    samples_sha256: 'cd',
    options: { max_concurrency: 3 },
    server: {},
    levels,
    answer: {
      knee,
      knee_throughput: 400,
      is_saturated: true,
      bound: null,
      bound_why: '',
      limits: null,
      goodput: null,
      words: [],
    },
    complete: true,
    ...own,
  };
}

describe('the page of a sweep', () => {
  const levels = [1, 2, 4, 8].map((streams) =>
    level({ level: streams, output_throughput: streams * 100, queueMs: streams, client_was_limit: streams === 8 }),
  );

  it('marks the knee, how far the limits hold, and where the client was the limit', () => {
    const answer = { ...sweep({}, levels).answer, limits: { highest_kept: 2, lowest_missed: 4 } };
    const chart = xy(section(sweepPage(sweep({ answer }, levels)).sections, 'saturation'));
    expect(chart.marks).toEqual([
      { x: 4, label: 'knee: 4' },
      { x: 2, label: 'limits kept up to 2' },
    ]);
    expect(chart.panels[0]?.series[1]).toMatchObject({
      name: 'client was the limit',
      shape: 'rings',
      points: [[8, 800]],
    });
  });

  it('shows the queue of the server level by level, where its usage tells of it', () => {
    const panels = (all: typeof levels) => xy(section(sweepPage(sweep({}, all)).sections, 'saturation')).panels;
    expect(panels(levels).at(-1)?.series[0]?.points).toEqual([
      [1, 1],
      [2, 2],
      [4, 4],
      [8, 8],
    ]);
    expect(panels([level({ level: 1 })]).map(({ y }) => y.name)).toEqual(['tokens/s', 'TTFT, ms', 'TPOT, ms']);
  });

  it('has the command as typed, or says that it is rebuilt', () => {
    const command = (typed: readonly string[] | null) =>
      section(sweepPage(sweep({}, levels), typed).sections, 'command');
    expect(command(['sweep', '--concurrency', 'auto']).code).toBe('tabby-load sweep --concurrency auto');
    expect(command(null).words?.join(' ')).toContain('rebuilt');
  });
});

describe('GPUs', () => {
  const gpu = (index: number, busy: readonly (number | null)[]) => ({
    index,
    name: 'X',
    utilisation: { mean: 50, max: 60 },
    memory_mib: { mean: 1024, max: 2048 },
    power_w: null,
    temperature_c: null,
    energy_j: null,
    timeline: { start_time: 99, step_s: 2, utilisation: busy, memory_mib: [2048], power_w: [], temperature_c: [null] },
  });
  const span = { firstStart: 99.5, lengthS: 4 };

  it('are drawn over the time of the requests, in the middle of each slice', () => {
    const chart = xy(section(gpuSections([gpu(0, [20, null, 60]), gpu(1, [30])], 100, span), 'host'));
    expect(chart.x.max).toBe(4);
    expect(chart.panels.map(({ y }) => y.name)).toEqual(['busy, %', 'memory, GiB']);
    // The third slice has its middle 4.5 s after the first request: behind the run.
    expect(chart.panels[0]?.series.map(({ name, points }) => [name, points])).toEqual([
      ['GPU 0 busy', [[0.5, 20]]],
      ['GPU 1 busy', [[0.5, 30]]],
    ]);
    expect(chart.panels[1]?.series[0]?.points).toEqual([[0.5, 2]]);
  });

  it('are their mean and their highest where there are many', () => {
    const eight = Array.from({ length: 8 }, (_, k) => gpu(k, [k * 10, 50]));
    const chart = xy(section(gpuSections(eight, 100, span), 'host'));
    expect(chart.panels[0]?.series.map(({ points }) => points)).toEqual([
      [
        [0.5, 35],
        [2.5, 50],
      ],
      [
        [0.5, 70],
        [2.5, 50],
      ],
    ]);
  });

  it('are words alone where records hold no timeline, and nothing where there are none', () => {
    for (const timeline of [undefined, null, 7, { start_time: 'x' }, { start_time: 0, step_s: 1, utilisation: 'y' }]) {
      const [only] = gpuSections([{ ...gpu(0, []), timeline }], 100, span);
      expect(only?.words?.[0]).toContain('50 % busy');
      expect(only?.chart).toBeUndefined();
    }
    for (const none of [undefined, null, [], 'x', [null]]) expect(gpuSections(none, 1, span)).toEqual([]);
  });
});

describe('sweeps in one picture', () => {
  it('have a colour each in every plot, and a mark for each knee', () => {
    const [a, b] = [
      sweep(
        {},
        [4, 1, 2].map((streams) => level({ level: streams, output_throughput: streams * 100 })),
      ),
      sweep(
        {},
        [1, 2, 8].map((streams) => level({ level: streams, output_throughput: streams * 90, tpotMs: 12 })),
        8,
      ),
    ];
    const sections = sweepsSections([
      { name: 'a', document: a },
      { name: 'b', document: b },
    ]);
    const chart = xy(section(sections, 'curves'));
    expect(chart.x).toMatchObject({ min: 1, max: 8, isLog: true });
    expect(chart.marks).toEqual([
      { x: 4, label: 'knee A: 4' },
      { x: 8, label: 'knee B: 8' },
    ]);
    // In rising order, whatever the order in which they were measured.
    expect(chart.panels[0]?.series.map(({ points }) => points)).toEqual([
      [
        [1, 100],
        [2, 200],
        [4, 400],
      ],
      [
        [1, 90],
        [2, 180],
        [8, 720],
      ],
    ]);
    expect(chart.panels[2]?.series.map(({ name, place, dash }) => [name, place, dash])).toEqual([
      ['TPOT median A', 0, 0],
      ['TPOT median B', 1, 0],
      ['TPOT p99 A', 0, 1],
      ['TPOT p99 B', 1, 1],
    ]);
    const { table } = section(sections, 'curves');
    expect(table?.rows.map(([name]) => name)).toEqual(['1', '2', '4', '8']);
    // B did not measure 4.
    expect(table?.rows[2]?.[5]).toEqual({ value: null, digits: 1 });
    expect(xy(section(sections, 'pareto')).panels[0]?.series[1]?.labels).toEqual(['1', '2', '8']);
  });

  it('are one line for a knee of both, and nothing without levels', () => {
    const one = { name: 'a', document: sweep({}, [level({})]) };
    expect(xy(section(sweepsSections([one, one]), 'curves')).marks).toEqual([{ x: 4, label: 'knee A, B: 4' }]);
    const failed = { name: 'b', document: sweep({}, [level({ status: 'failed' })]) };
    expect(sweepsSections([failed, failed])).toEqual([]);
  });
});
