/**
 * Event streams for the micro-benchmarks: seeded, in the shapes that servers really send, cut into reads as they come off a socket.
 * `test/bench/shapes.test.ts` proves with a reader of its own that each holds what it claims.
 */

/** One answer, and what is in it. */
export interface Shape {
  readonly name: string;
  readonly form: 'chat' | 'completions';
  /** Bytes of the body, one entry per socket read. */
  readonly reads: readonly Uint8Array[];
  /** Events with text, reasoning text included. */
  readonly tokenFrames: number;
  readonly reasoningFrames: number;
  /** UTF-16 units of the text, reasoning included. */
  readonly textLength: number;
  /** Entries of `logprobs`. */
  readonly logprobTokens: number;
}

/** Token frames of an answer. */
export const TOKENS = 500;

/** A small seeded generator (mulberry32): the streams are the same on every machine and in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const WORDS =
  ' the of and to in that it is was for on are with they be at one have this from by hot but some what'.split(' ');
const HARD = ['é', '漢字', '😀', '"', '\\', '\n', '\t', ' \u2028', '\u0085', '👩‍👩‍👧', 'ß', '\u0000'];

type Json = Readonly<Record<string, unknown>>;

/** How the events of one server look. */
interface Dialect {
  readonly lineEnd: '\r\n' | '\n';
  /** JSON as this server writes it. */
  write(value: unknown): string;
  frame(choice: Json): Json;
}

const HEX = '8c1d11ecd15a12ceb7a1384a1dcbac7d';

/** TabbyAPI: CRLF, spaces after separators, raw UTF-8. */
const TABBY: Dialect = {
  lineEnd: '\r\n',
  write: spaced,
  frame: (choice) => ({
    id: `chatcmpl-${HEX}`,
    object: 'chat.completion.chunk',
    created: 1796101607,
    choices: [{ index: 0, ...choice, finish_reason: null }],
    model: 'Stub-8B-exl3',
  }),
};

/** vLLM: LF, compact. */
const VLLM: Dialect = {
  lineEnd: '\n',
  write: (value) => JSON.stringify(value),
  frame: (choice) => ({
    id: `chatcmpl-${HEX}`,
    object: 'chat.completion.chunk',
    created: 1796101607,
    model: 'meta-llama/Llama-3.1-8B-Instruct',
    choices: [{ index: 0, ...choice, logprobs: null, finish_reason: null }],
  }),
};

/** Python's json.dumps with its default separators. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}

/** The same text in ASCII only, as `ensure_ascii` writes it. */
function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** An answer as a list of events: each a whole event with its line ends. */
interface Answer {
  readonly events: string[];
  tokenFrames: number;
  reasoningFrames: number;
  textLength: number;
  logprobTokens: number;
}

/** The words of a stream's tokens. */
function texts(seed: number, pool: readonly string[], perFrame = 1): string[] {
  const random = seeded(seed);
  const word = (): string => ` ${pool[Math.floor(random() * pool.length)]}`;
  return Array.from({ length: TOKENS }, () => Array.from({ length: perFrame }, word).join(''));
}

interface AnswerPlan {
  readonly dialect: Dialect;
  readonly texts: readonly string[];
  /** Frames in front that carry reasoning. */
  readonly reasoning?: number;
  readonly logprobs?: boolean;
  /** Usage in every frame. */
  readonly usage?: boolean;
  /** A comment after so many events. */
  readonly pingEvery?: number;
  readonly opensWithRole?: boolean;
  readonly encode?: (json: string) => string;
  /** Completions in place of chat. */
  readonly isCompletion?: boolean;
}

function answer(plan: AnswerPlan): Answer {
  const { dialect, reasoning = 0, encode = (json) => json } = plan;
  const out: Answer = { events: [], tokenFrames: 0, reasoningFrames: 0, textLength: 0, logprobTokens: 0 };
  const send = (data: string): void => void out.events.push(`data: ${data}${dialect.lineEnd}${dialect.lineEnd}`);
  const frame = (choice: Json, more: Json = {}): void =>
    send(encode(dialect.write({ ...dialect.frame(choice), ...more })));
  if (plan.opensWithRole) frame({ delta: { role: 'assistant', content: '' } });
  plan.texts.forEach((text, k) => {
    const isReasoning = k < reasoning;
    const choice: Json = plan.isCompletion
      ? { text }
      : { delta: { [isReasoning ? 'reasoning_content' : 'content']: text } };
    const logprobs = plan.logprobs ? { logprobs: { content: [entry(text)] } } : {};
    frame({ ...choice, ...logprobs }, plan.usage ? { usage: usageOf(k + 1) } : {});
    out.tokenFrames++;
    out.reasoningFrames += isReasoning ? 1 : 0;
    out.textLength += text.length;
    out.logprobTokens += plan.logprobs ? 1 : 0;
    if (plan.pingEvery !== undefined && k % plan.pingEvery === 0) {
      out.events.push(`: ping - 2026-12-01 02:29:04.374342+00:00${dialect.lineEnd}${dialect.lineEnd}`);
    }
  });
  const last = {
    ...dialect.frame({}),
    choices: [{ index: 0, ...(plan.isCompletion ? { text: '' } : { delta: {} }), finish_reason: 'length' }],
  };
  send(dialect.write({ ...last, usage: usageOf(TOKENS) }));
  send('[DONE]');
  return out;
}

function entry(text: string): Json {
  const top = [0, 1].map((k) => ({ token: text, token_id: k, logprob: -0.25 - k }));
  return { token: text, token_id: 0, logprob: -0.25, top_logprobs: top };
}

function usageOf(tokens: number): Json {
  return { prompt_tokens: 32, completion_tokens: tokens, total_tokens: 32 + tokens };
}

/** One event per read, as an idle client gets them. */
function perEvent({ events }: Answer): Uint8Array[] {
  return events.map((event) => Buffer.from(event));
}

/** Reads of this size, wherever they cut. */
function cut({ events }: Answer, size: number): Uint8Array[] {
  const bytes = Buffer.from(events.join(''));
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, k) => bytes.subarray(k * size, (k + 1) * size));
}

function shape(name: string, made: Answer, reads: readonly Uint8Array[], form: Shape['form'] = 'chat'): Shape {
  const { tokenFrames, reasoningFrames, textLength, logprobTokens } = made;
  return { name, form, reads, tokenFrames, reasoningFrames, textLength, logprobTokens };
}

/** All shapes. */
export function shapes(): readonly Shape[] {
  const plain = answer({ dialect: TABBY, texts: texts(1, WORDS) });
  const merged = answer({ dialect: TABBY, texts: texts(2, WORDS, 4) });
  const vllm = answer({ dialect: VLLM, texts: texts(3, WORDS), opensWithRole: true });
  const reasoning = answer({ dialect: TABBY, texts: texts(4, WORDS), reasoning: 200 });
  const escapes = answer({ dialect: VLLM, texts: texts(5, HARD), encode: ascii });
  const raw = answer({ dialect: TABBY, texts: texts(6, HARD) });
  const pings = answer({ dialect: TABBY, texts: texts(7, WORDS), pingEvery: 10 });
  const logprobs = answer({ dialect: TABBY, texts: texts(8, WORDS), logprobs: true });
  const usage = answer({ dialect: VLLM, texts: texts(9, WORDS), usage: true });
  const completion = answer({ dialect: TABBY, texts: texts(10, WORDS), isCompletion: true });
  return [
    shape('TabbyAPI chat, CRLF', plain, perEvent(plain)),
    shape('vLLM chat, LF', vllm, perEvent(vllm)),
    shape('completions, CRLF', completion, perEvent(completion), 'completions'),
    shape('4 tokens merged per frame', merged, perEvent(merged)),
    shape('reasoning, then answer', reasoning, perEvent(reasoning)),
    shape('escaped unicode', escapes, perEvent(escapes)),
    shape('raw unicode and escapes', raw, perEvent(raw)),
    shape('a ping after every tenth', pings, perEvent(pings)),
    shape('logprobs (parsed)', logprobs, perEvent(logprobs)),
    shape('usage in every frame (parsed)', usage, perEvent(usage)),
    shape('cut every 1,500 bytes', plain, cut(plain, 1500)),
    shape('drip: 4 bytes a read', plain, cut(plain, 4)),
    shape('flood: 64 KB a read', plain, cut(plain, 65_536)),
  ];
}
