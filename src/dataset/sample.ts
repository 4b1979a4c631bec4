/** One chat message as it goes into a payload. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly Readonly<Record<string, unknown>>[];
}

/**
 * A prompt: text; a list of texts (batched random prompts); token ids (traces); or ready-made messages (`--enable-multimodal-chat`,
 * conversations).
 */
export type Prompt = string | readonly string[] | readonly number[] | readonly ChatMessage[];

/** One request to be sent, as a data set yields it. vLLM's `SampleRequest`. */
export interface SampleRequest {
  readonly prompt: Prompt;
  /** Prompt length in tokens by the client's tokenizer. */
  readonly promptLen: number;
  /** Output tokens to ask for. */
  readonly outputLen: number;
  /** `--request-id-prefix` + index, or null for data sets that set none (prefix_repetition). */
  readonly requestId: string | null;
  /** Category of the row, for reports by category (Spec-Bench). */
  readonly category?: string;
  /** Planned start after the scheduler's start, in seconds, for traces that carry their own times. */
  readonly plannedS?: number;
}
