/**
 * Runs the server's code before the real one listens, so that a thousand requests in the first instant meet compiled code: cold, a
 * request costs three times as much, which would be late first tokens for the last of them.
 */
import { connect } from 'node:net';
import { startMock } from './server.ts';

const CONNECTIONS = 16;
const REQUESTS = 40;

const BODY = JSON.stringify({
  messages: [{ role: 'user', content: 'Warm up.' }],
  max_tokens: 12,
  min_tokens: 11,
  stream: true,
  stream_options: { include_usage: true },
});
const REQUEST = Buffer.from(
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
);
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** One connection that asks again and again; it is given up when the server ends it. */
function ask(port: number): Promise<void> {
  return new Promise((resolve) => {
    let left = REQUESTS;
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => socket.write(REQUEST));
    socket.on('data', (data) => {
      if (data.subarray(-LAST_CHUNK.length).toString('latin1') !== LAST_CHUNK) return;
      if (--left > 0) socket.write(REQUEST);
      else socket.destroy();
    });
    socket.on('error', () => resolve());
    socket.on('close', () => resolve());
  });
}

/** Serves a few hundred small requests to itself on a port of its own. Takes about a tenth of a second; never fails. */
export async function warmUp(): Promise<void> {
  try {
    const server = await startMock({ port: 0, ttftMs: 0, itlMs: 0 });
    await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(server.port)));
    await server.close();
  } catch {
    // Where no port can be had, the real server will say so.
  }
}
