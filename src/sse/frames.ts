/**
 * Reads one parsed frame of a streaming answer: what it says about tokens, usage, finish and errors, for the chat and the text
 * completions form. The token rule is the shim's: a frame is a token when the first choice it lists carries non-empty
 * `content`, `reasoning_content`, `reasoning` or `tool_calls` (chat), or non-empty `text` (completions). Role-only
 * frames, empty deltas, usage frames and pings are not.
 */
import type { FrameForm } from '../record/answer.ts';
import type { TokenKind } from './template.ts';

/** A choice's part of a frame. */
export interface ChoicePart {
  /** `index` of the choice; its place in the list when the server names none. */
  readonly index: number;
  readonly reasoning: string;
  readonly text: string;
  readonly hasToolCalls: boolean;
  /** null while the choice goes on. */
  readonly finishReason: string | null;
  /** TabbyAPI's reason for the end, only in frames without usage. */
  readonly eosReason: string | null;
  /** Entries of `logprobs`: the only exact count of tokens in a frame. 0 when there are none. */
  readonly logprobTokens: number;
}

/** What one frame says. */
export interface FrameReading {
  readonly choices: readonly ChoicePart[];
  /** A non-empty usage object, as the server sent it. */
  readonly usage: Readonly<Record<string, unknown>> | null;
  /** The server's words when the frame says that it failed. */
  readonly error: string | null;
  /** Where a template finds the text, when the frame is a plain token frame (one choice, one text, nothing else told). */
  readonly plain: { readonly kind: TokenKind; readonly path: readonly (string | number)[] } | null;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * @param frame a parsed event
 * @param isErrorType whether the event's type was `error`
 * @returns null when the event is no JSON object, so no frame of this protocol
 */
export function readFrame(frame: unknown, form: FrameForm, isErrorType: boolean): FrameReading | null {
  if (!isObject(frame)) return null;
  const usage = isObject(frame['usage']) && Object.keys(frame['usage']).length > 0 ? frame['usage'] : null;
  const list = Array.isArray(frame['choices']) ? (frame['choices'] as unknown[]) : [];
  const choices: ChoicePart[] = [];
  for (const [place, choice] of list.entries()) {
    if (isObject(choice)) choices.push(form === 'chat' ? chatChoice(choice, place) : completionChoice(choice, place));
  }
  const error = errorWords(frame, isErrorType);
  const plain = usage === null && error === null && list.length === 1 ? plainPath(list[0], choices[0], form) : null;
  return { choices, usage, error, plain };
}

/** Does the frame count as a token? Goes by the first choice listed, as vLLM's client does. */
export function isTokenFrame(reading: FrameReading): boolean {
  const first = reading.choices[0];
  return first !== undefined && (first.text !== '' || first.reasoning !== '' || first.hasToolCalls);
}

function chatChoice(choice: Json, place: number): ChoicePart {
  const delta = isObject(choice['delta']) ? choice['delta'] : {};
  const toolCalls = delta['tool_calls'];
  const logprobs = isObject(choice['logprobs']) ? choice['logprobs']['content'] : undefined;
  return {
    index: choiceIndex(choice, place),
    reasoning: textOf(delta['reasoning_content']) || textOf(delta['reasoning']),
    text: textOf(delta['content']),
    hasToolCalls: Array.isArray(toolCalls) && toolCalls.length > 0,
    ...endOf(choice),
    logprobTokens: Array.isArray(logprobs) ? logprobs.length : 0,
  };
}

function completionChoice(choice: Json, place: number): ChoicePart {
  const logprobs = isObject(choice['logprobs']) ? choice['logprobs']['tokens'] : undefined;
  return {
    index: choiceIndex(choice, place),
    reasoning: '',
    text: textOf(choice['text']),
    hasToolCalls: false,
    ...endOf(choice),
    logprobTokens: Array.isArray(logprobs) ? logprobs.length : 0,
  };
}

function endOf(choice: Json): { finishReason: string | null; eosReason: string | null } {
  const finish = choice['finish_reason'];
  const eos = choice['eos_reason'];
  return { finishReason: typeof finish === 'string' ? finish : null, eosReason: typeof eos === 'string' ? eos : null };
}

function choiceIndex(choice: Json, place: number): number {
  const index = choice['index'];
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 ? index : place;
}

/** Text of a delta: a string, or a list of parts with `text` as some servers send it. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value
    .map((part: unknown) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** The words of an error frame: OpenAI's `error` object, a bare string, or the whole event when only its type says so; else null. */
export function errorWords(frame: Json, isErrorType: boolean): string | null {
  const error = frame['error'];
  if (typeof error === 'string' && error !== '') return error;
  if (isObject(error)) return typeof error['message'] === 'string' ? error['message'] : JSON.stringify(error);
  // A number, true, a list: no form that is known, but no frame of an answer either.
  if (error !== undefined && error !== null && error !== false && error !== '') return JSON.stringify(error);
  if (isErrorType) return JSON.stringify(frame);
  // vLLM's and FastAPI's other forms: {"object": "error", "message": …} and {"detail": …} in place of a frame.
  if (frame['object'] === 'error') return textOf(frame['message']) || JSON.stringify(frame);
  const { choices, detail } = frame;
  if (choices === undefined && typeof detail === 'string') return detail;
  if (choices === undefined && detail !== undefined && detail !== null) return JSON.stringify(detail);
  return null;
}

function plainPath(raw: unknown, choice: ChoicePart | undefined, form: FrameForm): FrameReading['plain'] {
  if (choice === undefined || !isObject(raw)) return null;
  if (choice.finishReason !== null || choice.hasToolCalls || choice.logprobTokens > 0) return null;
  if (form === 'completions') {
    return typeof raw['text'] === 'string' && raw['text'] !== ''
      ? { kind: 'answer', path: ['choices', 0, 'text'] }
      : null;
  }
  if (!isObject(raw['delta'])) return null;
  const filled = Object.entries(raw['delta']).filter(
    ([key, value]) => key !== 'role' && value !== null && value !== '',
  );
  const [only] = filled;
  if (filled.length !== 1 || only === undefined || typeof only[1] !== 'string') return null;
  const [key] = only;
  if (key === 'content') return { kind: 'answer', path: ['choices', 0, 'delta', key] };
  if (key === 'reasoning_content' || key === 'reasoning')
    return { kind: 'reasoning', path: ['choices', 0, 'delta', key] };
  return null;
}

/** A JSON object, not an array or null. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
