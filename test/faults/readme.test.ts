/** The README shows the endings as they are tested. `UPDATE_README=1` writes them there. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { ENDINGS, type Ending } from '../support/endings.ts';
import { RETRIED, REUSED } from '../support/fault-endings.ts';

const path = fileURLToPath(new URL('../../README.md', import.meta.url));
const BEGIN = '<!-- endings: UPDATE_README=1 npx vitest run test/faults/readme.test.ts -->';
const END = '<!-- /endings -->';

function row({ name, expected, told }: Ending): string {
  const kind = expected.kind === null ? 'success' : `\`${expected.kind}\``;
  const kept = expected.partial === undefined ? '' : 'timings of its tokens are kept apart';
  const hits = (expected.hits ?? 1) > 1 && told === undefined ? `after ${expected.hits} tries` : '';
  const notes = [told ?? '', hits, kept].filter((note) => note !== '');
  return `| ${name.replaceAll('|', '\\|')} | ${kind}${notes.length > 0 ? `: ${notes.join('; ')}` : ''} |`;
}

function table(): string {
  const part = (title: string, endings: readonly Ending[]) => [`| **${title}** | |`, ...endings.map(row)];
  return [
    '| the server | the program |',
    '|---|---|',
    ...ENDINGS.map(row),
    ...part('with `--retries 2`', RETRIED),
    ...part('on a kept connection, one after the other', REUSED),
  ].join('\n');
}

it('the endings in the README are those that are tested', () => {
  const readme = readFileSync(path, 'utf8');
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  expect(from).toBeGreaterThan(0);
  expect(to).toBeGreaterThan(from);
  const wanted = `${BEGIN}\n\n${table()}\n\n`;
  if (process.env['UPDATE_README'] === '1') writeFileSync(path, readme.slice(0, from) + wanted + readme.slice(to));
  else expect(readme.slice(from, to)).toBe(wanted);
});
