/** A proxy that keeps what a client asks, and passes it on: the requests of two clients are compared as they were on the wire. */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it came. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Arrival, ms on a monotonic clock. */
  readonly atMs: number;
}

/** A running proxy. */
export interface Recorder {
  readonly url: string;
  /** What came since the last call. */
  take(): readonly Recorded[];
  close(): Promise<void>;
}

/** Starts a proxy before `target`, e.g. `http://127.0.0.1:5000`. */
export async function startRecorder(target: string): Promise<Recorder> {
  let records: Recorded[] = [];
  const server = createServer((request, response) => {
    const atMs = performance.now();
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts);
      const { method = '', url: path = '', headers } = request;
      records.push({ method, path, headers, body: body.toString('utf8'), atMs });
      const onward = httpRequest(`${target}${path}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = records;
      records = [];
      return taken;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
