/** A real browser for the tests of the report page: Debian's Chromium, or the one that CHROMIUM names. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'] as const;

/** Path of the browser; null when there is none. */
export const BROWSER_PATH: string | null =
  [process.env['CHROMIUM'] ?? '', ...PLACES].find((path) => path !== '' && existsSync(path)) ?? null;

/** Starts it without a window. Its sandbox needs rights that a container seldom has, and it sees our own pages only. */
export function startBrowser(): Promise<Browser> {
  if (BROWSER_PATH === null) throw new Error('no Chromium');
  return chromium.launch({ executablePath: BROWSER_PATH, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A page and what it did. */
export interface Opened {
  readonly page: Page;
  /** Errors of the page and words on its console. */
  readonly said: string[];
  /** Addresses that it asked for. */
  readonly asked: string[];
}

/** Opens a page from disk, with the network off, and waits for the first chart. */
export async function openPage(
  browser: Browser,
  path: string,
  more: { readonly scheme?: 'light' | 'dark'; readonly width?: number } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    offline: true,
    colorScheme: more.scheme ?? 'light',
    viewport: { width: more.width ?? 1200, height: 900 },
  });
  const page = await context.newPage();
  const said: string[] = [];
  const asked: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(error.message));
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(`file://${path}`);
  await page.locator('[data-chart] svg').first().waitFor();
  return { page, said, asked };
}

/** Marks drawn in a chart: shapes with a colour of their own. */
export function marks(page: Page, id: string, selector = 'path'): Promise<number> {
  return page.locator(`[data-chart="${id}"] svg ${selector}`).count();
}
