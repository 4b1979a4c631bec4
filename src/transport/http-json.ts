/** Small requests beside the load: what kind of server is it, which model is loaded. */
import { Agent, request } from 'undici';

/** An answer; `json` is undefined when the body is none. */
export interface SmallAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** How to ask. */
export interface SmallRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly isInsecure: boolean;
  readonly unixSocket?: string | null;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Asks once, on a connection of its own. Rejects with the system's error when there is no answer. */
export async function askSmall(ask: SmallRequest): Promise<SmallAnswer> {
  const dispatcher = new Agent({
    connect: {
      timeout: ask.timeoutMs,
      rejectUnauthorized: !ask.isInsecure,
      ...(ask.unixSocket === null || ask.unixSocket === undefined ? {} : { socketPath: ask.unixSocket }),
    },
    headersTimeout: ask.timeoutMs,
    bodyTimeout: ask.timeoutMs,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  try {
    const { statusCode, body } = await request(ask.url, {
      method: ask.method ?? 'GET',
      headers: { accept: '*/*', 'accept-encoding': 'identity', ...ask.headers },
      ...(ask.body === undefined ? {} : { body: ask.body }),
      dispatcher,
    });
    const text = await body.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: statusCode, text, json };
  } finally {
    await dispatcher.destroy();
  }
}
