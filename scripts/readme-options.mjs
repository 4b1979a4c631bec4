// Writes the sections of README.md that are made from tables in the sources, between their markers. With --check it changes nothing
// and fails when a section is not up to date.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Name of a section, the source it is made from, and how. */
const SECTIONS = [
  { name: 'options', source: 'src/options/markdown.ts', make: ({ optionsMarkdown }) => optionsMarkdown() },
  { name: 'faults', source: 'src/mock/faults.ts', make: ({ FAULTS }) => faultsTable(FAULTS) },
];

function faultsTable(faults) {
  const rows = Object.entries(faults).map(([kind, { help }]) => `| \`${kind}\` | ${help} |`);
  return ['| KIND | what the server does |', '| --- | --- |', ...rows, ''].join('\n');
}

/** A module of the sources. Node 20 cannot import TypeScript, so it is bundled in memory first. */
async function load(source) {
  const { outputFiles } = await build({
    entryPoints: [`${root}${source}`],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const file = `${root}README.md`;
const before = await readFile(file, 'utf8');
let readme = before;
for (const { name, source, make } of SECTIONS) {
  const start = `<!-- ${name}: made by npm run readme -->`;
  const end = `<!-- /${name} -->`;
  const from = readme.indexOf(start);
  const to = readme.indexOf(end);
  if (from < 0 || to < from) {
    process.stderr.write(`README.md lacks the markers\n${start}\n${end}\n`);
    process.exit(1);
  }
  readme = `${readme.slice(0, from + start.length)}\n\n${make(await load(source))}\n${readme.slice(to)}`;
}
if (readme !== before && process.argv.includes('--check')) {
  process.stderr.write('README.md is not what the tables in the sources say: run npm run readme\n');
  process.exit(1);
}
await writeFile(file, readme);
