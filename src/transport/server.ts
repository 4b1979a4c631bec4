/**
 * Which server is it, is a model loaded, and what does the server say about itself. TabbyAPI is known by `/v1/model`
 * (`owned_by: "tabbyAPI"`); `/health` is not asked, as it says "unhealthy" for ever after one failed generation and "healthy"
 * without a model.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, codeOf, EXIT, messageOf, unreachableError, usageError } from '../errors.ts';
import { nowMs } from '../record/clock.ts';
import { connectWords, wayWords } from './connect-error.ts';
import { AnswerTimeout, askSmall, type SmallAnswer } from './http-json.ts';
import type { Presence } from './outage.ts';
import type { Route } from './route.ts';

/** Kinds of servers that are told apart. */
export type ServerKind = 'tabbyapi' | 'vllm' | 'openai';

/** What was found. */
export interface ServerFound {
  readonly kind: ServerKind;
  /** Name for the payload; null when the server names none. */
  readonly model: string | null;
  /** Name for results (`root` of vLLM's list, where it differs). */
  readonly modelRoot: string | null;
  /** `parameters` of TabbyAPI's `/v1/model`: max_seq_len, cache_size, max_batch_size, chunk_size, … */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** What to ask, and how long. */
export interface FindServer {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `--server`: which kind to take it for, or find out. */
  readonly kind: ServerKind | 'auto';
  /** The user named a model: what the server lists is only asked for its kind. */
  readonly hasModel: boolean;
  /** Ask for the list even so. vLLM's client does not. */
  readonly asksKind: boolean;
  /** How long to wait until it answers and has a model loaded, ms; Infinity = for ever. */
  readonly readyMs: number;
  readonly route: Route;
  /** Called once when the first try did not succeed and more will follow. */
  onWaiting(reason: string): void;
}

/** What a single question needs. */
type Question = Pick<FindServer, 'baseUrl' | 'headers' | 'kind' | 'readyMs' | 'route'>;

const ASK_TIMEOUT_MS = 10_000;
const RETRY_MS = 250;

/**
 * Finds out about the server, waiting until it is ready.
 * @throws AppError: unreachable or not ready (4), key refused (2)
 */
export async function findServer(find: FindServer): Promise<ServerFound> {
  const deadline = nowMs() + find.readyMs;
  let isTold = false;
  for (;;) {
    const step = await tryOnce(find);
    if ('found' in step) return step.found;
    if (nowMs() + RETRY_MS > deadline) throw step.error;
    if (!isTold) find.onWaiting(step.error.message);
    isTold = true;
    await sleep(RETRY_MS);
  }
}

/** Is the server there, with a model? For a run that waits for it to come back. Never rejects. */
export async function askPresence(find: Question): Promise<Presence> {
  try {
    const isTabbyApi = find.kind === 'tabbyapi';
    const answer = await ask(find, isTabbyApi ? '/v1/model' : '/v1/models');
    if (answer instanceof AppError) return { isThere: false, reason: answer.message };
    if (isTabbyApi && answer.status === 200 && isTabby(answer.json)) {
      return { isThere: true, model: tabbyFound(answer.json).model };
    }
    // What other servers say about models is their affair; that they say something other than an error of theirs is enough.
    if (!isTabbyApi && answer.status < 500) {
      const id = firstModel(answer.json)?.['id'];
      return { isThere: true, model: typeof id === 'string' ? id : null };
    }
    return { isThere: false, reason: `${find.baseUrl} is not ready: ${answer.status} ${words(answer)}` };
  } catch (error) {
    return { isThere: false, reason: messageOf(error) };
  }
}

type Step = { readonly found: ServerFound } | { readonly error: AppError };

async function tryOnce(find: FindServer): Promise<Step> {
  if (find.kind === 'vllm' || find.kind === 'openai') return listedModel(find, find.kind);
  const answer = await ask(find, '/v1/model');
  if (answer instanceof AppError) return { error: answer };
  if (answer.status === 200 && isTabby(answer.json)) return { found: tabbyFound(answer.json) };
  if (answer.status === 401 || answer.status === 403) throw keyRefused(find, answer);
  if (answer.status === 503 && /No models are currently loaded/.test(answer.text)) {
    return {
      error: unreachableError(
        `${find.baseUrl} has no model loaded`,
        'Load one (POST /v1/model/load, or model_name in config.yml), or wait longer with --ready-timeout 5m.',
      ),
    };
  }
  if (find.kind === 'tabbyapi') {
    throw new AppError(
      EXIT.wrongServer,
      `${find.baseUrl} is not TabbyAPI: /v1/model answered ${answer.status}`,
      'Check the address, or leave --server to auto.',
    );
  }
  return listedModel(find, 'auto');
}

/** Other servers: the first model of `/v1/models`, unless the user named one. */
async function listedModel(find: FindServer, kind: ServerKind | 'auto'): Promise<Step> {
  if (find.hasModel && (kind !== 'auto' || !find.asksKind)) {
    return { found: { kind: kind === 'vllm' ? 'vllm' : 'openai', model: null, modelRoot: null, parameters: {} } };
  }
  const answer = await ask(find, '/v1/models');
  if (answer instanceof AppError) return { error: answer };
  if (answer.status === 401 || answer.status === 403) throw keyRefused(find, answer);
  const first = firstModel(answer.json);
  if (answer.status === 200 && first !== null) {
    const isVllm = first['owned_by'] === 'vllm';
    return {
      found: {
        kind: kind === 'auto' ? (isVllm ? 'vllm' : 'openai') : (kind as ServerKind),
        model: String(first['id']),
        modelRoot: typeof first['root'] === 'string' ? first['root'] : null,
        parameters: {},
      },
    };
  }
  if (find.hasModel) return { found: { kind: 'openai', model: null, modelRoot: null, parameters: {} } };
  if (answer.status === 503)
    return { error: unreachableError(`${find.baseUrl} is not ready: ${answer.status} ${words(answer)}`) };
  throw unreachableError(
    `${find.baseUrl} tells no model: /v1/models answered ${answer.status} ${words(answer)}`.trimEnd(),
    /\/v1\/?$/.test(find.baseUrl)
      ? 'Leave /v1 out of --base-url: the endpoints begin with it.'
      : 'Is this an OpenAI-compatible server? Name the model with --model if it does not list one.',
  );
}

async function ask(find: Question, path: string): Promise<SmallAnswer | AppError> {
  const timeoutMs = Math.max(RETRY_MS, Math.min(ASK_TIMEOUT_MS, find.readyMs));
  const { headers, route } = find;
  try {
    const basePath = new URL(find.baseUrl).pathname.replace(/\/$/, '');
    return await askSmall({ route, path: `${basePath}${path}`, headers, timeoutMs });
  } catch (error) {
    const code = codeOf(error);
    if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
      throw unreachableError(
        connectWords(wayWords(route), error),
        'Use --insecure to skip the verification of its certificate.',
        error,
      );
    }
    if (/WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH|EPROTO/.test(`${code} ${messageOf(error)}`)) {
      throw unreachableError(
        `${find.baseUrl} does not speak TLS`,
        `Use http:// in place of https://: ${find.baseUrl.replace(/^https:/, 'http:')}`,
        error,
      );
    }
    if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code) || error instanceof AnswerTimeout) {
      return unreachableError(
        `${find.baseUrl} accepts connections but does not answer ${path}`,
        'Is the server busy or stuck?',
      );
    }
    if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' || isParserError(error)) {
      const what = isParserError(error) ? 'what it answered is not HTTP/1.1' : 'its answer is far too long';
      return unreachableError(
        `${find.baseUrl} accepts connections, but is no server of this kind: ${what}`,
        'Check address and port, or what stands between (a proxy, a tunnel).',
        error,
      );
    }
    if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG')
      throw usageError(`--base-url: ${messageOf(error)}`);
    return unreachableError(
      connectWords(wayWords(route), error),
      'Start the server, or give its address with --base-url (and more time with --ready-timeout).',
      error,
    );
  }
}

function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError';
}

function keyRefused(find: FindServer, answer: SmallAnswer): AppError {
  return usageError(
    `${find.baseUrl} refuses the key: ${answer.status} ${words(answer)}`,
    'Give the right one in TABBY_API_KEY (or --api-key); TabbyAPI prints its keys in api_tokens.yml.',
  );
}

/** The server's words of an error: `detail`, `error.message`, or the text. */
function words(answer: SmallAnswer): string {
  const json = answer.json as { detail?: unknown; error?: { message?: unknown } } | undefined | null;
  const said = json?.detail ?? json?.error?.message ?? answer.text;
  // Pages are not for reading on a terminal: their text is.
  const text = (typeof said === 'string' ? said : JSON.stringify(said)).replace(/<[^>]*>/g, ' ');
  return text.replace(/\s+/g, ' ').trim().slice(0, 300);
}

function isTabby(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && (json as Record<string, unknown>)['owned_by'] === 'tabbyAPI';
}

function tabbyFound(json: Record<string, unknown>): ServerFound {
  const parameters = json['parameters'];
  return {
    kind: 'tabbyapi',
    model: typeof json['id'] === 'string' ? json['id'] : null,
    modelRoot: null,
    parameters: typeof parameters === 'object' && parameters !== null ? (parameters as Record<string, unknown>) : {},
  };
}

function firstModel(json: unknown): Record<string, unknown> | null {
  const data = typeof json === 'object' && json !== null ? (json as Record<string, unknown>)['data'] : undefined;
  const first: unknown = Array.isArray(data) ? data[0] : undefined;
  return typeof first === 'object' && first !== null && 'id' in first ? (first as Record<string, unknown>) : null;
}

const PAGE_TOKENS = 256;

/** How many jobs of a prompt length TabbyAPI can run at once, and what bounds them. */
export interface JobBound {
  readonly jobs: number;
  readonly by: 'max_batch_size' | 'cache_size';
  readonly maxBatchSize: number | null;
  readonly cacheSize: number | null;
  readonly pagesPerJob: number | null;
}

/**
 * The rule of exllamav3's job queue with output chunking (TabbyAPI's default): a job needs free batch slots and
 * ceil((P − 1 + chunk_size) / 256) free cache pages of 256 tokens, whatever its max_tokens.
 * @returns null when the server does not tell enough
 */
export function jobBound(parameters: Readonly<Record<string, unknown>>, promptTokens: number): JobBound | null {
  const maxBatchSize = positive(parameters['max_batch_size']);
  const cacheSize = positive(parameters['cache_size']);
  const chunkSize = positive(parameters['chunk_size']);
  const pagesPerJob = chunkSize === null ? null : Math.ceil((promptTokens - 1 + chunkSize) / PAGE_TOKENS);
  const byCache = cacheSize === null || pagesPerJob === null ? null : Math.floor(cacheSize / PAGE_TOKENS / pagesPerJob);
  if (maxBatchSize === null && byCache === null) return null;
  const jobs = Math.min(maxBatchSize ?? Number.POSITIVE_INFINITY, byCache ?? Number.POSITIVE_INFINITY);
  return { jobs, by: jobs === byCache ? 'cache_size' : 'max_batch_size', maxBatchSize, cacheSize, pagesPerJob };
}

function positive(value: unknown): number | null {
  return typeof value === 'number' && value > 0 ? value : null;
}
