/** A real browser for the tests of the report page: Debian's Chromium, or the one that CHROMIUM names. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'] as const;

/** Path of the browser; null when there is none. */
export const BROWSER_PATH: string | null =
  [process.env['CHROMIUM'] ?? '', ...PLACES].find((path) => path !== '' && existsSync(path)) ?? null;

/** Starts it without a window. Its sandbox needs rights that a container seldom has, and it sees our own pages only. */
export function startBrowser(): Promise<Browser> {
  if (BROWSER_PATH === null) throw new Error('no Chromium');
  return chromium.launch({ executablePath: BROWSER_PATH, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
