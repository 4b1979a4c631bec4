/** The clients that are compared, and how to read what they say. All take the command line of `vllm bench serve`. */

/** One client. */
export interface Client {
  readonly name: string;
  /** What stands before the flags. */
  readonly command: readonly string[];
}

/** What is asked of each client. */
export interface Load {
  readonly url: string;
  readonly model: string;
  /** Folder of a tokenizer. */
  readonly tokenizer: string;
  readonly streams: number;
  readonly requests: number;
  readonly tokens: number;
  /** Folder and name of the result. */
  readonly resultDir: string;
  readonly resultName: string;
}

/** The flags, the same for every client. */
export function flagsOf(load: Load): readonly string[] {
  return [
    ...['--backend', 'openai-chat', '--endpoint', '/v1/chat/completions', '--base-url', load.url],
    ...['--model', load.model, '--tokenizer', load.tokenizer],
    ...['--dataset-name', 'random', '--random-input-len', '32', '--random-output-len', String(load.tokens)],
    ...['--max-concurrency', String(load.streams), '--num-prompts', String(load.requests)],
    ...['--percentile-metrics', 'ttft,tpot,itl,e2el', '--metric-percentiles', '50,99', '--disable-tqdm'],
    ...['--save-result', '--save-detailed', '--result-dir', load.resultDir, '--result-filename', load.resultName],
  ];
}

/** What a client reports, as far as it is compared. */
export interface Said {
  readonly completed: number;
  readonly failed: number;
  readonly durationS: number;
  readonly ttftMeanMs: number;
  readonly ttftP99Ms: number;
  readonly gapP99Ms: number;
  /** Events that it took for tokens: gaps, and one more for each completed request. */
  readonly events: number;
}

/** Reads a result file. @throws Error when a figure is missing */
export function readSaid(text: string): Said {
  const result = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const number = (key: string): number => {
    const value = result[key];
    if (typeof value !== 'number') throw new Error(`the result has no ${key}`);
    return value;
  };
  const itls = result['itls'];
  if (!Array.isArray(itls)) throw new Error('the result has no itls');
  const completed = number('completed');
  return {
    completed,
    failed: number('failed'),
    durationS: number('duration'),
    ttftMeanMs: number('mean_ttft_ms'),
    ttftP99Ms: number('p99_ttft_ms'),
    gapP99Ms: number('p99_itl_ms'),
    events: itls.reduce((sum: number, gaps) => sum + (gaps as unknown[]).length, 0) + completed,
  };
}
