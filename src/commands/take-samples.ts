/** The samples of a run, and the tokenizer that counted them. */
import type { CountTokens } from '../aggregate/collect.ts';
import { loadSamples } from '../dataset/load.ts';
import type { NumpyRandom } from '../dataset/numpy-random.ts';
import type { PythonRandom } from '../dataset/python-random.ts';
import type { SampleRequest } from '../dataset/sample.ts';
import { isLocalTokenizer, type TokenCounter } from '../dataset/tokenizer.ts';
import type { RunOptions } from '../options/table.ts';
import type { ServerFound } from '../transport/server.ts';
import { alignPrompts } from './align-prompts.ts';
import { countTokensBy } from './report.ts';
import { dataSetRequestOf, openTokenizerFor } from './samples.ts';

/** What a run sends, before it is turned into requests. */
export interface TakenSamples {
  /** The data set; with `--dataset FILE` the one that was recognised. */
  readonly name: string;
  readonly samples: readonly SampleRequest[];
  readonly notes: readonly string[];
  readonly tokenizerId: string | null;
  /** What `--unique-prompts` made the prompts unique with; null without. */
  readonly nonce: string | null;
  /** Python's and numpy's global generators as the data set has left them: LoRA names and arrivals come from them. */
  readonly pyRandom: PythonRandom;
  readonly npRandom: NumpyRandom;
  /** Counts tokens without special ones, where the server tells no usage; absent without a tokenizer. */
  readonly countTokens: CountTokens | undefined;
  close(): Promise<void>;
}

/** Opens the tokenizer and takes the samples. The caller closes what comes back. */
export async function takeSamples(options: RunOptions, server: ServerFound): Promise<TakenSamples> {
  const tokenizer = await openTokenizerFor(options, server);
  try {
    const request = dataSetRequestOf(options, server);
    const { name, samples, notes, pyRandom, npRandom } = await loadSamples(request, tokenizer);
    const isLocal = tokenizer !== null && isLocalTokenizer(tokenizer);
    if (isLocal) await tokenizer.close();
    const aligned = await alignPrompts(options, server, name, samples);
    return {
      name,
      samples: aligned.samples,
      notes: [...notes, ...aligned.notes],
      pyRandom,
      npRandom,
      tokenizerId: tokenizer?.id ?? null,
      nonce: request.uniqueNonce ?? null,
      countTokens: tokenizer === null ? undefined : countTokensLater(tokenizer, options, server),
      close: async () => (isLocal ? undefined : tokenizer?.close()),
    };
  } catch (error) {
    await tokenizer?.close();
    throw error;
  }
}

/**
 * Tokens are counted after the run, and only where a server tells no usage. Until then a tokenizer of this process is only held
 * weakly: its tables take more memory than a thousand connections.
 */
function countTokensLater(tokenizer: TokenCounter, options: RunOptions, server: ServerFound): CountTokens {
  if (!isLocalTokenizer(tokenizer)) return countTokensBy(tokenizer);
  const held = new WeakRef(tokenizer);
  return async (texts) => {
    const found = held.deref() ?? (await openTokenizerFor(options, server));
    return found === null ? texts.map(() => 0) : countTokensBy(found)(texts);
  };
}
