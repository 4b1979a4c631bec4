/** A forward proxy: whole addresses for plain HTTP, tunnels for https. It knows hosts by itself, so that nobody gets there without it. */
import { connect, createServer, type Socket } from 'node:net';
import type { ScriptedServer, SeenRequest } from './scripted-server.ts';

/** @param place the port of 127.0.0.1 that a host name stands for, or (100..599) the status to refuse it with */
export async function startForwardProxy(place: (host: string) => number): Promise<ScriptedServer> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    const connection = connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', (bytes: Buffer) => {
      const [requestLine = '', ...lines] = bytes.toString('latin1').split('\r\n\r\n', 1)[0]?.split('\r\n') ?? [];
      const [method = '', path = ''] = requestLine.split(' ');
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      requests.push({ n: requests.length, method, path, headers, body: '', connection });
      const isTunnel = method === 'CONNECT';
      const url = new URL(isTunnel ? `http://${path}` : path, 'http://none');
      const port = place(url.hostname);
      if (port < 600) {
        socket.end(`HTTP/1.1 ${port} Refused\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      // For plain HTTP all requests of a connection go to the same place here; the server finds the path in the whole address.
      const onward = connect(port, '127.0.0.1');
      sockets.add(onward);
      onward.on('error', () => socket.destroy());
      if (isTunnel) socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      else onward.write(bytes);
      onward.pipe(socket);
      socket.pipe(onward);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    questions: [],
    get connections() {
      return connections;
    },
    maxInFlight: 0,
    stop,
    listenAgain: () => Promise.reject(new Error('a proxy is not restarted')),
    close: stop,
  };
}
