/**
 * A backend: which body a request has and which form its answer. One small file each (`openai-chat.ts`,
 * `openai-completions.ts`), so that others can follow without touching the hot path.
 */
import type { Prompt } from '../dataset/sample.ts';
import { type PyJson, pythonJson } from '../python-json.ts';
import type { FrameForm } from '../record/answer.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiCompletions } from './openai-completions.ts';

/** What is the same for all requests of a run. */
export interface BodyOptions {
  /** Model in the payload (`--served-model-name`, or the model). */
  readonly model: string;
  /** Ask for server-sent events. */
  readonly stream: boolean;
  /** Ask for usage: always in a stream; TabbyAPI wants to be asked for it in a whole answer too, others refuse that. */
  readonly askUsage: boolean;
  readonly ignoreEos: boolean;
  /** Completions only: `logprobs`, null when not asked for. */
  readonly logprobs: number | null;
  /** Sampling options that were given, then `--extra-body`: merged into the payload, replacing in place. */
  readonly extraBody: Readonly<Record<string, PyJson>>;
  /** `min_tokens` = the output length (TabbyAPI: makes the length certain, as the shim does). */
  readonly forceLength: boolean;
  /** Ask for what TabbyAPI needs to make exactly the output length (see {@link lengthFields}). */
  readonly exactLength: boolean;
  /** Draft tokens per step of the server, which end an answer that much earlier. */
  readonly draftTokens: number;
  /** Never send a null: TabbyAPI breaks on some of them. */
  readonly omitNulls: boolean;
}

/** What differs from request to request. */
export interface BodyInput {
  readonly prompt: Prompt;
  readonly outputLen: number;
}

/** A backend by its parts. */
export interface Backend {
  readonly form: FrameForm;
  /** What the end of the URL must be, as vLLM demands it. */
  readonly urlSuffixes: readonly string[];
  /** Headers that vLLM sends on its own account. */
  readonly headers: readonly (readonly [string, string])[];
  body(input: BodyInput, options: BodyOptions): Readonly<Record<string, PyJson>>;
}

const BACKENDS: Readonly<Record<string, Backend>> = {
  'openai-chat': openaiChat,
  openai: openaiCompletions,
  vllm: openaiCompletions,
};

/** The backend of a `--backend` name that the options table accepts. */
export function backendOf(name: string): Backend {
  const backend = BACKENDS[name];
  if (backend === undefined) throw new Error(`no backend ${name}`);
  return backend;
}

/** The bytes of a request's body: JSON in Python's form, as vLLM sends it. */
export function bodyBytes(backend: Backend, input: BodyInput, options: BodyOptions): Buffer {
  const payload = { ...backend.body(input, options) };
  if (options.omitNulls) for (const key of Object.keys(payload)) if (payload[key] === null) delete payload[key];
  return Buffer.from(pythonJson(payload));
}
