/** Small requests beside the load: what kind of server is it, which model is loaded. */
import type { Socket } from 'node:net';
import { Client } from 'undici';
import { ConnectTimeout } from './connect-error.ts';
import { dial } from './dial.ts';
import { pathVia, proxyHeaders, type Route } from './route.ts';

/** An answer; `json` is undefined when the body is none. */
export interface SmallAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** How to ask. */
export interface SmallRequest {
  readonly route: Route;
  readonly path: string;
  readonly method?: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the connection, and then for the whole answer: a byte now and then does not prolong it. */
  readonly timeoutMs: number;
}

/** The answer was not whole within its time. */
export class AnswerTimeout extends Error {
  override readonly name = 'AnswerTimeout';
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Asks once, on a connection of its own. Rejects with the system's error when there is no answer. */
export async function askSmall(ask: SmallRequest): Promise<SmallAnswer> {
  const { route, timeoutMs } = ask;
  const client = new Client(route.origin, {
    connect: smallConnector(route, timeoutMs),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  const signal = AbortSignal.timeout(2 * timeoutMs);
  try {
    const { statusCode, body } = await client.request({
      signal,
      path: pathVia(route, ask.path),
      method: ask.method ?? 'GET',
      headers: {
        accept: '*/*',
        'accept-encoding': 'identity',
        ...ask.headers,
        ...Object.fromEntries(proxyHeaders(route)),
      },
      ...(ask.body === undefined ? {} : { body: ask.body }),
    });
    const text = await body.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: statusCode, text, json };
  } catch (error) {
    if (signal.aborted) throw new AnswerTimeout(`no whole answer within ${(2 * timeoutMs) / 1000} s`, { cause: error });
    throw error;
  } finally {
    await client.destroy();
  }
}

type Connector = (options: unknown, callback: (error: Error | null, socket: Socket | null) => void) => void;

/** undici's type asks for options that only its built-in connector needs. */
export type ClientConnector = NonNullable<Client.Options['connect']> & Connector;

/** A connector for undici that goes along the route, with a time limit of its own (0 = none). */
export function smallConnector(route: Route, timeoutMs: number): ClientConnector {
  const connector: Connector = (_options, callback) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = dial(route, (error, socket) => {
      clearTimeout(timer);
      callback(error, socket);
    });
    if (timeoutMs > 0) timer = setTimeout(() => giveUp(new ConnectTimeout(timeoutMs)), timeoutMs);
  };
  return connector as unknown as ClientConnector;
}
