/**
 * The server's own tokenizer: TabbyAPI's `POST /v1/token/encode`. The default when TabbyAPI is found, since nothing needs to be installed
 * and the counts are the server's.
 *
 * `add_bos_token` is sent as false, because the server's default adds a BOS token even for models that have none in their prompts (Qwen); what
 * a chat template puts around a prompt is the server's part of the prompt in any case. For a model whose Hugging Face tokenizer adds BOS
 * (Llama) each count is therefore one lower than vLLM's; `--tokenizer FOLDER` gives vLLM's.
 */
import { Pool } from 'undici';
import { type AppError, codeOf, messageOf, unreachableError, usageError } from '../errors.ts';
import type { TokenCounter } from './tokenizer.ts';

/** Where the server is and how to speak to it. */
export interface ServerTokenizerSpec {
  /** E.g. `http://127.0.0.1:5000`. */
  readonly origin: string;
  /** Path that goes before `/v1/…`; '' for none. */
  readonly basePath: string;
  /** The key and what else the user wants sent, e.g. `{authorization: 'Bearer …'}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the loaded model, to call the tokenizer by. */
  readonly model: string;
  /** Do not check the certificate (`--insecure`). */
  readonly insecure?: boolean;
  /** How to get there when it is not straight: over a unix socket, or through a proxy that wants the whole address before the path. */
  readonly way?: { readonly connect: NonNullable<Pool.Options['connect']>; readonly pathPrefix: string };
}

/** One POST with a JSON body; throws what the socket throws. */
export interface JsonPoster {
  post(path: string, body: string): Promise<{ readonly status: number; readonly text: string }>;
  close(): Promise<void>;
}

/** Requests in flight: they hide the way there and back, while the server's one event loop is not swamped. */
const IN_FLIGHT = 8;

/** Opens it; nothing is sent yet. `poster` is for tests. */
export function openServerTokenizer(spec: ServerTokenizerSpec, poster: JsonPoster = undiciPoster(spec)): TokenCounter {
  const path = `${spec.basePath}/v1/token/encode`;
  return {
    id: spec.model,
    async countAll(texts) {
      const counts = new Array<number>(texts.length);
      let next = 0;
      const lane = async () => {
        while (next < texts.length) {
          const i = next++;
          try {
            counts[i] = await countOne(spec, poster, path, texts[i]!);
          } catch (error) {
            // The other lanes stop as well: one message, and no load on a server that fails.
            next = texts.length;
            throw error;
          }
        }
      };
      await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, texts.length) }, lane));
      return counts;
    },
    close: () => poster.close(),
  };
}

async function countOne(spec: ServerTokenizerSpec, poster: JsonPoster, path: string, text: string): Promise<number> {
  const body = JSON.stringify({ text, add_bos_token: false });
  const reply = await postTwice(poster, path, body).catch((error: unknown) => {
    const reason = codeOf(error) || messageOf(error);
    throw unreachableError(
      `the server at ${spec.origin} cannot be reached to count tokens (${reason})`,
      'Check that it runs and --base-url, or give --tokenizer FOLDER.',
      error,
    );
  });
  if (reply.status !== 200) throw refusal(spec, path, reply.status, reply.text);
  return lengthIn(reply.text) ?? failUnknownAnswer(spec, path, reply.text);
}

/** A kept-alive connection may close as it is used again; counting has no effect on the server, so it is simply asked once more. */
async function postTwice(poster: JsonPoster, path: string, body: string) {
  try {
    return await poster.post(path, body);
  } catch (error) {
    if (!['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error))) throw error;
    return poster.post(path, body);
  }
}

function lengthIn(text: string): number | null {
  try {
    const length = (JSON.parse(text) as { length?: unknown } | null)?.length;
    return typeof length === 'number' && Number.isInteger(length) && length >= 0 ? length : null;
  } catch {
    return null;
  }
}

function failUnknownAnswer(spec: ServerTokenizerSpec, path: string, text: string): never {
  throw usageError(
    `${spec.origin}${path} did not answer with a token count: ${excerpt(text)}`,
    'The server is not TabbyAPI, or something stands in between. Give --tokenizer FOLDER.',
  );
}

function refusal(spec: ServerTokenizerSpec, path: string, status: number, text: string): AppError {
  const said = `${spec.origin}${path} answered ${status}: ${excerpt(text)}`;
  if (status === 401 || status === 403) {
    return usageError(`the server refused the key: ${said}`, 'Put the right one into TABBY_API_KEY or --api-key.');
  }
  if (status === 404 || status === 405) {
    return usageError(`the server cannot count tokens: ${said}`, 'Only TabbyAPI can. Give --tokenizer FOLDER.');
  }
  if (status >= 500) {
    return unreachableError(
      `the server cannot count tokens now: ${said}`,
      'Is a model loaded? Load one, or give --tokenizer FOLDER.',
    );
  }
  return usageError(`the server would not count tokens: ${said}`, 'Give --tokenizer FOLDER.');
}

function excerpt(text: string): string {
  const line = text.trim().slice(0, 300);
  return line === '' ? '(empty)' : line;
}

/** The real thing: a small pool of kept-alive connections. */
export function undiciPoster(spec: Pick<ServerTokenizerSpec, 'origin' | 'headers' | 'insecure' | 'way'>): JsonPoster {
  const pool = new Pool(spec.origin, {
    connections: IN_FLIGHT,
    ...(spec.insecure === true ? { connect: { rejectUnauthorized: false } } : {}),
    ...(spec.way === undefined ? {} : { connect: spec.way.connect }),
  });
  const prefix = spec.way?.pathPrefix ?? '';
  const headers = { accept: '*/*', 'content-type': 'application/json', ...spec.headers };
  return {
    async post(path, body) {
      const { statusCode, body: answer } = await pool.request({
        method: 'POST',
        path: `${prefix}${path}`,
        headers,
        body,
      });
      return { status: statusCode, text: await answer.text() };
    },
    close: () => pool.destroy(),
  };
}
