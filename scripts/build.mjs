// Bundles the entry points (main, and one per kind of thread) into dist/ with esbuild. Libraries that are plain JavaScript are bundled, so that
// an installed tabby-load needs no install scripts and starts fast; undici and piscina stay ordinary dependencies
// (piscina needs its own worker file on disk, and undici should be patchable by `npm update`).
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const pkg = JSON.parse(await readFile(`${root}package.json`, 'utf8'));

// Built beside the last build and put in its place at the end: a mistake in the sources must not leave nothing behind.
const out = `.tmp/build-${process.pid}`;
await mkdir(`${root}${out}`, { recursive: true });

const result = await build({
  absWorkingDir: root,
  entryPoints: { main: 'src/main.ts', worker: 'src/worker.ts', 'tokenizer-thread': 'src/dataset/tokenizer-thread.ts' },
  outdir: out,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: Object.keys(pkg.dependencies),
  // CommonJS libraries in an ESM bundle still call require() for node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
  define: { 'process.env.TABBY_LOAD_VERSION': JSON.stringify(pkg.version) },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
}).catch(async () => {
  // esbuild has said what is wrong.
  await rm(`${root}${out}`, { recursive: true, force: true });
  process.exit(1);
});

// The script of the report page runs in browsers. It is read only when a page is written.
const page = await build({
  absWorkingDir: root,
  entryPoints: { 'report-page': 'page/draw.ts' },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'iife',
  platform: 'browser',
  target: 'es2020',
  define: { 'process.env.NODE_ENV': '"production"' },
  // Pages are sent to others: the notices of the libraries go along.
  banner: {
    js: '/*! Charts: Apache ECharts (https://echarts.apache.org), Copyright The Apache Software Foundation, Apache License 2.0; zrender, Copyright (c) 2017 Baidu Inc., BSD-3-Clause */',
  },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
}).catch(async () => {
  await rm(`${root}${out}`, { recursive: true, force: true });
  process.exit(1);
});

// The licences of what was bundled travel with it.
const bundled = new Set();
for (const input of [...Object.keys(result.metafile.inputs), ...Object.keys(page.metafile.inputs)]) {
  const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (match) bundled.add(match[1]);
}
const notices = [];
for (const name of [...bundled].sort()) {
  const dir = `${root}node_modules/${name}/`;
  const meta = JSON.parse(await readFile(`${dir}package.json`, 'utf8'));
  let text = '';
  for (const file of ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license', 'LICENCE', 'License']) {
    text = await readFile(`${dir}${file}`, 'utf8').catch(() => '');
    if (text) break;
  }
  notices.push(`${name} ${meta.version} (${meta.license ?? 'see below'})\n\n${text.trim()}\n`);
}
await writeFile(`${root}${out}/THIRD_PARTY_NOTICES.txt`, notices.join(`\n${'-'.repeat(78)}\n\n`));
await chmod(`${root}${out}/main.js`, 0o755);
await rm(`${root}dist`, { recursive: true, force: true });
await rename(`${root}${out}`, `${root}dist`);
