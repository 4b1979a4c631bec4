/** From a request for samples to the samples: finds the data set, checks what all data sets need, and samples. */
import { stat } from 'node:fs/promises';
import { AppError, usageError } from '../errors.ts';
import { burstGpt } from './burstgpt.ts';
import { customPrompts } from './custom.ts';
import type { DataSet, DataSetName, DataSetRequest } from './data-set.ts';
import { detectDataSet, detectFolder, detectFormat } from './detect.ts';
import { hf } from './hf.ts';
import { kindByName } from './hf-kinds.ts';
import { firstBytes } from './hf-rows.ts';
import { openInput } from './input-file.ts';
import { NumpyRandom } from './numpy-random.ts';
import { prefixRepetition } from './prefix-repetition.ts';
import { PythonRandom } from './python-random.ts';
import { randomPrompts } from './random.ts';
import type { SampleRequest } from './sample.ts';
import { shareGpt } from './sharegpt.ts';
import { sonnet } from './sonnet.ts';
import { specBench } from './spec-bench.ts';
import { speedBench } from './speed-bench.ts';
import { timedTrace } from './timed-trace.ts';
import type { TokenCounter } from './tokenizer.ts';
import { withNonces } from './unique-prompts.ts';

/** The data sets that are built. A new one is one line here. */
const DATA_SETS: ReadonlyMap<DataSetName, DataSet> = new Map(
  [
    shareGpt,
    specBench,
    randomPrompts,
    customPrompts,
    sonnet,
    prefixRepetition,
    burstGpt,
    speedBench,
    timedTrace,
    hf,
  ].map((set) => [set.name, set]),
);

/** The samples of a run. */
export interface LoadedSamples {
  /** The data set they came from; with `auto`, the one that was recognised. */
  readonly name: DataSetName;
  readonly samples: readonly SampleRequest[];
  /** Python's global generator as it stands when the run would start: LoRA names are drawn from it next. */
  readonly pyRandom: PythonRandom;
  /** numpy's global generator at the same moment: arrivals are drawn from it. */
  readonly npRandom: NumpyRandom;
  /** Lines for the user about what is unusual. */
  readonly notes: readonly string[];
}

/**
 * Takes the samples of a run, in the order in which they are to be sent. Throws AppError on bad input. `tokenizer` null:
 * `--skip-tokenizer-init`.
 */
export async function loadSamples(request: DataSetRequest, tokenizer: TokenCounter | null): Promise<LoadedSamples> {
  if (!(Number.isInteger(request.seed) && request.seed >= 0 && request.seed < 2 ** 32)) {
    throw usageError(`--seed ${request.seed} is not a whole number from 0 to 4294967295`);
  }
  const set = await findDataSet(request);
  const pyRandom = new PythonRandom(request.seed);
  const npRandom = new NumpyRandom(request.seed);
  const { samples, notes } = await set.sample(request, tokenizer, pyRandom, npRandom).catch(async (error: unknown) => {
    throw await withFormatHint(request, set, error);
  });
  const { uniqueNonce } = request;
  const unique = uniqueNonce === undefined ? samples : await withNonces(samples, uniqueNonce, tokenizer);
  return { name: set.name, samples: unique, pyRandom, npRandom, notes };
}

async function findDataSet(request: DataSetRequest): Promise<DataSet> {
  const name = request.name === 'auto' ? await recognised(request.path) : request.name;
  const set = DATA_SETS.get(name);
  if (set === undefined) {
    throw usageError(
      request.name === 'auto'
        ? `${request.path} looks like a ${name} data set, which is not supported yet`
        : `the data set ${name} is not supported yet`,
      `Supported are ${[...DATA_SETS.keys()].join(', ')}.`,
    );
  }
  if (set.needsFile && request.path === null) {
    throw usageError(`the data set ${name} needs a file`, 'Give it with --dataset-path FILE.');
  }
  return set;
}

async function recognised(path: string | null): Promise<DataSetName> {
  if (path === null) {
    throw usageError(
      'no data set was given',
      'Give a file with --dataset FILE, e.g. a ShareGPT .json or a Spec-Bench .jsonl.',
    );
  }
  const found = await stat(path).catch(() => null);
  if (found === null && kindByName(path) !== undefined) return 'hf';
  if (found?.isDirectory()) return detectFolder(path);
  if ((await firstBytes(path)).startsWith('PAR1')) return 'hf';
  const file = await openInput(path);
  try {
    return await detectDataSet(file);
  } finally {
    await file.handle.close();
  }
}

/** A named data set failed on what is in its file: when the file looks like something else, says so. */
async function withFormatHint(request: DataSetRequest, set: DataSet, error: unknown): Promise<unknown> {
  const { path, name } = request;
  // hf reads several formats and says itself what is amiss.
  if (
    name === 'auto' ||
    name === 'hf' ||
    path === null ||
    !(error instanceof AppError) ||
    !error.message.startsWith(path)
  )
    return error;
  const file = await openInput(path).catch(() => null);
  if (file === null) return error;
  try {
    const format = await detectFormat(file);
    if (format.kind === set.name) return error;
    if (format.kind === 'unknown') return usageError(error.message, `It is ${format.what}. ${error.hint}`, error);
    return usageError(
      `${path} is not a ${set.name} file: it looks like ${format.kind}`,
      `Name it with --dataset-name ${format.kind}, or give the right file.`,
      error,
    );
  } finally {
    await file.handle.close();
  }
}
