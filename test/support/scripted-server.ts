/**
 * A server that answers as a script says, byte by byte: for endings that no well-behaved server produces. It understands just
 * enough HTTP to tell requests apart, and answers `/v1/model` as TabbyAPI does, so that a whole run can be pointed at it.
 */
import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';

/** A request as it came in. */
export interface SeenRequest {
  /** Serial number over all connections, from 0; only those that the script answers count. */
  readonly n: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Serial number of its connection. */
  readonly connection: number;
}

/** What a script can do with the connection of a request. */
export interface Reply {
  /** Writes text or bytes. */
  send(data: string | Uint8Array): Promise<void>;
  /** Writes one HTTP chunk. */
  chunk(data: string): Promise<void>;
  wait(ms: number): Promise<void>;
  /** The client has not gone, and the script has not closed. */
  readonly isOpen: boolean;
  /** Closes in order (FIN). */
  close(): void;
  /** Breaks the connection (RST). */
  reset(): void;
}

/** Answers one request. */
export type Script = (reply: Reply, request: SeenRequest) => void | Promise<void>;

/** A running server. */
export interface ScriptedServer {
  readonly url: string;
  readonly port: number;
  /** Requests the script has answered, or is answering. */
  readonly requests: readonly SeenRequest[];
  /** Paths of the other requests: questions about the server. */
  readonly questions: readonly string[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Most requests of the script that were being answered at the same time. */
  readonly maxInFlight: number;
  /** Ends as a process that is killed: nobody listens, all connections are gone. {@link listenAgain} is its restart. */
  stop(): Promise<void>;
  listenAgain(): Promise<void>;
  close(): Promise<void>;
}

/** Head of TabbyAPI's streaming answer. */
export const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ndate: Tue, 01 Dec 2026 02:40:17 GMT\r\nserver: uvicorn\r\ncache-control: no-store\r\n' +
  'connection: keep-alive\r\nx-accel-buffering: no\r\ncontent-type: text/event-stream; charset=utf-8\r\nvary: Origin\r\n' +
  'transfer-encoding: chunked\r\n\r\n';
/** End of a chunked body. */
export const LAST_CHUNK = '0\r\n\r\n';
/** The `[DONE]` event. */
export const DONE = 'data: [DONE]\r\n\r\n';

/** A token frame. */
export function token(text = ' a'): string {
  const content = JSON.stringify(text);
  return `data: {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1796092125, "choices": [{"index": 0, "delta": {"content": ${content}}, "finish_reason": null}], "model": "Scripted"}\r\n\r\n`;
}

/** TabbyAPI's last frame: finish reason and usage in one. */
export function finish(tokens: number, reason = 'length'): string {
  return `data: {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1796092125, "choices": [{"index": 0, "delta": {}, "finish_reason": "${reason}"}], "usage": {"prompt_tokens": 7, "prompt_time": 0.05, "prompt_tokens_per_sec": 140.0, "completion_tokens": ${tokens}, "completion_time": 0.1, "completion_tokens_per_sec": 50.0, "total_tokens": ${tokens + 7}, "total_time": 0.15}, "model": "Scripted"}\r\n\r\n`;
}

/** A whole answer of so many tokens. */
export async function complete(reply: Reply, tokens = 3): Promise<void> {
  await reply.send(STREAM_HEAD);
  for (let i = 0; i < tokens; i++) await reply.chunk(token());
  await reply.chunk(finish(tokens));
  await reply.chunk(DONE);
  await reply.send(LAST_CHUNK);
}

/** A JSON answer with its length. */
export function jsonAnswer(status: string, value: unknown): string {
  const body = JSON.stringify(value);
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** What `/v1/model` answers when this model is loaded. */
function modelAnswer(model: string | null): string {
  if (model === null) return jsonAnswer('503 Service Unavailable', { detail: 'No models are currently loaded.' });
  return jsonAnswer('200 OK', {
    id: model,
    object: 'model',
    owned_by: 'tabbyAPI',
    parameters: { max_seq_len: 8192, cache_size: 1 << 20, max_batch_size: 512, chunk_size: 2048 },
  });
}

/** How a scripted server is set up. */
export interface ScriptedOptions {
  /** Where it listens; a free port of 127.0.0.1 when left out. */
  readonly listen?: ListenOptions;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The model loaded at this moment; null = none. */
  model?(): string | null;
  /** What every GET is answered with in place of that. */
  refusal?(headers: Readonly<Record<string, string>>): string;
}

/** Starts a server. Every POST is answered by the script. */
export async function startScripted(script: Script, options: ScriptedOptions = {}): Promise<ScriptedServer> {
  const requests: SeenRequest[] = [];
  const questions: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let inFlight = 0;
  let maxInFlight = 0;
  const onSocket = (socket: Socket): void => {
    const connection = connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    readRequests(socket, connection, async (request) => {
      if (request.method !== 'POST') questions.push(request.path);
      if (request.method !== 'POST' && options.refusal !== undefined) {
        socket.write(options.refusal(request.headers));
        return;
      }
      if (request.method !== 'POST') {
        const isModel = request.path.endsWith('/v1/model');
        const model = options.model === undefined ? 'Scripted' : options.model();
        socket.write(isModel ? modelAnswer(model) : jsonAnswer('404 Not Found', { detail: 'Not Found' }));
        return;
      }
      if (request.path.endsWith('/v1/token/encode')) {
        const { text } = JSON.parse(request.body) as { text: string };
        const length = Math.ceil(text.length / 4);
        socket.write(jsonAnswer('200 OK', { tokens: [], length }));
        return;
      }
      const seen = { ...request, n: requests.length };
      requests.push(seen);
      maxInFlight = Math.max(maxInFlight, ++inFlight);
      await script(replyOn(socket), seen);
      inFlight--;
    });
  };
  const server: Server = options.tls === undefined ? createServer(onSocket) : createTlsServer(options.tls, onSocket);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(options.listen ?? { port: 0, host: '127.0.0.1' }, resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    questions,
    get connections() {
      return connections;
    },
    get maxInFlight() {
      return maxInFlight;
    },
    stop,
    listenAgain: () => new Promise<void>((resolve) => server.listen({ port, host: '127.0.0.1' }, resolve)),
    close: stop,
  };
}

function replyOn(socket: Socket): Reply {
  const send = (data: string | Uint8Array) =>
    new Promise<void>((resolve) => {
      if (socket.destroyed) resolve();
      else socket.write(data, () => resolve());
    });
  return {
    send,
    chunk: (data) => send(`${Buffer.byteLength(data).toString(16)}\r\n${data}\r\n`),
    wait: (ms) => sleep(ms),
    get isOpen() {
      return !socket.destroyed && socket.writable;
    },
    close: () => socket.end(),
    reset: () => socket.resetAndDestroy(),
  };
}

function readRequests(socket: Socket, connection: number, handle: (request: SeenRequest) => Promise<void>): void {
  let buffered = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    buffered = Buffer.concat([buffered, bytes]);
    for (;;) {
      const headEnd = buffered.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const [requestLine = '', ...lines] = buffered.toString('latin1', 0, headEnd).split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => splitHeader(line)));
      const length = Number(headers['content-length'] ?? 0);
      if (buffered.length < headEnd + 4 + length) return;
      const body = buffered.toString('utf8', headEnd + 4, headEnd + 4 + length);
      buffered = buffered.subarray(headEnd + 4 + length);
      const [method = '', path = ''] = requestLine.split(' ');
      void handle({ n: -1, method, path, headers, body, connection });
    }
  });
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
