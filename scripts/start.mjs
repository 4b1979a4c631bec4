// `npm start`: the main job from end to end on this machine alone. Starts the built-in server in its own process, runs the
// bundled ShareGPT-shaped sample against it at concurrency 256, and stops the server again. Further options go to the run:
// npm start -- --concurrency 64
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = `${root}dist/main.js`;

/** Starts the server on a free port and waits for the line that tells its address. */
async function startServer() {
  const server = spawn(process.execPath, [program, 'mock', '--port', '0', '--ttft', '50ms', '--itl', '10ms'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a process group of its own: Ctrl-C in the terminal must not take the server away from a run that is still draining.
    detached: true,
  });
  process.once('exit', () => server.kill('SIGTERM'));
  const lines = createInterface({ input: server.stdout });
  createInterface({ input: server.stderr }).on('line', (line) => process.stderr.write(`built-in server: ${line}\n`));
  const address = new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      const match = /https?:\/\/\S+/.exec(line);
      if (match) resolve(match[0]);
    });
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`the built-in server ended with code ${code} before it was ready`)));
  });
  return { server, address: await address };
}

/** Runs the load. Ctrl-C reaches it from the terminal; this process waits until it has drained and reported. */
async function runLoad(address, extra) {
  const given = (...names) => names.some((name) => extra.some((word) => word === name || word.startsWith(`${name}=`)));
  const defaults = [
    ...(given('--concurrency', '--max-concurrency') ? [] : ['--concurrency', '256']),
    ...(given('--num-prompts') ? [] : ['--num-prompts', '512']),
    ...(given('--dataset', '--dataset-path', '--dataset-name')
      ? []
      : ['--dataset', `${root}examples/sharegpt-sample.json`]),
  ];
  const run = spawn(process.execPath, [program, 'run', '--base-url', address, ...defaults, ...extra], {
    stdio: 'inherit',
  });
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => run.kill('SIGTERM'));
  const [code, signal] = await once(run, 'exit');
  return signal === null ? code : 1;
}

const { server, address } = await startServer();
try {
  process.exitCode = await runLoad(address, process.argv.slice(2));
} finally {
  server.removeAllListeners('exit');
  if (server.exitCode === null) {
    const gone = once(server, 'close');
    server.kill('SIGTERM');
    await gone;
  }
}
