import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DetailViews, View } from '../../src/aggregate/summary.ts';
import { binned, datasetPage, tallest } from '../../src/report/plot-dataset.ts';
import { htmlText, ticks } from '../../src/report/plot-html.ts';
import { chosenRows, stretchesOf, timelinePage } from '../../src/report/plot-timeline.ts';

interface Row {
  readonly start: number;
  readonly ttft: number;
  readonly gaps: readonly number[];
  readonly prompt?: number;
  readonly output?: number;
  readonly failed?: boolean;
}

function views(rows: readonly Row[], more: Partial<DetailViews> = {}): DetailViews {
  const view = <T>(read: (row: Row) => T): View<T> => ({ length: rows.length, at: (i) => read(rows[i] as Row) });
  return {
    inputLens: view(({ prompt }) => prompt ?? 10),
    outputLens: view(({ output }) => output ?? 5),
    ttfts: view(({ ttft }) => ttft),
    itls: view(({ gaps }) => Float64Array.from(gaps)),
    latencies: view(({ ttft, gaps }) => gaps.reduce((sum, gap) => sum + gap, ttft)),
    startTimes: view(({ start }) => start),
    queueTimes: view(() => 0),
    generatedTexts: view(() => ''),
    errors: view(() => ''),
    successes: view(({ failed }) => failed !== true),
    ...more,
  };
}

const HEAD = { model: 'org/model', label: null, date: '20261201-034500' };
const ROWS: readonly Row[] = [
  { start: 100, ttft: 1, gaps: [0.01, 0.01, 0.03, 0.05, 0.1, 0.01] },
  { start: 102, ttft: 0.5, gaps: [] },
  { start: 102.5, ttft: 0, gaps: [], failed: true },
];

/** Drawn stretches of a page by class: [x, width] in px. */
function drawn(html: string, kind: string): number[][][] {
  return [...html.matchAll(new RegExp(`<path class="${kind}" d="([^"]*)"`, 'g'))].map(([, path]) =>
    [...(path as string).matchAll(/M(\S+) \S+?h([\d.]+)/g)].map(([, x, width]) => [Number(x), Number(width)]),
  );
}

describe('a page', () => {
  it.each([
    ['timeline', () => timelinePage(views(ROWS), [25, 50], HEAD)],
    ['data set', () => datasetPage(views(ROWS), HEAD)],
  ])('of the %s needs nothing but itself', (_, make) => {
    const html = make();
    expect(html.startsWith('<!DOCTYPE html>')).toBe(true);
    expect(html).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\bsrc=|\bhref=|https?:|\son\w+=/i);
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
    // Every tag that is opened is closed.
    const open = [...html.matchAll(/<([a-z]+\d?)(?=[\s>])[^>]*?(\/?)>/g)].filter(
      ([, name, end]) => name !== 'meta' && end === '',
    );
    expect(open.length).toBe([...html.matchAll(/<\/[a-z]+\d?>/g)].length);
  });

  it('shows texts from outside as they are', () => {
    const nasty = `</title><script>alert("x")</script> & 'y' \u0007\u001b[31m`;
    const head = { model: nasty, label: nasty, date: nasty };
    for (const html of [timelinePage(views(ROWS), [25, 50], head), datasetPage(views(ROWS), head)]) {
      expect(html).not.toContain('<script');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
      expect(html).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
      expect(html).toContain('&lt;/title&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;y&#39;');
    }
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => !/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/.test(htmlText(text))),
    );
  });

  it('has round values on its axes', () => {
    expect(ticks(0, 10, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(ticks(0, 0.7, 7)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    expect(ticks(480.5, 530, 5)).toEqual([490, 500, 510, 520, 530]);
    expect(ticks(3, 3, 5)).toEqual([3]);
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (to) => {
        const found = ticks(0, to, 10);
        return found.length >= 4 && found.length <= 12 && found.every((tick) => tick <= to * 1.000001);
      }),
    );
  });
});

describe('the timeline', () => {
  it('draws each request from its sending to its last token, by class of gap', () => {
    const html = timelinePage(views(ROWS), [25, 50], HEAD);
    // 1,100 px are the 2.5 s to the end of the second request: 440 px per second.
    expect(drawn(html, 't')).toEqual([[[0, 440]], [[880, 220]]]);
    // Gaps of 10, 10 and, later, 10 ms; 30 ms; 50 and 100 ms. The limits belong to the upper class.
    expect(drawn(html, 'g')).toEqual([
      [
        [440, 8.8],
        [528, 4.4],
      ],
    ]);
    expect(drawn(html, 'm')).toEqual([[[448.8, 13.2]]]);
    expect(drawn(html, 'b')).toEqual([[[462, 66]]]);
    expect(html).toContain(
      '<title>Request 0: 0.000 s to 1.210 s; first token after 1000.0 ms, longest gap 100.0 ms; 10 prompt, 5 output tokens</title>',
    );
    expect(html).toContain('Request 2: failed; sent at 2.500 s');
    expect(html).toContain('gaps below 25 ms');
  });

  it('keeps to the limits given', () => {
    const html = timelinePage(views(ROWS), [5, 1000], HEAD);
    expect(drawn(html, 'g')).toEqual([]);
    expect(drawn(html, 'b')).toEqual([]);
    expect(drawn(html, 'm')).toEqual([[[440, 92.4]]]);
  });

  it('lets no bad gap vanish, however long the run', () => {
    const html = timelinePage(
      views([
        { start: 0, ttft: 1, gaps: [0.06] },
        { start: 9999, ttft: 1, gaps: [] },
      ]),
      [25, 50],
      HEAD,
    );
    expect(drawn(html, 'b')).toEqual([[[0.1, 0.8]]]);
  });

  it('thins a row out without losing its worst gaps, whatever they are', () => {
    const gap = fc.constantFrom(0.001, 0.01, 0.03, 0.2);
    fc.assert(
      fc.property(fc.array(gap, { minLength: 1, maxLength: 300 }), fc.integer({ min: 16, max: 64 }), (gaps, most) => {
        const found = stretchesOf(views([{ start: 0, ttft: 0.5, gaps }]), 0, [25, 50], most);
        expect(found.length).toBeLessThanOrEqual(most);
        expect(found[0]).toEqual({ fromS: 0, toS: 0.5, kind: 't' });
        // Without a hole, to the end.
        for (const [k, { fromS }] of found.slice(1).entries()) expect(fromS).toBeCloseTo(found[k]?.toS ?? 0, 9);
        expect(found.at(-1)?.toS).toBeCloseTo(
          gaps.reduce((sum, g) => sum + g, 0.5),
          9,
        );
        // In the middle of each bad gap the row is bad.
        let at = 0.5;
        for (const each of gaps) {
          const middle = at + each / 2;
          const shown = found.find(({ fromS, toS }) => fromS <= middle && toS > middle)?.kind;
          if (each === 0.2) expect(shown).toBe('b');
          if (each === 0.03) expect(['m', 'b']).toContain(shown);
          at += each;
        }
      }),
    );
  });

  it('leaves requests out of a large run, but not the slowest', () => {
    const rows = Array.from({ length: 5000 }, (_, i) => ({
      start: i,
      ttft: i === 1234 ? 9 : 0.1,
      gaps: i === 2345 ? [0.01, 5] : i === 3456 ? new Array<number>(2000).fill(0.01) : [0.01],
    }));
    const chosen = chosenRows(views(rows), 120);
    expect(chosen.length).toBeLessThanOrEqual(120);
    expect(new Set(chosen).size).toBeGreaterThan(100);
    expect([...chosen].sort((a, b) => a - b)).toEqual(chosen);
    for (const i of [0, 1234, 2345, 3456, 4999]) expect(chosen).toContain(i);
    // Nowhere a large hole.
    expect(Math.max(...chosen.slice(1).map((i, k) => i - (chosen[k] as number)))).toBeLessThan(300);
    expect(chosenRows(views(rows.slice(0, 7)), 120)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('stays below 2 MB', () => {
    // The worst for its size: classes change with every gap.
    const gaps = Array.from({ length: 400 }, (_, k) => [0.01, 0.03, 0.06][k % 3] as number);
    const rows = Array.from({ length: 20_000 }, (_, i) => ({
      start: i / 7,
      ttft: 0.123456,
      gaps,
      prompt: 123_456,
      output: 65_536,
    }));
    const detail = views(rows);
    const html = timelinePage(detail, [25, 50], HEAD);
    expect(html.length).toBeLessThan(2_000_000);
    expect(html).toMatch(/1,(4\d\d|500) of 20,000 requests: the slowest/);
    expect(datasetPage(detail, HEAD).length).toBeLessThan(200_000);
  });

  it('does without gaps that were not kept, and without requests', () => {
    const html = timelinePage(views(ROWS, { itls: null, latencies: { length: 3, at: () => 2 } }), [25, 50], HEAD);
    expect(drawn(html, 'n').length).toBe(2);
    expect(html).toContain('--max-exact-values');
    expect(timelinePage(views([]), [25, 50], HEAD)).toContain('0 requests');
    expect(datasetPage(views([]), HEAD)).toContain('0 requests');
  });
});

describe('the lengths', () => {
  it('are binned as numpy does', () => {
    // numpy.histogram([1, 2, 2, 4], bins=3) and numpy.histogram([7, 7], bins=2)
    expect(binned([1, 2, 2, 4], 3)).toEqual({ from: 1, to: 4, counts: [1, 2, 1] });
    expect(binned([7, 7], 2)).toEqual({ from: 6.5, to: 7.5, counts: [0, 2] });
    fc.assert(
      fc.property(fc.array(fc.nat(5000)), fc.integer({ min: 1, max: 40 }), (values, bins) => {
        expect(binned(values, bins).counts.reduce((sum, count) => sum + count, 0)).toBe(values.length);
      }),
    );
  });

  it('are shown for each request, or for the largest of its neighbours', () => {
    expect(tallest([1, 5, 2, 9, 3], [0, 0, 9, 0, 0], 5)).toEqual([0, 1, 2, 3, 4]);
    expect(tallest([1, 5, 2, 9, 3, 1], [0, 0, 9, 0, 0, 9], 3)).toEqual([1, 2, 5]);
    const html = datasetPage(
      views([
        { ...(ROWS[0] as Row), prompt: 100, output: 50 },
        { ...(ROWS[1] as Row), prompt: 20, output: 30 },
      ]),
      HEAD,
    );
    expect(html).toContain('Prompt tokens: 20 to 100, mean 60.0');
    expect(html).toContain('Output tokens: 30 to 50, mean 40.0');
    expect(html).toContain('Prompt and output tokens: 50 to 150, mean 100.0');
    expect(html).toContain('<title>Request 1: 20 prompt, 30 output tokens</title>');
  });
});
