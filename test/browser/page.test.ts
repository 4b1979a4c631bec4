/**
 * The report page in a real browser: opened from disk, with the network off. Skipped, and so counted, only where there is no Chromium.
 * Screenshots go to .tmp/screenshots.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SweepDocument } from '../../src/record/sweep.ts';
import { htmlPage } from '../../src/report/html-page.ts';
import { sweepPage } from '../../src/report/html-sweep.ts';
import { level as levelOf } from '../fixtures/sweep/level.ts';
import { runCli } from '../support/cli.ts';
import { BROWSER_PATH, marks, openPage, startBrowser } from './browser.ts';

const ROOT = join(import.meta.dirname, '../..');
const SHOTS = join(ROOT, '.tmp/screenshots');
const HOSTILE = '</script><img src=x onerror="globalThis.hit=1">';
const REQUESTS = 120;
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-page-'));
let browser: Browser;

/** What is read of the page from inside it. */
interface PageWorld {
  readonly document: {
    readonly documentElement: { readonly scrollWidth: number; readonly dataset: Readonly<Record<string, string>> };
    readonly activeElement: { readonly id: string; readonly textContent: string } | null;
    readonly body: object;
  };
  readonly innerWidth: number;
  getComputedStyle(element: object): { readonly backgroundColor: string };
}

/** A record file with what a page can be asked to show. Request i takes 100 + i ms to its first token; every tenth fails. */
function recordFile(name: string, extraMs: number): string {
  const path = join(dir, name);
  const requests = Array.from({ length: REQUESTS }, (_, i) => {
    const isFailed = i % 10 === 9;
    const ttft = (100 + i + extraMs) / 1000;
    const start = 5 + Math.floor(i / 8) * 0.6;
    const itl = isFailed ? [] : Array.from({ length: 20 }, (_, k) => 0.01 + (k === 7 ? 0.05 : 0));
    return {
      type: 'request',
      i,
      success: !isFailed,
      prompt_len: 50,
      output_tokens: isFailed ? null : 21,
      ttft: isFailed ? 0 : ttft,
      itl,
      latency: isFailed ? 0 : ttft + 0.25,
      start_time: start,
      arrival_time: start - 0.01,
      end: 0.4,
      error: isFailed ? `HTTP 500: ${HOSTILE}` : '',
      ...(isFailed ? { error_kind: 'http', status: 500 } : {}),
      category: i % 2 === 0 ? HOSTILE : 'qa',
      server: { prompt_time: 0.08, completion_time: 0.25, total_time: 0.35, queue_time: 0.02 },
    };
  });
  const header = {
    type: 'header',
    schema: 'tabby-load.records/1',
    version: '0.1.0',
    started_at: '2026-12-01T03:45:00.000Z',
    options: { model: HOSTILE, label: HOSTILE, max_concurrency: 8, num_prompts: REQUESTS },
    server: { kind: 'tabbyapi' },
    samples_sha256: 'ab'.repeat(32),
  };
  const frames = [header, ...requests, { type: 'end', duration_s: 9.3, interrupted: false }];
  writeFileSync(path, frames.map((frame) => JSON.stringify(frame)).join('\n'));
  return path;
}

const LEVELS = [1, 2, 4, 8, 16, 32, 64].map((level) =>
  levelOf({
    level,
    output_throughput: Math.min(level, 32) * 80,
    limits: [{ limit: 'ttft p99 < 300ms', value: 50 * Math.max(1, level / 16), bound: 300, kept: true }],
  }),
);

function sweepFile(): string {
  const document: SweepDocument = {
    schema: 'tabby-load.sweep/1',
    version: '0.1.0',
    started_at: '2026-12-01T03:45:00.000Z',
    axis: 'concurrency',
    asked: 'auto',
    samples_sha256: 'cd'.repeat(32),
    options: {},
    server: { kind: 'tabbyapi', model: HOSTILE },
    levels: LEVELS,
    answer: {
      knee: 32,
      knee_throughput: 2560,
      is_saturated: true,
      bound: 'batch_slots',
      bound_why: '',
      limits: null,
      goodput: null,
      words: ['Saturates at 32 streams with 2560 tokens/s.'],
    },
    complete: true,
  };
  const path = join(dir, 'sweep.html');
  writeFileSync(path, htmlPage(sweepPage(document), readFileSync(join(ROOT, 'dist/report-page.js'), 'utf8')));
  return path;
}

function open(path: string, more?: Parameters<typeof openPage>[2]): ReturnType<typeof openPage> {
  return openPage(browser, path, more);
}

describe.skipIf(BROWSER_PATH === null)('the report page in a browser', () => {
  let result: Record<string, unknown>;

  beforeAll(async () => {
    mkdirSync(SHOTS, { recursive: true });
    const records = recordFile('run.jsonl', 0);
    const report = await runCli(['report', records, '--html', join(dir, 'run.html'), '--json', join(dir, 'run.json')]);
    expect(report.code, report.stderr).toBe(0);
    result = JSON.parse(readFileSync(join(dir, 'run.json'), 'utf8'));
    const compare = await runCli([
      'compare',
      records,
      recordFile('slow.jsonl', 30),
      '--html',
      join(dir, 'compare.html'),
    ]);
    expect(compare.code, compare.stderr).toBe(0);
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it.each(['run', 'compare', 'sweep'])(
    '%s: opens from disk, asks for nothing, says nothing, and draws',
    async (name) => {
      const { page, said, asked } = await open(name === 'sweep' ? sweepFile() : join(dir, `${name}.html`));
      expect(said).toEqual([]);
      expect(asked.filter((url) => !url.startsWith('file:'))).toEqual([]);
      expect(asked.length).toBe(1);
      for (const id of await page
        .locator('[data-chart]')
        .evaluateAll((all) => all.map((one) => one.getAttribute('data-chart')))) {
        expect(await marks(page, String(id)), String(id)).toBeGreaterThan(5);
      }
      expect(
        await page.evaluate(
          () =>
            (globalThis as unknown as PageWorld).document.documentElement.scrollWidth <=
            (globalThis as unknown as PageWorld).innerWidth,
        ),
      ).toBe(true);
      await page.screenshot({ path: join(SHOTS, `${name}-light.png`), fullPage: true });
      await page.context().close();
    },
  );

  it('shows words from outside as text', async () => {
    const { page } = await open(join(dir, 'run.html'));
    expect(await page.title()).toContain(HOSTILE);
    expect(await page.locator('h1').textContent()).toContain(HOSTILE);
    expect(await page.locator('#errors').textContent()).toContain(HOSTILE);
    expect(await page.locator('[data-chart="categories"] svg').textContent()).toContain('<img');
    await page.locator('[data-chart="categories"]').hover();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.evaluate(() => 'hit' in globalThis)).toBe(false);
    await page.context().close();
  });

  it('shows the numbers of the result', async () => {
    const { page } = await open(join(dir, 'run.html'));
    const row = (name: string) =>
      page
        .locator('#latencies tbody tr')
        .filter({ has: page.getByRole('rowheader', { name, exact: true }) })
        .locator('td')
        .evaluateAll((cells) => cells.map((cell) => Number(cell.getAttribute('data-value'))));
    const [count, mean, median, , , p99] = await row('TTFT');
    expect(count).toBe(108);
    expect(mean).toBe(result['mean_ttft_ms']);
    expect(median).toBe(result['median_ttft_ms']);
    expect(p99).toBe(result['p99_ttft_ms']);
    expect((await row('ITL'))[1]).toBe(result['mean_itl_ms']);
    // 108 answers of 21 tokens in 9.3 s.
    expect(await page.locator('.figures').textContent()).toContain('243.9 tokens/s');
    expect(await page.locator('#errors tbody td.n').first().textContent()).toBe('12');
    expect(await page.locator('#command').textContent()).toContain('ab'.repeat(32));
    await page.context().close();
  });

  it('draws a bar for each part of each request, and the levels of a sweep with knee and limit', async () => {
    const run = await open(join(dir, 'run.html'));
    // Answered: queue, prompt, answer; failed: the failure alone. Of a closed loop the wait for a place is shown when asked for.
    const without = await marks(run.page, 'waterfall');
    expect(without).toBeGreaterThan(108 * 3 + 12);
    const legend = run.page.locator('[data-chart="waterfall"] svg');
    expect(await legend.textContent()).not.toContain('waiting for a place');
    await run.page.getByRole('button', { name: 'Show the wait for a place' }).press('Enter');
    // One bar more in each row but the first eight, which waited before time 0, and a name in the legend.
    expect(await marks(run.page, 'waterfall')).toBeGreaterThanOrEqual(without + REQUESTS - 8 + 1);
    expect(await legend.textContent()).toContain('waiting for a place at the client');
    await run.page.context().close();
    const sweep = await open(sweepFile());
    const text = await sweep.page.locator('[data-chart="saturation"] svg').textContent();
    for (const word of ['knee: 32', 'ttft p99 < 300ms', 'streams', 'tokens/s', 'TTFT p99'])
      expect(text).toContain(word);
    expect(await sweep.page.locator('#levels tbody tr').count()).toBe(LEVELS.length);
    await sweep.page.context().close();
  });

  it('can be used by the keys alone', async () => {
    const { page } = await open(join(dir, 'run.html'));
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => (globalThis as unknown as PageWorld).document.activeElement?.textContent)).toBe(
      'Skip to the results',
    );
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => (globalThis as unknown as PageWorld).document.activeElement?.id)).toBe('theme');
    await page.keyboard.press('Enter');
    expect(
      await page.evaluate(() => (globalThis as unknown as PageWorld).document.documentElement.dataset['theme']),
    ).toBe('dark');
    expect(await page.locator('#theme').getAttribute('aria-pressed')).toBe('true');
    const timeline = page.locator('[data-chart="timeline"]');
    await timeline.focus();
    await page.keyboard.press('+');
    expect(await timeline.getAttribute('data-shown')).toBe('25-75');
    await page.keyboard.press('ArrowRight');
    expect(await timeline.getAttribute('data-shown')).toBe('50-100');
    const curves = page.locator('[data-chart="percentiles"]');
    await curves.focus();
    await page.keyboard.press('2');
    expect(await curves.getAttribute('data-hidden')).toBe('TPOT');
    await page.keyboard.press('2');
    expect(await curves.getAttribute('data-hidden')).toBe('');
    const zoomIn = page.getByRole('button', { name: 'Show all: Timeline' });
    await zoomIn.focus();
    await page.keyboard.press('Enter');
    expect(await timeline.getAttribute('data-shown')).toBe('0-100');
    await page.context().close();
  });

  it('can be zoomed by the wheel with Ctrl, and by the slider', async () => {
    const { page } = await open(join(dir, 'run.html'));
    const chart = page.locator('[data-chart="waterfall"]');
    const place = async () => {
      await chart.scrollIntoViewIfNeeded();
      const found = await chart.boundingBox();
      if (found === null) throw new Error('no waterfall');
      return found;
    };
    let box = await place();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -400);
    await page.keyboard.up('Control');
    await expect.poll(() => chart.getAttribute('data-shown')).toMatch(/^[1-9]\d*-\d\d$/);
    await page.getByRole('button', { name: 'Show all: Requests' }).click();
    expect(await chart.getAttribute('data-shown')).toBe('0-100');
    // The handle at the left end of the slider below the plot.
    box = await place();
    await page.mouse.move(box.x + 66, box.y + box.height - 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height - 20, { steps: 8 });
    await page.mouse.up();
    await expect.poll(() => chart.getAttribute('data-shown')).toMatch(/^[1-9]\d-100$/);
    await page.context().close();
  });

  it('tells by words what a chart shows, and names its regions', async () => {
    const { page } = await open(join(dir, 'run.html'));
    const charts = await page
      .locator('[data-chart]')
      .evaluateAll((all) => all.map((one) => [one.getAttribute('role'), one.getAttribute('aria-label') ?? '']));
    expect(charts.length).toBeGreaterThan(6);
    for (const [role, label] of charts) expect([role, (label as string).length > 25]).toEqual(['img', true]);
    for (const landmark of ['main', 'nav', 'header']) expect(await page.locator(landmark).count()).toBe(1);
    expect(await page.locator('table:not(:has(caption))').count()).toBe(0);
    await page.context().close();
  });

  it('follows the system into the dark, and fits a narrow window', async () => {
    const dark = await open(join(dir, 'run.html'), { scheme: 'dark' });
    expect(
      await dark.page.evaluate(
        () =>
          (globalThis as unknown as PageWorld).getComputedStyle((globalThis as unknown as PageWorld).document.body)
            .backgroundColor,
      ),
    ).toBe('rgb(20, 23, 27)');
    await dark.page.screenshot({ path: join(SHOTS, 'run-dark.png'), fullPage: true });
    await dark.page.context().close();
    const narrow = await open(join(dir, 'run.html'), { width: 380 });
    expect(
      await narrow.page.evaluate(() => (globalThis as unknown as PageWorld).document.documentElement.scrollWidth),
    ).toBeLessThanOrEqual(380);
    await narrow.page.screenshot({ path: join(SHOTS, 'run-narrow.png'), fullPage: true });
    await narrow.page.context().close();
  });

  it('is small', () => {
    expect(readFileSync(join(dir, 'run.html')).length).toBeLessThan(1_000_000);
  });
});
