/** Whole answers: status lines, header sets and the odd bodies of errors, in TabbyAPI's forms (FastAPI behind uvicorn). */
import { dumpsCompact, dumpsSpaced, type PyJson } from './pyjson.ts';

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  307: 'Temporary Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Request Entity Too Large',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** A whole answer, ready to be sent. Headers are in the order sent, after date and server. */
export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers: readonly (readonly [string, string])[];
}

/** First line of an answer. */
export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${REASONS[status] ?? 'Unknown'}\r\n`;
}

/** A JSON body as FastAPI sends it. */
export function jsonAnswer(status: number, body: PyJson, extra: readonly (readonly [string, string])[] = []): Answer {
  const text = dumpsCompact(body);
  const length = String(Buffer.byteLength(text));
  return {
    status,
    body: text,
    headers: [...extra, ['content-length', length], ['content-type', 'application/json'], ['vary', 'Origin']],
  };
}

/** `{"detail": "…"}`: what FastAPI makes of an HTTPException. */
export function detailAnswer(
  status: number,
  detail: string,
  extra: readonly (readonly [string, string])[] = [],
): Answer {
  return jsonAnswer(status, { detail }, extra);
}

/** What an exception in a handler becomes: plain text, and no CORS header, as it is made outside of that layer. */
export function internalErrorAnswer(): Answer {
  return {
    status: 500,
    body: 'Internal Server Error',
    headers: [
      ['content-length', '21'],
      ['content-type', 'text/plain; charset=utf-8'],
    ],
  };
}

/** The object of OpenAI's errors, as TabbyAPI uses it for a context that is too small. */
function contextError(message: string): PyJson {
  return { error: { message, type: 'invalid_request_error', param: null, code: 'context_length_exceeded' } };
}

/** 400 for a prompt that does not fit. */
export function contextAnswer(message: string): Answer {
  return jsonAnswer(400, contextError(message));
}

/** The same in a stream. */
export function contextEvent(message: string): string {
  return dumpsSpaced(contextError(message));
}

/** The only event of a stream whose generation failed. */
export function abortedEvent(kind: 'chat' | 'completion'): string {
  const what = kind === 'chat' ? 'Chat completion' : 'Completion';
  return dumpsCompact({ error: { message: `${what} aborted. Please check the server console.`, trace: null } });
}

/** What a failed generation answers when nothing is streamed. */
export function abortedAnswer(kind: 'chat' | 'completion', id: string): Answer {
  const what = kind === 'chat' ? 'Chat completion' : 'Completion';
  return detailAnswer(503, `${what} ${id} aborted. Maybe the model was unloaded? Please check the server console.`);
}

/** One entry of pydantic's list of mistakes. */
export interface ValidationIssue {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: PyJson;
  readonly ctx?: PyJson | undefined;
}

/** 422 with the list of mistakes. */
export function validationAnswer(issues: readonly ValidationIssue[]): Answer {
  return jsonAnswer(422, { detail: issues.map(({ type, loc, msg, input, ctx }) => ({ type, loc, msg, input, ctx })) });
}

/** OpenAI's error body, as vLLM sends it. */
export function openaiErrorAnswer(status: number, message: string, type = 'BadRequestError'): Answer {
  return jsonAnswer(status, { error: { message, type, param: null, code: status } });
}
