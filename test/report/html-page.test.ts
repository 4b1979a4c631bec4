import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DetailViews, View } from '../../src/aggregate/summary.ts';
import { commandLine } from '../../src/report/html-command.ts';
import { ascending, histogramBins, percentileCurve, percentileOf } from '../../src/report/html-curves.ts';
import type { PageData } from '../../src/report/html-data.ts';
import { cellText, embedded, htmlPage } from '../../src/report/html-page.ts';
import { timelineOf, waterfallRows } from '../../src/report/html-timeline.ts';

interface Row {
  readonly start: number;
  readonly ttft: number;
  readonly gaps: readonly number[];
  readonly tokens: number;
  /** Seconds it took where it failed. */
  readonly failedAfter?: number;
}

function views(rows: readonly Row[], more: Partial<DetailViews> = {}): DetailViews {
  const view = <T>(read: (row: Row) => T): View<T> => ({ length: rows.length, at: (i) => read(rows[i] as Row) });
  const latency = ({ ttft, gaps }: Row) => gaps.reduce((sum, gap) => sum + gap, ttft);
  return {
    inputLens: view(() => 10),
    outputLens: view(({ tokens }) => tokens),
    ttfts: view(({ ttft }) => ttft),
    itls: view(({ gaps }) => Float64Array.from(gaps)),
    latencies: view(latency),
    startTimes: view(({ start }) => start),
    queueTimes: view(() => 0.25),
    generatedTexts: view(() => ''),
    errors: view(() => ''),
    successes: view(({ failedAfter }) => failedAfter === undefined),
    takenTimes: view((row) => row.failedAfter ?? latency(row)),
    ...more,
  };
}

describe('curves', () => {
  it('of percentiles reach from the least to the largest value, at x = 1 / (1 - p)', () => {
    const curve = percentileCurve(ascending([3, 1, 2, 4]));
    expect(curve[0]).toEqual([1, 1]);
    expect(curve.at(-1)).toEqual([4, 4]);
    // Half of the values lie below the third: p = 0.5 is x = 2.
    expect(curve.find(([x]) => x >= 2)?.[1]).toBe(3);
  });

  it('never lose the extremes, rise, and stay short', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.001, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 3000 }),
        (values) => {
          const curve = percentileCurve(ascending(values));
          const ys = curve.map(([, y]) => y as number);
          expect(ys.at(-1)).toBeCloseTo(Number(Math.max(...values).toPrecision(6)), 10);
          expect(ys[0]).toBeCloseTo(Number(Math.min(...values).toPrecision(6)), 10);
          expect(ys.every((y, k) => k === 0 || y >= (ys[k - 1] as number))).toBe(true);
          expect(curve.length).toBeLessThan(170);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('of histograms count every value once', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e5, noNaN: true }), { maxLength: 500 }), (values) => {
        const counted = histogramBins(ascending(values)).reduce((sum, [, count]) => sum + (count ?? 0), 0);
        expect(counted).toBe(values.length);
      }),
    );
  });

  it('take percentiles as numpy does', () => {
    expect(percentileOf(ascending([1, 2, 3, 4]), 50)).toBe(2.5);
    expect(percentileOf(ascending([1, 2, 3, 4]), 90)).toBeCloseTo(3.7, 12);
  });
});

describe('the timeline', () => {
  const rows: Row[] = [
    { start: 10, ttft: 0.5, gaps: [0.5, 1], tokens: 3 },
    { start: 10, ttft: 1, gaps: [], tokens: 1 },
    { start: 11.5, ttft: 0, gaps: [], tokens: 0, failedAfter: 0.9 },
  ];

  it('counts every token, every error and the most in flight', () => {
    const line = timelineOf(views(rows));
    if (line === null) throw new Error('no timeline');
    // The failed request ends last: 1.5 + 0.9 s after the first was sent.
    expect(line.sliceS * line.inFlight.length).toBeCloseTo(2.4, 9);
    expect(line.tokensPerS.reduce((sum, rate) => sum + rate * line.sliceS, 0)).toBeCloseTo(4, 9);
    expect(line.errors.reduce((sum, value) => sum + value, 0)).toBe(1);
    const at = (s: number) => line.inFlight[Math.floor(s / line.sliceS)];
    expect([at(0.2), at(0.7), at(1.2), at(1.7), at(2.2)]).toEqual([2, 2, 1, 2, 1]);
    expect(Math.max(...[...line.maxTtftMs].filter((ms) => !Number.isNaN(ms)))).toBe(1000);
  });

  it('spreads tokens evenly where gaps were not kept', () => {
    const line = timelineOf(views([{ start: 0, ttft: 1, gaps: [1], tokens: 100 }], { itls: null }));
    expect(line?.tokensPerS.reduce((sum, rate) => sum + rate * line.sliceS, 0)).toBeCloseTo(100, 6);
    expect(line?.tokensPerS[180]).toBeCloseTo(100, 6);
    expect(line?.tokensPerS[60]).toBe(0);
  });

  it('is none without requests', () => {
    expect(timelineOf(views([]))).toBeNull();
  });

  it('has rows with the parts of a request', () => {
    const queue = { length: 3, at: (i: number) => (i === 0 ? 0.2 : Number.NaN) };
    expect(waterfallRows(views(rows, { serverQueueTimes: queue }))).toEqual([
      [0, -0.25, 0, 0.2, 0.5, 2, 0],
      [1, -0.25, 0, 0, 1, 1, 0],
      [2, 1.25, 1.5, 1.5, 1.5, 2.4, 1],
    ]);
  });

  it('keeps the slowest of a hundred thousand requests, in a page below 2 MB', () => {
    const many = views(
      Array.from({ length: 100_000 }, (_, i) => ({
        start: i / 100,
        ttft: i === 77_777 ? 9 : 0.1,
        gaps: [0.01],
        tokens: 2,
      })),
    );
    const rowsKept = waterfallRows(many);
    expect(rowsKept.length).toBeLessThanOrEqual(600);
    expect(rowsKept.map(([index]) => index)).toContain(77_777);
    const line = timelineOf(many);
    expect(Math.max(...[...(line?.maxTtftMs ?? [])].filter((ms) => !Number.isNaN(ms)))).toBe(9000);
    expect(JSON.stringify([rowsKept, line]).length).toBeLessThan(200_000);
  });
});

describe('the page', () => {
  const HOSTILE = '</script><img src=x onerror=alert(1)>\u2028&"\'';

  it('embeds JSON that can end no element and comes back the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = embedded({ text });
        expect(json).not.toMatch(/[<>&\u2028\u2029]/);
        expect(JSON.parse(json)).toEqual({ text });
      }),
    );
    expect(embedded(HOSTILE)).not.toMatch(/[<>&\u2028]/);
  });

  it('escapes every text from outside', () => {
    const data: PageData = {
      title: HOSTILE,
      facts: [HOSTILE],
      answer: [HOSTILE],
      figures: [{ name: HOSTILE, value: HOSTILE, unit: HOSTILE, note: HOSTILE }],
      alerts: [HOSTILE],
      sections: [
        {
          id: HOSTILE,
          title: HOSTILE,
          words: [HOSTILE],
          chart: { type: 'bars', categories: [HOSTILE], y: { name: HOSTILE, kind: 'ms' }, series: [] },
          chartText: HOSTILE,
          table: { caption: HOSTILE, columns: [HOSTILE], rows: [[HOSTILE, HOSTILE]] },
          code: HOSTILE,
        },
      ],
    };
    const html = htmlPage(data, 'run()');
    expect(html).not.toContain('<img');
    expect(html.match(/<\/script/g)?.length).toBe(2);
    expect(html.match(/&lt;img/g)?.length).toBeGreaterThan(15);
  });

  it('lets its own script run and nothing be loaded', () => {
    const html = htmlPage(
      { title: 't', facts: [], answer: [], figures: [], alerts: [], sections: [] },
      'a("</script>")',
    );
    // printf 'a("<\\/script>")' | openssl dgst -sha256 -binary | base64
    expect(html).toContain("default-src 'none'; script-src 'sha256-/jPJa16Yh95ntaidXJ+0Zp76QeDqtwSlciHeK8TcQ/U='");
    expect(html).toContain('a("<\\/script>")');
    expect(html).not.toMatch(/(src|href)="?https?:/);
  });

  it('writes numbers with their digits', () => {
    expect(cellText({ value: 1234.567, digits: 2 })).toBe('1,234.57');
    expect(cellText({ value: 0, digits: 0 })).toBe('0');
    expect(cellText({ value: null, digits: 2 })).toBe('–');
    expect(cellText({ value: Number.NaN, digits: 2 })).toBe('–');
  });
});

describe('the command', () => {
  it('names what is not the default, quoted for a shell', () => {
    const line = commandLine('run', {
      max_concurrency: 24,
      num_prompts: 1000,
      seed: 0,
      request_rate: Number.POSITIVE_INFINITY,
      slo: ['ttft p99 < 100ms', "it's"],
      save_detailed: false,
      ignore_eos: true,
      label: null,
    });
    expect(line).toBe(
      "tabby-load run \\\n  --max-concurrency 24 \\\n  --ignore-eos \\\n  --slo 'ttft p99 < 100ms' 'it'\\''s'",
    );
  });
});
