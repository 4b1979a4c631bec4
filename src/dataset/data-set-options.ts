/** The options of single data sets, under the names that the options table gives them; the defaults are vLLM's. Lengths in tokens. */

/** What a data set may need beyond what all of them share. */
export interface DataSetOptions {
  /** `--backend`: sonnet sends the templated prompt to completions and the raw one to chat. */
  readonly backend: string;
  /** `--chat-template-kwargs`: arguments for the tokenizer's chat template (custom, speed_bench); null: none. */
  readonly chatTemplateKwargs: Readonly<Record<string, unknown>> | null;
  /** `--custom-output-len`; −1 takes `output_tokens` of each row. */
  readonly customOutputLen: number;
  readonly randomInputLen: number;
  readonly randomOutputLen: number;
  /** Lengths vary by plus or minus this share, 0 ≤ share < 1. */
  readonly randomRangeRatio: { readonly input: number; readonly output: number };
  readonly randomPrefixLen: number;
  /** Prompts per request (embeddings). */
  readonly randomBatchSize: number;
  readonly sonnetInputLen: number;
  readonly sonnetOutputLen: number;
  readonly sonnetPrefixLen: number;
  readonly prefixRepetitionPrefixLen: number;
  readonly prefixRepetitionSuffixLen: number;
  readonly prefixRepetitionNumPrefixes: number;
  readonly prefixRepetitionOutputLen: number;
  /** Name of the file in the data set's folder, without `.jsonl`. */
  readonly speedBenchDatasetSubset: string;
  readonly speedBenchOutputLen: number;
  /** Keep this category only; null or empty: all. */
  readonly speedBenchCategory: string | null;
  /** Tokens that one hash id stands for. */
  readonly timedTraceChunkHashSize: number;
  /** Seconds per unit of the timestamps. */
  readonly timedTraceSecMultiplier: number;
  readonly timedTraceLabelTimestamp: string;
  readonly timedTraceLabelInputLength: string;
  readonly timedTraceLabelOutputLength: string;
  readonly timedTraceLabelHashIds: string;
  /** `--no-stream` in vLLM's sense: hf data sets are loaded whole, which shuffles them in another order. */
  readonly noStream: boolean;
  readonly hfSubset: string | null;
  readonly hfSplit: string | null;
  /** Hub name by whose rules a local file is read; null: the path is the name, or the columns tell. */
  readonly hfName: string | null;
  /** `--hf-output-len`; null: the reference answer's length, or the data set's default. */
  readonly hfOutputLen: number | null;
  /** hf Blazedit: rows whose `norm_distance` lies outside are passed over. */
  readonly blazeditMinDistance: number;
  readonly blazeditMaxDistance: number;
}

/** vLLM's defaults, for callers without an options table (benchmarks, tests). */
export const DATA_SET_DEFAULTS: DataSetOptions = {
  backend: 'openai',
  chatTemplateKwargs: null,
  customOutputLen: 256,
  randomInputLen: 1024,
  randomOutputLen: 128,
  randomRangeRatio: { input: 0, output: 0 },
  randomPrefixLen: 0,
  randomBatchSize: 1,
  sonnetInputLen: 550,
  sonnetOutputLen: 150,
  sonnetPrefixLen: 200,
  prefixRepetitionPrefixLen: 256,
  prefixRepetitionSuffixLen: 256,
  prefixRepetitionNumPrefixes: 10,
  prefixRepetitionOutputLen: 128,
  speedBenchDatasetSubset: 'qualitative',
  speedBenchOutputLen: 4096,
  speedBenchCategory: null,
  timedTraceChunkHashSize: 16,
  timedTraceSecMultiplier: 1,
  timedTraceLabelTimestamp: 'timestamp',
  timedTraceLabelInputLength: 'input_length',
  timedTraceLabelOutputLength: 'output_length',
  timedTraceLabelHashIds: 'hash_ids',
  noStream: false,
  hfSubset: null,
  hfSplit: null,
  hfName: null,
  hfOutputLen: null,
  blazeditMinDistance: 0,
  blazeditMaxDistance: 1,
};
