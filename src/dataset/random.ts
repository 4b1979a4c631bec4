/**
 * Generated prompts as vLLM 0.30's `random` data set makes them: each is a run of consecutive token ids from a random offset, fitted to
 * an exact length. All draws come from `np.random.default_rng(--seed)`; the global generators stay untouched.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest, SampledSet } from './data-set.ts';
import { type FittedPrompt, fitToLength, lengthNotes } from './exact-length.ts';
import { needLocalTokenizer } from './needs.ts';
import { NumpyGenerator } from './numpy-generator.ts';
import type { SampleRequest } from './sample.ts';
import type { LocalTokenizer } from './tokenizer.ts';

/** Generated prompts (`--dataset-name random`). */
export const randomPrompts: DataSet = {
  name: 'random',
  needsFile: false,
  async sample(request, tokenizer) {
    const local = needLocalTokenizer(tokenizer, 'random', 'makes its prompts from token ids');
    checkLengths(request, local);
    return makeSamples(request, local, new NumpyGenerator(request.seed));
  },
};

/** Refuses lengths with which a prompt could come out empty. */
function checkLengths(request: DataSetRequest, tokenizer: LocalTokenizer): void {
  const { input, output } = request.randomRangeRatio;
  for (const ratio of [input, output]) {
    if (!(ratio >= 0 && ratio < 1)) throw usageError(`--random-range-ratio ${ratio}: it must be from 0 to below 1`);
  }
  const smallest = Math.floor(sampledLength(request, tokenizer) * (1 - input));
  if (request.randomPrefixLen + smallest < 1) {
    throw usageError(
      `--random-input-len ${request.randomInputLen} is too small: with ${tokenizer.specialTokensAdded} special tokens, ` +
        `prefix ${request.randomPrefixLen} and range ratio ${input} a prompt could have ${request.randomPrefixLen + smallest} tokens`,
      'Increase --random-input-len or --random-prefix-len, or decrease --random-range-ratio.',
    );
  }
}

/** Special tokens count against the prompt's length; not against the prefix. */
function sampledLength(request: DataSetRequest, tokenizer: LocalTokenizer): number {
  return Math.max(0, request.randomInputLen - tokenizer.specialTokensAdded);
}

async function makeSamples(
  request: DataSetRequest,
  tokenizer: LocalTokenizer,
  random: NumpyGenerator,
): Promise<SampledSet> {
  const count = request.numPrompts;
  const { input, output } = request.randomRangeRatio;
  const inputLens = drawLengths(random, sampledLength(request, tokenizer), input, 0, count);
  const outputLens = drawLengths(random, request.randomOutputLen, output, 1, count);
  const offsets = random.integers(0, tokenizer.vocabSize, count);
  const allowed = allowedIds(tokenizer);
  const prefix = makePrefix(request.randomPrefixLen, tokenizer, allowed, random);
  let excess = 0;
  const samples = inputLens.map((inputLen, i): SampleRequest => {
    const length = request.randomPrefixLen + inputLen;
    const ids = [...prefix, ...runOfIds(allowed, offsets[i]! + i, inputLen)];
    const prompt = fitted(tokenizer, ids, length, random);
    excess += prompt.ids.length - length;
    return {
      prompt: prompt.text,
      promptLen: prompt.ids.length,
      outputLen: outputLens[i]!,
      requestId: `${request.requestIdPrefix}${i}`,
    };
  });
  return { samples: inBatches(samples, request), notes: lengthNotes(excess) };
}

/** Uniform lengths around `mean`, at least `least`. */
function drawLengths(
  random: NumpyGenerator,
  mean: number,
  ratio: number,
  least: number,
  count: number,
): readonly number[] {
  const low = Math.max(least, Math.floor(mean * (1 - ratio)));
  const high = Math.max(least, Math.ceil(mean * (1 + ratio)));
  return random.integers(low, high + 1, count);
}

/** The vocabulary without special tokens, in order. */
function allowedIds(tokenizer: LocalTokenizer): readonly number[] {
  const special = new Set(tokenizer.specialIds);
  return Array.from({ length: tokenizer.vocabSize }, (_, id) => id).filter((id) => !special.has(id));
}

function makePrefix(
  length: number,
  tokenizer: LocalTokenizer,
  allowed: readonly number[],
  random: NumpyGenerator,
): readonly number[] {
  if (length <= 0) return [];
  const ids = random.integers(0, allowed.length, length).map((at) => allowed[at]!);
  return fitted(tokenizer, ids, length, random).ids;
}

function fitted(
  tokenizer: LocalTokenizer,
  ids: readonly number[],
  length: number,
  random: NumpyGenerator,
): FittedPrompt {
  return fitToLength(tokenizer, ids, length, (count) => random.integers(0, tokenizer.vocabSize, count));
}

/** `length` consecutive allowed ids from position `start` on, round the end. */
function runOfIds(allowed: readonly number[], start: number, length: number): readonly number[] {
  return Array.from({ length }, (_, j) => allowed[(start + j) % allowed.length]!);
}

/** Several prompts in one request, for backends that take a list; such a request asks for no output. */
function inBatches(samples: readonly SampleRequest[], request: DataSetRequest): readonly SampleRequest[] {
  const size = request.randomBatchSize;
  if (size <= 1) return samples;
  return Array.from({ length: Math.ceil(samples.length / size) }, (_, i) => {
    const batch = samples.slice(i * size, (i + 1) * size);
    return {
      prompt: batch.map((sample) => sample.prompt as string),
      promptLen: batch.reduce((sum, sample) => sum + sample.promptLen, 0),
      outputLen: 0,
      requestId: `${request.requestIdPrefix}${i}`,
    };
  });
}
