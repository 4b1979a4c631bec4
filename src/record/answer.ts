/**
 * What the transport needs of whoever reads an answer's bytes. The reader lives in `src/sse` and is put in by `worker.ts`, so that
 * neither folder imports the other.
 */

/** Which form of frames a stream has. */
export type FrameForm = 'chat' | 'completions';

/** What went wrong in the bytes of a stream, with the server's words. */
export interface StreamFault {
  readonly kind: 'stream_error' | 'parse' | 'event_too_large';
  readonly words: string;
}

/** Reads one answer at a time: `begin` → `feed` … → `end`, then its fields. Dates are in ms on the run's clock. */
export interface AnswerReader {
  /** Arrival of each token frame; only the first {@link tokenFrames} entries count. */
  readonly times: Float64Array;
  readonly tokenFrames: number;
  readonly reasoningFrames: number;
  /** Token frames that came in the same socket read as the token frame before. */
  readonly mergedFrames: number;
  /** Socket reads that carried bytes of the body. */
  readonly reads: number;
  /** Arrival of the first frame with answer text or tool calls; NaN before. */
  readonly firstAnswerMs: number;
  /** Arrival of the last event that was not a ping; the start of the answer before the first. */
  readonly lastEventMs: number;
  /** Tokens counted by `logprobs` entries; 0 when the server sends none. */
  readonly logprobTokens: number;
  /** The last non-empty usage object. */
  readonly usage: Readonly<Record<string, unknown>> | null;
  /** `[DONE]` was seen. */
  readonly isDone: boolean;
  /** Something other than line ends and comments came behind `[DONE]`. */
  readonly hasTrailingGarbage: boolean;
  readonly fault: StreamFault | null;
  /** Finish reason of the first choice that has one; null when none was sent. */
  readonly finishReason: string | null;
  /** TabbyAPI's `eos_reason`, from frames without usage. */
  readonly eosReason: string | null;
  /** Every choice that was seen, and at least one, has a finish reason. */
  readonly isFinished: boolean;
  /** Number of choices with a finish reason. */
  readonly finishedChoices: number;
  /** The text made, choice after choice; '' unless it was to be kept. */
  readonly generatedText: string;
  /** Starts a new answer. `keepText`: hold the generated text in memory until the next `begin`. */
  begin(form: FrameForm, keepText: boolean, startMs: number): void;
  /**
   * Takes bytes of the body.
   * @param atMs when the socket read that brought them began to be handled
   * @param read serial number of that read, to tell frames that shared one
   * @param start where the bytes begin in `chunk`; 0 when left out
   * @param length where they end; the chunk's length when left out
   */
  feed(chunk: Uint8Array, atMs: number, read: number, start?: number, length?: number): void;
  /** The body has ended: takes what is left. Dates are those of the last read. */
  end(): void;
}
