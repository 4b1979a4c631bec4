// `npm run fuzz -- [SECONDS]`: every property of test/fuzz for so long each (60 when left out), and the inputs that are too large for `npm test`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const seconds = Number(process.argv[2] ?? 60);
if (!(seconds > 0)) {
  process.stderr.write(`fuzz: ${process.argv[2]} is not a number of seconds\n`);
  process.exit(2);
}
const { status } = spawnSync('npx', ['--no-install', 'vitest', 'run', 'test/fuzz'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, FUZZ_SECONDS: String(seconds) },
});
process.exit(status ?? 1);
