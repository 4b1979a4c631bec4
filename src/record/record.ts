/**
 * The one shape of a request's outcome. Workers fill it, the codec writes it, the aggregate reads it, and `report` rebuilds every
 * figure from it. Field names and units (seconds as doubles) are those of the record file, which follows vLLM's request output;
 * DESIGN: docs in the README under "Record files".
 */

/** Schema name in the header of a record file. The number after the slash grows when a reader of the old form would go wrong. */
export const RECORD_SCHEMA = 'tabby-load.records/1';

/** Why a request did not succeed. The list is closed: reports, limits and tests go by these words. */
export type FailureKind =
  /** An HTTP status other than 200. */
  | 'http'
  /** No connection: refused, unreachable, name not found, TLS handshake failed. */
  | 'connect'
  /** The connection broke (reset or closed) before or amid the answer. */
  | 'reset'
  /** The answer ended without what a complete one has (finish reason, `[DONE]`, last chunk). */
  | 'truncated'
  /** The server said in the stream that it failed (an `error` object in an event). */
  | 'stream_error'
  /** An event that is not what the protocol says: invalid JSON, a wrong type, HTML or JSON in place of a stream. */
  | 'parse'
  /** An event larger than the limit. */
  | 'event_too_large'
  /** A complete answer without a single token. */
  | 'no_tokens'
  | 'timeout_connect'
  | 'timeout_first_token'
  | 'timeout_idle'
  | 'timeout_request'
  /** Given up by us: interrupt, drain time over, stop by a limit. */
  | 'aborted'
  /** The worker thread died with the request in flight. */
  | 'worker_lost';

/** What TabbyAPI's usage tells beyond token counts. Seconds as the server rounded them (2 decimals); absent when not told. */
export interface ServerTimes {
  /** Prefill start to first decode step. */
  readonly prompt_time?: number;
  /** First decode step to the end. */
  readonly completion_time?: number;
  /** Queue + prompt + completion. */
  readonly total_time?: number;
  /** total − prompt − completion, never below 0; only for n = 1, as TabbyAPI loses it for more. */
  readonly queue_time?: number;
}

/** One request as it ended. Times in seconds. */
export interface RequestRecord {
  readonly type: 'request';
  /** Index of the sample, from 0. Statistics are taken in this order, whatever the order of completion. */
  readonly i: number;
  readonly success: boolean;
  /** Prompt tokens: the server's count when it told one, else the client's. */
  readonly prompt_len: number;
  /** Prompt tokens by the client's count, where the server told another: what usage is checked against. */
  readonly client_prompt_len?: number;
  /** Completion tokens as the server counted them; null when it told none. */
  readonly output_tokens: number | null;
  /** Send to first token frame; 0 when there was none. */
  readonly ttft: number;
  /** Gaps between token frames. */
  readonly itl: ArrayLike<number>;
  /** Send to last token frame; 0 when there was none. */
  readonly latency: number;
  /** When the request was handed to the socket, on the system's monotonic clock. */
  readonly start_time: number;
  /** When the request was due (open loop) or released (closed loop), same clock. */
  readonly arrival_time: number;
  /** '' on success, else one line for a person. */
  readonly error: string;
  readonly error_kind?: FailureKind;
  /** HTTP status when there was an answer. */
  readonly status?: number;
  /** Output tokens that were asked for. */
  readonly output_len?: number;
  /** Worker thread that sent it. */
  readonly worker?: number;
  /** Token frames seen (their number is itl.length + 1 for a success). */
  readonly frames?: number;
  /** Token frames that shared a socket read with an earlier token frame: their gap is 0 on our clock. */
  readonly merged_frames?: number;
  /** Socket reads that carried bytes of the answer. */
  readonly reads?: number;
  /** Send to first byte of the answer (headers): on TabbyAPI long before the first token. */
  readonly first_byte?: number;
  /** Send to the first frame of answer text after reasoning frames; absent when there was no reasoning. */
  readonly first_answer?: number;
  /** Token frames that were reasoning. */
  readonly reasoning_frames?: number;
  /** Send to the end of the stream. */
  readonly end?: number;
  readonly finish_reason?: string | null;
  /** Time to open the connection when this request had to open one during the run. */
  readonly connect_s?: number;
  /** A kept-alive connection turned out to be closed; the request was sent again on a fresh one. */
  readonly stale_reconnect?: boolean;
  /** Sent again so often after a 429 or 503 (`--retries`); its times count from the first sending. */
  readonly retries?: number;
  /** Time spent on waiting before those retries, as the server asked for. */
  readonly retry_wait_s?: number;
  /** The body came compressed, though nothing but identity was asked for. */
  readonly content_encoding?: string;
  readonly server?: ServerTimes;
  /** Tokens counted by `logprobs` entries: exact where usage is not. */
  readonly logprob_tokens?: number;
  /** Something came behind `[DONE]`; the answer itself was complete. */
  readonly trailing_garbage?: boolean;
  readonly request_id?: string;
  readonly cached_tokens?: number;
  /** Tokens of the draft model that were accepted and rejected. */
  readonly accepted_tokens?: number;
  readonly rejected_tokens?: number;
  /** Data set category (Spec-Bench). */
  readonly category?: string;
  readonly generated_text?: string;
  /** Partial timings of a failed request, apart from those of successes: they enter no latency statistic. */
  readonly partial?: {
    readonly ttft: number;
    readonly itl: ArrayLike<number>;
    readonly latency: number;
    readonly frames: number;
  };
  readonly input_audio_duration?: number;
  readonly num_input_sequences?: number;
}

/** First frame of a record file. */
export interface RecordHeader {
  readonly type: 'header';
  readonly schema: string;
  /** ISO 8601, wall clock. */
  readonly started_at: string;
  /** The options of the run under vLLM's names (snake case), without secrets. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly server?: Readonly<Record<string, unknown>>;
  /** SHA-256 of the sample manifest. */
  readonly samples_sha256?: string;
  /** Requests that are to be sent. */
  readonly planned?: number;
  readonly [more: string]: unknown;
}

/** Last frame of a record file; absent when the run was killed. */
export interface RecordEnd {
  readonly type: 'end';
  readonly duration_s: number;
  readonly interrupted: boolean;
  readonly [more: string]: unknown;
}

/** Any frame of a record file. */
export type RecordFrame = RecordHeader | RequestRecord | RecordEnd;
