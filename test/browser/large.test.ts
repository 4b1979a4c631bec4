/** Pages of unusual runs in a real browser: a hundred thousand requests, values that were not kept, repeats, two sweeps. */
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SweepDocument } from '../../src/record/sweep.ts';
import { sweepsComparePage } from '../../src/report/html-compare-sweeps.ts';
import type { DotChart, PageChart, WaterfallRow, XyChart } from '../../src/report/html-data.ts';
import { htmlPage } from '../../src/report/html-page.ts';
import { level as levelOf } from '../fixtures/sweep/level.ts';
import { runCli } from '../support/cli.ts';
import { SAMPLE } from '../support/play-endings.ts';
import { complete, startScripted } from '../support/scripted-server.ts';
import { BROWSER_PATH, marks, openPage, startBrowser } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const SHOTS = join(ROOT, '.tmp/screenshots');
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-large-'));
const file = (name: string): string => join(dir, name);

const REQUESTS = 100_000;
/** Sent so many per second. */
const RATE = 200;
/** The one that waits 9 s for its first token, and the burst in which every request fails. */
const SLOWEST = 77_777;
const BURST = { from: 40_000, to: 40_500 } as const;

async function writeRecords(path: string): Promise<void> {
  const out = createWriteStream(path);
  const header = {
    type: 'header',
    schema: 'tabby-load.records/1',
    started_at: '2026-12-01T03:45:00.000Z',
    options: { model: 'm', request_rate: RATE, num_prompts: REQUESTS },
  };
  out.write(`${JSON.stringify(header)}\n`);
  let lines: string[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const start = 5 + i / RATE;
    const isFailed = i >= BURST.from && i < BURST.to;
    const ttft = i === SLOWEST ? 9 : 0.05 + (i % 97) / 1000;
    const itl = [0.01, 0.012, i % 1000 === 0 ? 0.5 : 0.011];
    const gaps = itl.reduce((sum, gap) => sum + gap, 0);
    const own = isFailed
      ? {
          success: false,
          output_tokens: null,
          ttft: 0,
          itl: [],
          latency: 0,
          end: 0.1,
          error: 'HTTP 503',
          error_kind: 'http',
        }
      : { success: true, output_tokens: 4, ttft, itl, latency: ttft + gaps, end: ttft + gaps, error: '' };
    lines.push(JSON.stringify({ type: 'request', i, prompt_len: 9, start_time: start, arrival_time: start, ...own }));
    if (lines.length < 5000) continue;
    out.write(`${lines.join('\n')}\n`);
    lines = [];
  }
  out.end(`${JSON.stringify({ type: 'end', duration_s: REQUESTS / RATE, interrupted: false })}\n`);
  await finished(out);
}

async function chartsOf(page: Page): Promise<Readonly<Record<string, PageChart>>> {
  return JSON.parse((await page.locator('#charts').textContent()) ?? '');
}

function seriesOf(charts: Readonly<Record<string, PageChart>>, id: string, name: string): (number | null)[] {
  const found = (charts[id] as XyChart).panels.flatMap(({ series }) => series).find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${name} in ${id}`);
  return found.points.map(([, y]) => y);
}

const most = (values: readonly (number | null)[]): number => Math.max(...values.map((value) => value ?? 0));

describe.skipIf(BROWSER_PATH === null)('pages of unusual runs', () => {
  let browser: Browser;
  beforeAll(async () => {
    mkdirSync(SHOTS, { recursive: true });
    browser = await startBrowser();
    await writeRecords(file('large.jsonl'));
  }, 30_000);
  afterAll(async () => {
    await browser?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('a hundred thousand requests: below 2 MB, nothing on the console, and the extremes are there', async () => {
    const report = await runCli(['report', file('large.jsonl'), '--html', file('large.html'), '--quiet']);
    expect(report.code, report.stderr).toBe(0);
    expect(statSync(file('large.html')).size).toBeLessThan(2_000_000);
    const { page, said } = await openPage(browser, file('large.html'));
    expect(said).toEqual([]);
    const charts = await chartsOf(page);
    expect(most(seriesOf(charts, 'timeline', 'TTFT, longest'))).toBe(9000);
    // 500 failures in 2.5 s of 509: in at most three slices of 2.1 s.
    const errors = seriesOf(charts, 'timeline', 'failed requests').filter((count) => count !== 0);
    expect(errors.reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(500);
    expect(errors.length).toBeLessThanOrEqual(3);
    expect(most(seriesOf(charts, 'percentiles', 'TTFT'))).toBe(9000);
    expect(most(seriesOf(charts, 'percentiles', 'ITL'))).toBe(500);
    const rows = (charts['waterfall'] as { rows: readonly WaterfallRow[] }).rows;
    expect(rows.find(([index]) => index === SLOWEST)?.[4]).toBeCloseTo(SLOWEST / RATE + 9, 2);
    expect(rows.some(([index, , , , , , failed]) => failed === 1 && index >= BURST.from && index < BURST.to)).toBe(
      true,
    );
    expect(await marks(page, 'timeline')).toBeGreaterThan(100);
    expect(await page.locator('#errors tbody td.n').first().textContent()).toBe('500');
    await page.screenshot({ path: join(SHOTS, 'large.png'), fullPage: true });
    await page.context().close();
  }, 30_000);

  it('values that were not kept: curves from histograms, said as such', async () => {
    const args = ['report', file('large.jsonl'), '--max-exact-values', '1000', '--quiet'];
    const report = await runCli([...args, '--html', file('hdr.html'), '--json', file('hdr.json')]);
    expect(report.code, report.stderr).toBe(0);
    const result = JSON.parse(readFileSync(file('hdr.json'), 'utf8'));
    const { page, said } = await openPage(browser, file('hdr.html'));
    expect(said).toEqual([]);
    expect(await page.locator('#percentiles').textContent()).toContain('from HDR histograms');
    const charts = await chartsOf(page);
    const curve = (charts['percentiles'] as XyChart).panels[0]?.series[0]?.points ?? [];
    const p99 = curve.findLast(([x]) => x <= 100)?.[1] as number;
    expect(Math.abs(p99 - result.p99_ttft_ms) / result.p99_ttft_ms).toBeLessThan(0.02);
    expect(most(seriesOf(charts, 'percentiles', 'TTFT'))).toBeGreaterThan(8990);
    for (const id of ['percentiles', 'histogram-ttft', 'histogram-itl'])
      expect(await marks(page, id)).toBeGreaterThan(5);
    await page.context().close();
  }, 30_000);

  it('--num-runs: a row for each figure with a dot for each run; the command as it was typed', async () => {
    const server = await startScripted((reply) => complete(reply, 4));
    const words = ['--base-url', server.url, '--dataset', SAMPLE, '--num-prompts', '4', '--concurrency', '2'];
    const more = ['--num-runs', '3', '--html', file('runs.html'), '--json', file('runs.json'), '--quiet'];
    const run = await runCli([...words, ...more]);
    await server.close();
    expect(run.code, run.stderr).toBe(0);
    const { repeats } = JSON.parse(readFileSync(file('runs.json'), 'utf8')).tabby_load;
    const { page, said } = await openPage(browser, file('runs.html'));
    expect(said).toEqual([]);
    const cells = await page
      .locator('#repeats tbody tr')
      .filter({ has: page.getByRole('rowheader', { name: 'mean_ttft_ms', exact: true }) })
      .locator('td')
      .evaluateAll((all) => all.map((cell) => Number(cell.getAttribute('data-value'))));
    const figures = repeats.find(({ key }: { key: string }) => key === 'mean_ttft_ms');
    expect(cells.slice(0, 4)).toEqual([...figures.values, figures.mean]);
    expect(cells.slice(6)).toEqual([figures.low, figures.high]);
    // Three dots in each row that is drawn.
    const chart = (await chartsOf(page))['repeats'] as DotChart;
    expect(chart.series[0]?.points.length).toBe(3 * chart.categories.length);
    expect(await marks(page, 'repeats')).toBeGreaterThan(3 * chart.categories.length);
    const code = (await page.locator('#command code').textContent()) ?? '';
    expect(code.replaceAll(' \\\n  ', ' ')).toBe(`tabby-load ${[...words, ...more].join(' ')}`);
    await page.context().close();
  }, 30_000);

  it('two sweeps: both in each plot, with their knees', async () => {
    const sweep = (scale: number, knee: number): SweepDocument => ({
      schema: 'tabby-load.sweep/1',
      version: '0.1.0',
      started_at: '2026-12-01T03:45:00.000Z',
      axis: 'concurrency',
      asked: 'auto',
      samples_sha256: 'cd',
      options: {},
      server: {},
      levels: [1, 2, 4, 8].map((level) => levelOf({ level, output_throughput: Math.min(level, knee) * scale })),
      answer: {
        knee,
        knee_throughput: knee * scale,
        is_saturated: true,
        bound: null,
        bound_why: '',
        limits: null,
        goodput: null,
        words: [],
      },
      complete: true,
    });
    const sides = [
      { name: 'old', document: sweep(100, 2) },
      { name: 'new', document: sweep(120, 4) },
    ];
    const data = sweepsComparePage(sides, [], 0.02, ['compare', 'old', 'new']);
    writeFileSync(file('sweeps.html'), htmlPage(data, readFileSync(join(ROOT, 'dist/report-page.js'), 'utf8')));
    const { page, said } = await openPage(browser, file('sweeps.html'), { width: 400 });
    expect(said).toEqual([]);
    const text = await page.locator('[data-chart="curves"] svg').textContent();
    for (const word of ['knee A: 2', 'knee B: 4', 'TTFT p99 A', 'TPOT median B']) expect(text).toContain(word);
    expect(await page.locator('.figures').textContent()).toContain('480.0 tokens/s');
    await page.screenshot({ path: join(SHOTS, 'sweeps-narrow.png'), fullPage: true });
    await page.context().close();
  });
});
