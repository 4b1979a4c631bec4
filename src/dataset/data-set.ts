/**
 * What every data set looks like from outside. A new data set is one file that exports a {@link DataSet}, one line in the table of
 * `load.ts`, and, when it has options of its own, one more member here.
 */
import type { DataSetOptions } from './data-set-options.ts';
import type { NumpyRandom } from './numpy-random.ts';
import type { PythonRandom } from './python-random.ts';
import type { SampleRequest } from './sample.ts';
import type { TokenCounter } from './tokenizer.ts';

/** vLLM's names of data sets (`--dataset-name`). Not all are built yet: `load.ts` says which. */
export const DATA_SET_NAMES = [
  'sharegpt',
  'burstgpt',
  'sonnet',
  'random',
  'random-mm',
  'random-rerank',
  'hf',
  'custom',
  'custom_audio',
  'custom_image',
  'prefix_repetition',
  'spec_bench',
  'speed_bench',
  'timed_trace',
] as const;

/** One of {@link DATA_SET_NAMES}. */
export type DataSetName = (typeof DATA_SET_NAMES)[number];

/** What to sample. Plain data, so that it can be built from any set of options and by tests. */
export interface DataSetRequest extends DataSetOptions {
  /** `auto`: told from the file's first bytes. */
  readonly name: DataSetName | 'auto';
  /** The file; null for data sets that are generated. */
  readonly path: string | null;
  /** `--num-prompts`; 0 or less means all rows where vLLM says so (custom, spec_bench). */
  readonly numPrompts: number;
  /** `--seed`, 0 to 2^32 − 1. */
  readonly seed: number;
  /** `--disable-shuffle`: keep the file's order. */
  readonly disableShuffle: boolean;
  /** `--no-oversample`: do not repeat rows when there are too few. */
  readonly noOversample: boolean;
  /** `--request-id-prefix`. */
  readonly requestIdPrefix: string;
  /**
   * `shim`: what TabbyAPI needs (Spec-Bench sends the raw first turn; the server applies its template once). `stock`: as
   * unmodified vLLM does (the chat template is applied on the client).
   */
  readonly mode: 'shim' | 'stock';
  /** `--enable-multimodal-chat`: prompts become lists of chat messages where the data set knows how. */
  readonly enableMultimodalChat: boolean;
  /** `--skip-chat-template` (custom; Spec-Bench ignores it, as vLLM does). */
  readonly skipChatTemplate: boolean;
  /** `--sharegpt-output-len` (or `--output-len`): tokens to ask for in place of the reply's length; null when not given. */
  readonly sharegptOutputLen: number | null;
  /** `--unique-prompts`: text from which each prompt's nonce is made, another one in each run; absent: no nonces. */
  readonly uniqueNonce?: string;
  /** `--spec-bench-output-len` (or `--output-len`). */
  readonly specBenchOutputLen: number;
  /** `--spec-bench-category`: keep this category only; null or empty: all. */
  readonly specBenchCategory: string | null;
}

/** What a data set gives back. */
export interface SampledSet {
  readonly samples: readonly SampleRequest[];
  /** Lines for the user about what is unusual (rows repeated, rows left out), without a full stop at the end. */
  readonly notes: readonly string[];
}

/** A data set: a name and how to sample it. */
export interface DataSet {
  readonly name: DataSetName;
  /** It reads a file: `path` is not null when {@link DataSet.sample} is called. */
  readonly needsFile: boolean;
  /**
   * Takes the samples. `random` is Python's global generator and `numpy` numpy's, both already seeded with `--seed`; the data set
   * leaves them in the state that vLLM's would be in, since LoRA names and arrivals are drawn from them afterwards. Throws AppError
   * on bad input.
   */
  sample(
    request: DataSetRequest,
    tokenizer: TokenCounter | null,
    random: PythonRandom,
    numpy: NumpyRandom,
  ): Promise<SampledSet>;
}
