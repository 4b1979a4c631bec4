/**
 * What the built-in server costs and how late it is: a server in a process of its own, and a sink here that reads and counts.
 *
 *   npm run build && npx esbuild bench/mock.ts --bundle --platform=node --format=esm --outfile=/tmp/bench-mock.mjs
 *   taskset -c 1 node /tmp/bench-mock.mjs [streams=1000] [itl=10] [tokens=500] [requests per stream=2] [more flags of mock …]
 *
 * With SERVER_CPU=0 the server is pinned to that core. Prints one line of JSON: what was received, the server's own lateness and
 * its CPU time per frame: of the whole process with start-up, connections and requests, and (`steady_us_per_frame`) in the middle of
 * the run, when it only sends. What the kernel takes of that shows with bench/mock-floor.mjs in the server's place.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const [streams = '1000', itl = '10', tokens = '500', rounds = '2', ...more] = process.argv.slice(2);
const program = process.env['TABBY_LOAD'] ?? 'dist/main.js';
const flags = ['mock', '--port', '0', '--ttft', '50', '--itl', itl, '--tokens', tokens, ...more];
const core = process.env['SERVER_CPU'];
const command = core === undefined ? [process.execPath] : ['taskset', '-c', core, process.execPath];

const server = spawn(command[0] as string, [...command.slice(1), program, ...flags], {
  stdio: ['ignore', 'pipe', 'pipe'],
});
const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
const port = Number(/:(\d+)$/.exec(line)?.[1]);

const body = JSON.stringify({
  messages: [{ role: 'user', content: 'Go on and on.' }],
  stream: true,
  stream_options: { include_usage: true },
});
const request = Buffer.from(
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
);
const END = Buffer.from('0\r\n\r\n');

let bytes = 0;
let reads = 0;
let finished = 0;

/** One connection that asks again until it has had its answers. */
function stream(): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = Number(rounds);
    const scratch = Buffer.allocUnsafe(65536);
    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: scratch,
        callback: (count) => {
          bytes += count;
          reads++;
          // Good enough for a sink: the last chunk is written in one piece with [DONE].
          if (count >= 5 && scratch.subarray(count - 5, count).equals(END)) {
            finished++;
            if (--left > 0) socket.write(request);
            else {
              socket.end();
              resolve();
            }
          }
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('connect', () => socket.write(request));
  });
}

/** The server's counts: frames sent and its CPU time so far, microseconds. */
async function counts(): Promise<{ frames: number; cpuUs: number }> {
  const answer = await fetch(`http://127.0.0.1:${port}/__stats`);
  return (await answer.json()) as { frames: number; cpuUs: number };
}

/** CPU time per frame between a quarter and three quarters of what the run should take. */
async function steadyCost(): Promise<number> {
  const wholeMs = Number(rounds) * (50 + Number(tokens) * Number(itl));
  await sleep(wholeMs / 4);
  const before = await counts();
  await sleep(wholeMs / 2);
  const after = await counts();
  return (after.cpuUs - before.cpuUs) / (after.frames - before.frames);
}

const begun = process.hrtime.bigint();
const steady = steadyCost();
await Promise.all(Array.from({ length: Number(streams) }, () => stream()));
const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
const closing = once(createInterface(server.stderr), 'line');
server.kill('SIGINT');
const [summary] = (await closing) as [string];
process.stdout.write(
  `${JSON.stringify({ streams: Number(streams), seconds, steady_us_per_frame: Number((await steady).toFixed(2)), finished, reads, megabytes: bytes / 1e6, ...JSON.parse(summary) })}\n`,
);
