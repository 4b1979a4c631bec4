/** Checks that several data sets share. */
import { usageError } from '../errors.ts';
import type { DataSetName } from './data-set.ts';
import { isLocalTokenizer, type LocalTokenizer, type TokenCounter } from './tokenizer.ts';

/** The tokenizer, when there is one. `why` says in a subordinate clause what the data set does with it. */
export function needTokenizer(tokenizer: TokenCounter | null, name: DataSetName, why: string): TokenCounter {
  if (tokenizer !== null) return tokenizer;
  throw usageError(
    `--skip-tokenizer-init: the ${name} data set ${why}`,
    'Leave the option out, or give a tokenizer with --tokenizer FOLDER.',
  );
}

/** The tokenizer, when it is at hand in this process: the server's own can only count. */
export function needLocalTokenizer(tokenizer: TokenCounter | null, name: DataSetName, why: string): LocalTokenizer {
  const given = needTokenizer(tokenizer, name, why);
  if (isLocalTokenizer(given)) return given;
  throw usageError(
    `the ${name} data set ${why}: the tokenizer of the server cannot be used for it`,
    "Give the model's folder with tokenizer.json, or its name on the Hugging Face hub, with --tokenizer.",
  );
}
