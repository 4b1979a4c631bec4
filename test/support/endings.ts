/**
 * Every way in which a request can end, and what the program has to say about it: the promise of the README ("How a request can end"),
 * the tests of faults, and `npm run faults` all go by this table.
 */
import type { FailureKind } from '../../src/record/record.ts';

/** Output tokens asked of every request, and made by a TabbyAPI that is well (one fewer). */
export const ASKED = 8;
export const MADE = ASKED - 1;

/** What is to be reported. */
export interface Expected {
  /** Kind of the failure; null = the request succeeds. */
  readonly kind: FailureKind | null;
  /** What the words of the failure must hold. */
  readonly words?: RegExp;
  /** Token frames that came before a failure; their timings stay in the record, apart. Left out: none. */
  readonly partial?: number | 'some';
  readonly status?: number;
  /** Requests that the server saw for it; left out: 1. */
  readonly hits?: number;
  /** Members of the record that must have these values. */
  readonly record?: Readonly<Record<string, unknown>>;
}

/** One row. */
export interface Ending {
  readonly name: string;
  /** What the server does, in the words of `script-words.ts`; several = one after the other for the tries of the same request. */
  readonly server: string | readonly string[];
  readonly expected: Expected;
  /** What the report says beside it. */
  readonly told?: string;
}

const WHOLE = `${MADE} tokens; finish ${MADE}; done; last`;

/** A stream without chunks around its events. */
const UNFRAMED =
  'data: {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": null}]}\\r\\n\\r\\n' +
  'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1, "prompt_tokens": 7}}\\r\\n\\r\\n' +
  'data: [DONE]\\r\\n\\r\\n';

/** Endings of requests on connections that are open. One run shows them all at once. */
export const ENDINGS: readonly Ending[] = [
  {
    name: 'complete',
    server: `head; ${WHOLE}`,
    expected: { kind: null, status: 200, record: { finish_reason: 'length' } },
  },
  {
    name: 'HTTP 400 with an error object',
    server: 'status 400 Bad Request: {"error": {"message": "Prompt length 8301 exceeds the available context size"}}',
    expected: { kind: 'http', status: 400, words: /^HTTP 400 Bad Request \{"error": \{"message": "Prompt length 8301/ },
  },
  {
    name: 'HTTP 429 with Retry-After, no retries asked for',
    server: 'status 429 Too Many Requests, retry-after: 1: {"detail": "slow down"}',
    expected: { kind: 'http', status: 429, words: /slow down/ },
  },
  {
    name: 'HTTP 500 in plain text',
    server: 'status 500 Internal Server Error: Internal Server Error',
    expected: { kind: 'http', status: 500, words: /^HTTP 500 Internal Server Error/ },
  },
  {
    name: 'HTTP 503, no model loaded',
    server: 'status 503 Service Unavailable: {"detail": "No models are currently loaded."}',
    expected: { kind: 'http', status: 503, words: /No models are currently loaded/ },
  },
  {
    name: 'redirect',
    server: 'status 307 Temporary Redirect, location: /v1/chat/completions/: ',
    expected: { kind: 'http', status: 307, words: /^HTTP 307/ },
  },
  { name: 'accepts and closes', server: 'close', expected: { kind: 'reset', words: /closed before an answer/ } },
  { name: 'reset before the headers', server: 'reset', expected: { kind: 'reset', words: /before an answer/ } },
  {
    name: 'closes within the headers',
    server: 'raw HTTP/1.1 200 OK\\r\\ncontent-type: text/ev; close',
    expected: { kind: 'reset', words: /closed before an answer/ },
  },
  {
    name: 'speaks no HTTP',
    server: 'raw SSH-2.0-OpenSSH_9.6\\r\\n; close',
    expected: { kind: 'parse', words: /not HTTP/ },
  },
  {
    name: 'headers without end',
    server: `head x-filler: ${'x'.repeat(40_000)}; hang`,
    expected: { kind: 'parse', words: /not HTTP before an answer/ },
  },
  {
    name: 'reset after the headers',
    server: 'head; wait 600; reset',
    expected: { kind: 'reset', status: 200, words: /before the first token/ },
  },
  {
    name: 'reset after some tokens',
    // Bytes and reset that are read at once look like an end to libuv (UV_HANDLE_READ_PARTIAL with POLLHUP): they are kept well apart.
    server: 'head; 3 tokens every 20; wait 600; reset',
    expected: { kind: 'reset', status: 200, partial: 3, words: /after 3 token frames/ },
  },
  {
    name: 'closed after some tokens (server stopped)',
    server: 'head; 3 tokens; close',
    expected: { kind: 'truncated', status: 200, partial: 3, words: /connection closed after 3 token frames/ },
  },
  {
    name: 'cut within a chunk',
    server: 'head; 3 tokens; raw 80\\r\\ndata: {"id": "chat; close',
    expected: { kind: 'truncated', partial: 3, words: /connection closed after 3 token frames/ },
  },
  {
    name: 'closed amid a chunk, as the headers had said',
    server: 'head connection: close; 3 tokens; raw 80\\r\\ndata: {"id": "chat; close',
    expected: { kind: 'truncated', partial: 3, words: /connection closed after 3 token frames/ },
  },
  {
    name: 'complete, then closed as the headers had said',
    server: `head connection: close; ${WHOLE}; close`,
    expected: { kind: null },
  },
  {
    name: 'complete, without a length: it ends with the connection',
    server: `raw HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\n${UNFRAMED}; close`,
    expected: { kind: null, record: { frames: 1 } },
  },
  {
    name: 'without a length, ended before it was complete',
    server: `raw HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\n${UNFRAMED.split('data: [DONE]')[0]}; close`,
    expected: { kind: 'truncated', partial: 1, words: /without \[DONE\]$/ },
  },
  {
    name: 'clean end without finish reason and [DONE]',
    server: 'head; 5 tokens; last',
    expected: { kind: 'truncated', partial: 5, words: /after 5 token frames without finish_reason and \[DONE\]/ },
  },
  {
    name: 'clean end without [DONE]',
    server: `head; ${MADE} tokens; finish ${MADE}; last`,
    expected: { kind: 'truncated', partial: MADE, words: /without \[DONE\]$/ },
  },
  {
    name: '[DONE] without finish reason',
    server: 'head; 5 tokens; done; last',
    expected: { kind: 'truncated', partial: 5, words: /without finish_reason$/ },
  },
  {
    name: '[DONE], then closed without the last chunk',
    server: `head; ${MADE} tokens; finish ${MADE}; done; close`,
    expected: { kind: 'truncated', partial: MADE, words: /connection closed after 7 token frames/ },
  },
  {
    name: 'error event as the first event',
    server: 'head; chunk data: {"error": {"message": "Chat completion aborted."}}\\r\\n\\r\\n; last',
    expected: { kind: 'stream_error', status: 200, words: /Chat completion aborted\./ },
  },
  {
    name: 'error event after some tokens',
    server: 'head; 5 tokens; chunk data: {"error": {"message": "Chat completion aborted."}}\\r\\n\\r\\n; last',
    expected: { kind: 'stream_error', status: 200, partial: 5, words: /Chat completion aborted\./ },
  },
  {
    name: 'HTML in place of a stream',
    server: 'status 200 OK: <html><h1>502 Bad Gateway</h1></html>',
    expected: { kind: 'parse', status: 200, words: /not an event stream \(content-type text\/html\): <html>/ },
  },
  {
    name: 'JSON in place of a stream',
    server: 'status 200 OK: {"id": "cmpl-1", "choices": [{"message": {"content": "a b c"}}]}',
    expected: { kind: 'parse', status: 200, words: /not an event stream \(content-type application\/json\)/ },
  },
  {
    name: 'empty stream',
    server: 'head; last',
    expected: { kind: 'no_tokens', status: 200, words: /Never received a token/ },
  },
  {
    name: 'complete answer with zero tokens',
    server: 'head; finish 0 stop; done; last',
    expected: { kind: 'no_tokens', words: /Never received a token/ },
  },
  {
    name: 'one event that is not JSON',
    server: `head; 2 tokens; chunk data: {"id": "x", "choices": [{"delta": {"content": " torn\\r\\n\\r\\n; ${WHOLE}`,
    expected: { kind: 'parse', partial: 2, words: /not a frame: \{"id": "x"/ },
  },
  {
    name: 'an event too large',
    server: 'head; 2 tokens; big 70000; last',
    expected: { kind: 'event_too_large', partial: 2, words: /--max-event-size/ },
  },
  {
    name: 'a chunk size that is no number',
    server: 'head; 2 tokens; raw zz\\r\\ndata: x\\r\\n; close',
    expected: { kind: 'parse', partial: 2, words: /not HTTP after 2 token frames/ },
  },
  {
    name: 'a chunk longer than its size says',
    server: 'head; 2 tokens; raw 5\\r\\ndata: {"id": 1}\\r\\n\\r\\n; hang',
    expected: { kind: 'parse', partial: 2, words: /not HTTP after 2 token frames/ },
  },
  {
    name: 'gzip although identity was asked for',
    server: `gzip head; ${WHOLE}`,
    expected: { kind: null, record: { content_encoding: 'gzip', frames: MADE, output_tokens: MADE } },
    told: 'unpacked; counted, as frames may have been held back',
  },
  {
    name: 'gzip that is none',
    server: 'head content-encoding: gzip; 3 tokens; last',
    expected: { kind: 'parse', words: /cannot be unpacked: gzip/ },
  },
  {
    name: 'shorter than it was forced to be',
    server: 'head; 3 tokens; finish 3 stop; done; last',
    expected: { kind: null, record: { output_tokens: 3, output_len: ASKED, finish_reason: 'stop' } },
    told: 'counted under "output length"',
  },
  {
    name: 'bytes behind [DONE]',
    server: `head; ${MADE} tokens; finish ${MADE}; done; chunk no frame at all\\r\\n\\r\\ndata: nor this\\r\\n\\r\\n; last`,
    expected: { kind: null, record: { trailing_garbage: true } },
    told: 'counted',
  },
  {
    name: 'never answers',
    server: 'hang',
    expected: { kind: 'timeout_first_token', words: /no token within 2 s/ },
  },
  {
    name: 'headers, then nothing but pings (a victim of another job)',
    server: 'head; forever 100: : ping - 2026-12-01 02:29:04+00:00\\r\\n\\r\\n',
    expected: { kind: 'timeout_first_token', status: 200, words: /no token within 2 s/ },
  },
  {
    name: 'tokens, then nothing but pings (a victim, or the model was unloaded)',
    server: 'head; 3 tokens; forever 100: : ping - 2026-12-01 02:29:04+00:00\\r\\n\\r\\n',
    expected: { kind: 'timeout_idle', status: 200, partial: 3, words: /no token for 1\.5 s after 3 token frames/ },
  },
  {
    name: 'tokens, then events without any',
    server:
      'head; 3 tokens; forever 100: data: {"id": "x", "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": null}]}\\r\\n\\r\\n',
    expected: { kind: 'timeout_idle', partial: 3, words: /no token for 1\.5 s/ },
  },
  {
    name: 'tokens that never come to an end',
    server: 'head; 1000 tokens every 200',
    expected: { kind: 'timeout_request', status: 200, partial: 'some', words: /not finished within 3 s/ },
  },
  {
    name: 'the words hold control characters',
    server: 'status 500 Oops: \\x1b[2J\\x1b]0\\x3bowned\\x07 \\x9b31m red',
    expected: { kind: 'http', status: 500, words: /owned/ },
  },
];

/** Time limits of the run that shows {@link ENDINGS}. */
export const ENDING_LIMITS = [
  '--first-token-timeout',
  '2s',
  '--token-timeout',
  '1.5s',
  '--request-timeout',
  '3s',
  '--max-event-size',
  '64KB',
];
