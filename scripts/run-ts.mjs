// Runs a TypeScript file: node scripts/run-ts.mjs FILE ARGS… (Node 20 does not strip types itself). The bundle lies beside the file while
// it runs, so that paths relative to it stay right.
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const [entry, ...rest] = process.argv.slice(2);
const source = resolve(root, entry);
const bundle = join(dirname(source), `.run-${process.pid}.mjs`);
try {
  await build({
    absWorkingDir: root,
    entryPoints: [source],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  });
  process.argv = [process.argv[0], source, ...rest];
  await import(pathToFileURL(bundle).href);
} finally {
  await rm(bundle, { force: true });
}
