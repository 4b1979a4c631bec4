/**
 * What a frame costs at the least: a server that only writes, in the place of the built-in one for bench/mock.ts.
 *
 *   TABBY_LOAD=bench/mock-floor.mjs SERVER_CPU=0 taskset -c 1 node /tmp/bench-mock.mjs
 *
 * Each connection that has asked gets a frame of the usual size every 10 ms, 500 of them, then the end of the answer; the writes of
 * all connections are spread evenly. No parsing, no jobs, no text: what is left is write(2) and the event loop.
 */
import { writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';

const FRAMES = 500;
const EVERY_MS = 10;
const FRAME = Buffer.concat([Buffer.from('de\r\n'), Buffer.alloc(222, 'x'), Buffer.from('\r\n')]);
const LAST = Buffer.from('0\r\n\r\n');

const streams = [];
let frames = 0;
const cell = new Int32Array(new SharedArrayBuffer(4));

const server = createServer({ noDelay: true }, (socket) => {
  const stream = { fd: socket._handle.fd, left: 0, due: 0 };
  streams.push(stream);
  socket.on('data', (data) => {
    // The bench asks the built-in server for its counts; here is what it reads of them.
    if (data.toString('latin1', 0, 3) === 'GET') {
      const { user, system } = process.cpuUsage();
      const body = JSON.stringify({ frames, cpuUs: user + system });
      socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return;
    }
    stream.left = FRAMES;
    stream.due = performance.now() + (streams.length % 1000) * (EVERY_MS / 1000);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    stream.left = 0;
  });
});

function write(stream, bytes) {
  try {
    writeSync(stream.fd, bytes, 0, bytes.length);
  } catch {
    stream.left = 0;
  }
}

function turn() {
  const now = performance.now();
  for (const stream of streams) {
    if (stream.left === 0 || stream.due > now) continue;
    stream.due += EVERY_MS;
    write(stream, FRAME);
    frames++;
    if (--stream.left === 0) write(stream, LAST);
  }
  Atomics.wait(cell, 0, 0, 0.2);
  setImmediate(turn);
}

process.on('SIGINT', () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write(`${JSON.stringify({ frames, cpu_us_per_frame: (user + system) / frames })}\n`, () =>
    process.exit(0),
  );
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`floor: listening on http://127.0.0.1:${server.address().port}\n`);
  turn();
});
