/** A bare client for the tests of the built-in server: it keeps the bytes of an answer exactly as they came. */
import { connect, type Socket } from 'node:net';

/** A request in parts. */
export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, text as it is. */
  readonly body?: unknown;
}

/** An answer, taken apart only as far as HTTP goes. */
export interface RawResponse {
  /** Every byte, framing included. */
  readonly raw: Buffer;
  readonly statusLine: string;
  readonly status: number;
  /** In the order sent. */
  readonly headers: readonly (readonly [string, string])[];
  /** Chunks of the body without the last (empty) one; the whole body as one when it was not chunked. */
  readonly chunks: readonly Buffer[];
  readonly body: string;
  /** `complete`: as its framing promised; `fin`/`reset`: the server ended the connection before. */
  readonly ended: 'complete' | 'fin' | 'reset';
}

/** The bytes of a request. */
export function requestBytes(request: RawRequest): Buffer {
  const { method = 'POST', path = '/v1/chat/completions', headers = {}, body } = request;
  const text = body === undefined || body === null ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const sent: Record<string, string> = { host: 'mock', ...headers };
  if (text !== '') {
    sent['content-type'] ??= 'application/json';
    sent['content-length'] = String(Buffer.byteLength(text));
  }
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
}

interface Parsed {
  readonly response: Omit<RawResponse, 'ended' | 'raw'>;
  /** Bytes used, when the answer is complete. */
  readonly complete: number | null;
}

/** Takes an answer apart; null when not even its head is there. */
export function parseResponse(raw: Buffer): Parsed | null {
  const headEnd = raw.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [statusLine = '', ...lines] = raw.toString('latin1', 0, headEnd).split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)] as const;
  });
  const find = (name: string) => headers.find(([key]) => key === name)?.[1];
  const status = Number(statusLine.split(' ')[1]);
  const body = raw.subarray(headEnd + 4);
  const parts =
    find('transfer-encoding') === 'chunked' ? chunksOf(body) : wholeOf(body, find('content-length'), status);
  const text = Buffer.concat(parts.chunks).toString('utf8');
  return {
    response: { statusLine, status, headers, chunks: parts.chunks, body: text },
    complete: parts.used === null ? null : headEnd + 4 + parts.used,
  };
}

function wholeOf(body: Buffer, length: string | undefined, status: number): { chunks: Buffer[]; used: number | null } {
  if (length === undefined) return { chunks: [body], used: status === 204 ? 0 : null };
  const bytes = Number(length);
  return { chunks: [body.subarray(0, bytes)], used: body.length >= bytes ? bytes : null };
}

function chunksOf(body: Buffer): { chunks: Buffer[]; used: number | null } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = body.indexOf('\r\n', at);
    if (lineEnd < 0) return { chunks, used: null };
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (!(size >= 0) || next > body.length) return { chunks, used: null };
    if (size === 0) return { chunks, used: next };
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}

/** A connection on which several requests can be sent. */
export interface RawConnection {
  readonly socket: Socket;
  send(bytes: Buffer | string): void;
  /** The next answer. Rejects when the connection ends before a head has come. */
  next(): Promise<RawResponse>;
  /** Bytes received that no answer has used. */
  readonly rest: () => Buffer;
  close(): void;
}

/** Connects to the server. */
export async function openConnection(port: number): Promise<RawConnection> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  let ended: 'fin' | 'reset' | null = null;
  let wake = (): void => undefined;
  socket.on('data', (data) => {
    received = Buffer.concat([received, data]);
    wake();
  });
  socket.on('error', () => {
    ended = 'reset';
    wake();
  });
  socket.on('end', () => {
    ended ??= 'fin';
    wake();
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  const next = async (): Promise<RawResponse> => {
    for (;;) {
      const parsed = parseResponse(received);
      if (parsed !== null && (parsed.complete !== null || ended !== null)) {
        const used = parsed.complete ?? received.length;
        const raw = received.subarray(0, used);
        received = received.subarray(used);
        const open =
          parsed.complete === null &&
          !parsed.response.headers.some(([name]) => name === 'connection' || name === 'content-length');
        return {
          ...parsed.response,
          raw,
          ended: parsed.complete !== null || (open && ended === 'fin') ? 'complete' : (ended ?? 'fin'),
        };
      }
      if (ended !== null) throw new Error(`ended by ${ended} after ${received.length} bytes`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { socket, send: (bytes) => socket.write(bytes), next, rest: () => received, close: () => socket.destroy() };
}

/** One request on a connection of its own. */
export async function exchange(port: number, request: RawRequest): Promise<RawResponse> {
  const connection = await openConnection(port);
  connection.send(requestBytes(request));
  try {
    return await connection.next();
  } finally {
    connection.close();
  }
}

/** The JSON texts of the events of a stream, pings as `:`, in order. */
export function eventsOf(response: RawResponse): string[] {
  return response.body
    .split(/\r\n\r\n|\n\n/)
    .filter((event) => event !== '')
    .map((event) => (event.startsWith('data: ') ? event.slice(6) : event.slice(0, 1)));
}

/** A chat request that asks for a stream with usage. */
export function chat(content: string, more: Readonly<Record<string, unknown>> = {}): RawRequest {
  return {
    body: {
      messages: [{ role: 'user', content }],
      max_tokens: 64,
      stream: true,
      stream_options: { include_usage: true },
      ...more,
    },
  };
}
