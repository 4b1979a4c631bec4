// Runs a TypeScript file of this folder: node bench/dataset-run.mjs bench/NAME.ts ARGS… (Node 20 does not strip types itself).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const [entry, ...rest] = process.argv.slice(2);
const dir = await mkdtemp(join(tmpdir(), 'tabby-load-bench-'));
try {
  await build({
    absWorkingDir: root,
    entryPoints: { bench: entry, 'tokenizer-thread': 'src/dataset/tokenizer-thread.ts' },
    outdir: dir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  process.argv = [process.argv[0], join(dir, 'bench.mjs'), ...rest];
  await import(pathToFileURL(join(dir, 'bench.mjs')).href);
} finally {
  await rm(dir, { recursive: true, force: true });
}
