/** Writes the page of `--html`. */
import { readFile } from 'node:fs/promises';
import { messageOf, usageError } from '../errors.ts';
import type { PageData } from '../report/html-data.ts';
import { htmlPage } from '../report/html-page.ts';
import { writeWhole } from '../report/result-file.ts';
import { printable, printErr } from '../report/terminal.ts';
import { concealed } from '../secrets.ts';

/** Where the script of the page lies: beside the bundle, or in dist/ where the sources run as they are. */
const SCRIPTS = ['./report-page.js', '../../dist/report-page.js'] as const;

/** The script that draws the charts. */
export async function pageScript(): Promise<string> {
  let trouble: unknown = null;
  for (const path of SCRIPTS) {
    try {
      return await readFile(new URL(path, import.meta.url), 'utf8');
    } catch (error) {
      trouble = error;
    }
  }
  throw usageError(
    `--html: the script of the page is missing: ${messageOf(trouble)}`,
    'Install tabby-load anew, or run "npm run build".',
    trouble,
  );
}

/**
 * Writes the page, whole or not at all.
 * @param secrets texts that must not be in it, wherever they come from: a server may repeat a key in its words
 * @throws a usage error when the file cannot be written
 */
export async function putHtml(path: string, data: PageData, secrets: readonly string[]): Promise<void> {
  const clean = concealed(data, secrets) as PageData;
  await writeWhole(path, [htmlPage(clean, await pageScript())], '--html');
  printErr(`tabby-load: html: ${printable(path)}`);
}
