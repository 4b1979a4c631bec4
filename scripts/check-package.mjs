// Checks what `npm pack` makes, as a user meets it: the tarball installs globally into an empty prefix without install scripts,
// is small with everything it pulls in, and the program works from there, worker threads included.
// `--prefer-offline`: after `npm ci` the cache holds all that is needed.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const LIMIT_BYTES = 30_000_000;

/** Runs a command and returns its stdout; a failure ends the check with its output. */
function must(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} failed (${status ?? error?.message})\n${stdout}\n${stderr}`);
}

/** Bytes of all files at or below a path. */
async function sizeOf(path) {
  const info = await stat(path);
  if (!info.isDirectory()) return info.size;
  const names = await readdir(path);
  const sizes = await Promise.all(names.map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Throws unless `good`. */
function check(good, message) {
  if (!good) throw new Error(message);
  process.stdout.write(`ok - ${message}\n`);
}

const dir = await mkdtemp(join(tmpdir(), 'tabby-load-pack-'));
try {
  const [{ filename, files }] = JSON.parse(
    must('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir]),
  );
  const packed = files.map(({ path }) => path);
  for (const path of ['dist/main.js', 'dist/worker.js', 'LICENSE', 'README.md', 'CHANGELOG.md', 'package.json']) {
    check(packed.includes(path), `the tarball holds ${path}`);
  }
  check(
    !packed.some((path) => path.endsWith('.map') || path.startsWith('src/')),
    'the tarball holds no sources and no source maps',
  );

  const prefix = join(dir, 'prefix');
  must('npm', [
    'install',
    '--global',
    '--prefix',
    prefix,
    '--prefer-offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    join(dir, filename),
  ]);
  const total = await sizeOf(prefix);
  check(total < LIMIT_BYTES, `installed size is ${(total / 1e6).toFixed(1)} MB, below ${LIMIT_BYTES / 1e6} MB`);

  const home = join(prefix, 'lib', 'node_modules', 'tabby-load');
  const modules = await readdir(join(home, 'node_modules'));
  const withScripts = [];
  for (const name of modules.filter((each) => !each.startsWith('.'))) {
    const folders = name.startsWith('@')
      ? (await readdir(join(home, 'node_modules', name))).map((sub) => join(name, sub))
      : [name];
    for (const folder of folders) {
      const { scripts = {} } = JSON.parse(await readFile(join(home, 'node_modules', folder, 'package.json'), 'utf8'));
      if (scripts.install || scripts.preinstall || scripts.postinstall) withScripts.push(folder);
    }
  }
  // Optional native parts may have such scripts; what is left out with --ignore-scripts must not be missed.
  check(
    withScripts.length === 0,
    `no dependency has an install script${withScripts.length > 0 ? `: ${withScripts.join(', ')}` : ''}`,
  );

  const bin = join(prefix, 'bin', 'tabby-load');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  check(
    must(bin, ['--version'], { cwd: dir }).trim() === `tabby-load ${version}`,
    'the installed program tells its version',
  );

  // A whole run from the installed package: piscina has to find its own worker file and ours.
  const script = `
    import { spawn, spawnSync } from 'node:child_process';
    const mock = spawn(process.execPath, [${JSON.stringify(join(home, 'dist/main.js'))}, 'mock', '--port', '0', '--itl', '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    mock.stdout.on('data', (data) => {
      text += data;
      const match = /https?:\\/\\/\\S+/.exec(text);
      if (match === null || mock.asked) return;
      mock.asked = true;
      const run = spawnSync(${JSON.stringify(bin)}, ['--base-url', match[0], '--dataset', ${JSON.stringify(join(home, 'examples/sharegpt-sample.json'))},
        '--num-prompts', '8', '--concurrency', '4', '--workers', '2', '--sharegpt-output-len', '5', '--quiet', '--json', '-'], { encoding: 'utf8' });
      mock.kill('SIGTERM');
      process.stderr.write(run.stderr);
      process.stdout.write(run.stdout);
      process.exitCode = run.status;
    });`;
  const result = JSON.parse(
    must(process.execPath, ['--input-type=module', '--eval', script], { cwd: dir, timeout: 60_000 }),
  );
  check(result.completed === 8, 'a run with two worker threads works from there');
} catch (error) {
  process.stderr.write(`not ok - ${error.message}\n`);
  process.exitCode = 1;
} finally {
  await rm(dir, { recursive: true, force: true });
}
