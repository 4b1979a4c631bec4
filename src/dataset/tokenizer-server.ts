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
import { CountCache, PROBE_TEXT } from './count-cache.ts';
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
  /** Neither read nor keep counts of earlier runs (`--no-tokenizer-cache`). */
  readonly noCache?: boolean;
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
/** For fewer texts than this it is not worth to ask which tokenizer the server has. */
const CACHED_FROM = 16;
/**
 * A server that counts tokens does so at once; one that prefills long prompts meanwhile may take seconds. One that stays silent is asked
 * once more before it is given up.
 */
const ANSWER_MS = 10_000;
/** The ids of a text of ten million tokens. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

/** Opens it; nothing is sent yet. `poster` is for tests. */
export function openServerTokenizer(
  spec: ServerTokenizerSpec,
  poster: JsonPoster = undiciPoster(spec),
  env: NodeJS.ProcessEnv = process.env,
): TokenCounter {
  const path = `${spec.basePath}/v1/token/encode`;
  let opening: Promise<CountCache | null> | null = null;
  return {
    id: spec.model,
    async countAll(texts) {
      if (texts.length >= CACHED_FROM && spec.noCache !== true) opening ??= openCache(spec, poster, path, env);
      const cache = await opening;
      const counts = new Array<number>(texts.length);
      let next = 0;
      const lane = async () => {
        while (next < texts.length) {
          const i = next++;
          const text = texts[i] as string;
          try {
            const known = cache?.get(text);
            counts[i] = known ?? lengthOf(spec, path, await ask(spec, poster, path, text));
            if (known === undefined) cache?.set(text, counts[i] as number);
          } catch (error) {
            // The other lanes stop as well: one message, and no load on a server that fails.
            next = texts.length;
            throw error;
          }
        }
      };
      await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, texts.length) }, lane)).finally(() => cache?.save());
      return counts;
    },
    close: () => poster.close(),
  };
}

/** Null where the server tells no token ids: then nothing says which tokenizer it has. */
async function openCache(
  spec: ServerTokenizerSpec,
  poster: JsonPoster,
  path: string,
  env: NodeJS.ProcessEnv,
): Promise<CountCache | null> {
  const { tokens } = (parsed(await ask(spec, poster, path, PROBE_TEXT)) ?? {}) as { tokens?: unknown };
  const isIds = Array.isArray(tokens) && tokens.length > 0 && tokens.every((id) => Number.isSafeInteger(id));
  return isIds ? CountCache.open(spec.model, tokens as number[], env) : null;
}

/** The server's answer about one text. */
async function ask(spec: ServerTokenizerSpec, poster: JsonPoster, path: string, text: string): Promise<string> {
  const body = JSON.stringify({ text, add_bos_token: false });
  const reply = await postTwice(poster, path, body).catch((error: unknown) => {
    if (isSilence(error)) {
      throw unreachableError(
        `the server at ${spec.origin} does not answer ${path}: nothing within ${ANSWER_MS / 1000} s, twice`,
        'Is it busy or stuck? Give --tokenizer FOLDER to count tokens without it.',
        error,
      );
    }
    const reason = codeOf(error) || messageOf(error);
    throw unreachableError(
      `the server at ${spec.origin} cannot be reached to count tokens (${reason})`,
      'Check that it runs and --base-url, or give --tokenizer FOLDER.',
      error,
    );
  });
  if (reply.status !== 200) throw refusal(spec, path, reply.status, reply.text);
  return reply.text;
}

function lengthOf(spec: ServerTokenizerSpec, path: string, answer: string): number {
  return lengthIn(answer) ?? failUnknownAnswer(spec, path, answer);
}

/**
 * A kept-alive connection may close as it is used again, and an answer may get lost; counting has no effect on the server, so it is simply
 * asked once more.
 */
async function postTwice(poster: JsonPoster, path: string, body: string) {
  try {
    return await poster.post(path, body);
  } catch (error) {
    if (!isSilence(error) && !['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error))) throw error;
    return poster.post(path, body);
  }
}

/** The time limit of {@link undiciPoster} was reached. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

function lengthIn(text: string): number | null {
  const length = (parsed(text) as { length?: unknown } | null | undefined)?.length;
  return typeof length === 'number' && Number.isInteger(length) && length >= 0 ? length : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
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
  const flat = (words: string): string => words.replace(/\s+/g, ' ').trim().slice(0, 300);
  // Of a page its words, if it has any.
  return flat(text.replace(/<[^>]*>/g, ' ')) || flat(text) || '(empty)';
}

/**
 * The real thing: a small pool of kept-alive connections.
 * @param answerMs what a call may take from the request to the last byte; then it rejects with a TimeoutError
 */
export function undiciPoster(
  spec: Pick<ServerTokenizerSpec, 'origin' | 'headers' | 'insecure' | 'way'>,
  answerMs = ANSWER_MS,
): JsonPoster {
  const pool = new Pool(spec.origin, {
    connections: IN_FLIGHT,
    // One limit for all of it, see below; undici's own start anew with each piece.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MAX_ANSWER_BYTES,
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
        signal: AbortSignal.timeout(answerMs),
      });
      return { status: statusCode, text: await answer.text() };
    },
    close: () => pool.destroy(),
  };
}
