/** Who is there: servers that answer as none should, each told in one message within its time. */
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { findServer } from '../../src/transport/server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const answer = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
/** Whole at once, to every question. */
const says =
  (text: string) =>
  (socket: Socket): void =>
    void socket.on('data', () => socket.write(text));
/** A piece again and again, until the other side is gone. */
const repeats =
  (begin: string, piece: string, everyMs: number) =>
  (socket: Socket): void => {
    socket.once('data', () => {
      socket.write(begin);
      const timer = setInterval(() => socket.write(piece), everyMs);
      socket.once('close', () => clearInterval(timer));
    });
  };

let server: Server | null = null;
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

/** What is thrown when such a server is asked who it is. */
async function failure(handle: (socket: Socket) => void): Promise<AppError> {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    handle(socket);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const baseUrl = `http://127.0.0.1:${port}`;
  const found = findServer({
    baseUrl,
    headers: {},
    kind: 'auto',
    hasModel: false,
    asksKind: true,
    readyMs: 300,
    route: { origin: baseUrl, unixSocket: null, isInsecure: false, proxy: null },
    onWaiting: () => undefined,
  });
  return found.then(
    () => Promise.reject(new Error('it was taken for a server')),
    (error: unknown) => (error instanceof AppError ? error : Promise.reject(error)),
  );
}

describe('a server that', () => {
  it.each<[string, (socket: Socket) => void, RegExp, number]>([
    ['accepts and says nothing', () => undefined, /accepts connections but does not answer \/v1\/model/, 4],
    ['closes at once', (socket) => socket.destroy(), /cannot connect to .*(closed|ECONNRESET)/, 4],
    ['sends a head alone', says(`${HEAD}content-length: 100\r\n\r\n`), /does not answer/, 4],
    ['sends a byte now and then', repeats(`${HEAD}content-length: 100000\r\n\r\n`, '{', 20), /does not answer/, 4],
    ['speaks HTTP/2', (socket) => void socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), /is not HTTP\/1\.1/, 4],
    ['speaks something else', says('SSH-2.0-OpenSSH_9.6\r\n'), /is not HTTP\/1\.1/, 4],
    ['sends headers without end', repeats(HEAD, `x-a: ${'y'.repeat(4000)}\r\n`, 1), /far too long/, 4],
    ['sends a body without end', repeats(`${HEAD}\r\n`, 'z'.repeat(1 << 20), 1), /far too long/, 4],
    ['sends a page', says('HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n<html>hi</html>'), /tells no model.*200 hi/, 4],
    ['sends nothing, politely', says('HTTP/1.1 204 No Content\r\n\r\n'), /tells no model.*204/, 4],
    ['sends elsewhere', says('HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n'), /tells no model.*302/, 4],
    ['has no model', says(answer('503 Service Unavailable', '{"detail": "No models are currently loaded."}')), /no model loaded/, 4],
    ['refuses the key', says(answer('401 Unauthorized', '{"detail": "Invalid API key"}')), /refuses the key: 401 Invalid API key/, 2],
    ['has an empty list', says(answer('200 OK', '{"object": "list", "data": []}')), /tells no model/, 4],
    ['answers null', says(answer('200 OK', 'null')), /tells no model/, 4],
    ['answers half of a JSON', says(answer('200 OK', '{"data": [{"id"')), /tells no model/, 4],
  ])('%s is told in words', async (_, handle, words, exitCode) => {
    const { message, exitCode: code } = await failure(handle);
    expect(message).toMatch(words);
    expect(message).not.toMatch(/\n/);
    expect(code).toBe(exitCode);
  }); // biome-ignore format: a table
});
