// Writes the options section of README.md from the options table, between its two markers. With --check it changes nothing and
// fails when the section is not up to date.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const START = '<!-- options: made by npm run readme -->';
const END = '<!-- /options -->';

/** The section as the table gives it. Node 20 cannot import TypeScript, so it is bundled in memory first. */
async function section() {
  const { outputFiles } = await build({
    entryPoints: [`${root}src/options/markdown.ts`],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  });
  const code = Buffer.from(outputFiles[0].contents).toString('base64');
  const { optionsMarkdown } = await import(`data:text/javascript;base64,${code}`);
  return optionsMarkdown();
}

const file = `${root}README.md`;
const readme = await readFile(file, 'utf8');
const from = readme.indexOf(START);
const to = readme.indexOf(END);
if (from < 0 || to < from) {
  process.stderr.write(`README.md lacks the markers\n${START}\n${END}\n`);
  process.exit(1);
}
const wanted = `${readme.slice(0, from + START.length)}\n\n${await section()}\n${readme.slice(to)}`;
if (wanted !== readme && process.argv.includes('--check')) {
  process.stderr.write('The options in README.md are not those of the table: run npm run readme\n');
  process.exit(1);
}
await writeFile(file, wanted);
