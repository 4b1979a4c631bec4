/**
 * How long `tabby-load --help` takes beside an empty Node: `npm run bench:startup`. Both in turns, medians; exit code 1 when the program takes
 * more than twice as long plus 60 ms.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROUNDS = 15;
const ALLOWED_MS = 60;
const program = process.env['TABBY_LOAD'] ?? fileURLToPath(new URL('dist/main.js', `file://${process.cwd()}/`));

function timeMs(args: readonly string[]): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${String(status)}: ${stderr.toString()}`);
  return performance.now() - begun;
}

const cases = [
  ['node -e 0', ['-e', '0']],
  ['tabby-load --version', [program, '--version']],
  ['tabby-load --help', [program, '--help']],
] as const;
const times = cases.map((): number[] => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [k, [, args]] of cases.entries()) times[k]?.push(timeMs(args));
}
const medians = times.map((list) => list.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number);
cases.forEach(([name], k) => {
  process.stdout.write(`${name.padEnd(22)}${(medians[k] as number).toFixed(0).padStart(5)} ms\n`);
});
const [empty = 0, , help = 0] = medians;
const allowed = 2 * empty + ALLOWED_MS;
const verdict = help <= allowed ? 'within' : 'MORE THAN';
process.stdout.write(`--help is ${verdict} 2 x node + ${ALLOWED_MS} ms = ${allowed.toFixed(0)} ms\n`);
if (help > allowed) process.exitCode = 1;
