// What `npm start` and `npm test` need before they can run: the dependencies (on a fresh clone) and a build that is not older
// than the sources. Does nothing when both are there, so it costs nothing on the second run.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs a command with its output on stderr (stdout belongs to what follows) and stops the set-up when it fails. */
function must(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  process.stderr.write(`setup: ${command} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}\n`);
  process.exit(1);
}

/** Modification time of the newest file at or below `path`, in ms; 0 when there is none. */
function newest(path) {
  if (!existsSync(path)) return 0;
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(`${path}/${name}`)));
}

const lock = `${root}package-lock.json`;
const installed = `${root}node_modules/.package-lock.json`;
if (newest(installed) < newest(lock)) must('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);

const sources = Math.max(newest(`${root}src`), newest(`${root}scripts/build.mjs`), newest(`${root}package.json`));
if (newest(`${root}dist/main.js`) < sources) must(process.execPath, [`${root}scripts/build.mjs`]);
