/**
 * Prompts that share long prefixes, as vLLM 0.30's `prefix_repetition` data set makes them: random token ids from numpy's global
 * generator, each prefix followed by as many suffixes as its share of `--num-prompts`, shuffled by Python's global generator. Both
 * generators are seeded again first.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest, SampledSet } from './data-set.ts';
import { fitToLength, lengthNotes } from './exact-length.ts';
import { needLocalTokenizer } from './needs.ts';
import type { NumpyRandom } from './numpy-random.ts';
import type { SampleRequest } from './sample.ts';
import type { LocalTokenizer } from './tokenizer.ts';

/** Shared prefixes (`--dataset-name prefix_repetition`). */
export const prefixRepetition: DataSet = {
  name: 'prefix_repetition',
  needsFile: false,
  async sample(request, tokenizer, random, numpy) {
    const local = needLocalTokenizer(tokenizer, 'prefix_repetition', 'makes its prompts from token ids');
    random.seed(request.seed);
    numpy.seed(request.seed);
    const { samples, notes } = makeSamples(request, local, numpy);
    const shuffled = [...samples];
    if (!request.disableShuffle) random.shuffle(shuffled);
    return { samples: shuffled, notes };
  },
};

function makeSamples(request: DataSetRequest, tokenizer: LocalTokenizer, numpy: NumpyRandom): SampledSet {
  const prefixes = request.prefixRepetitionNumPrefixes;
  const perPrefix = Math.floor(request.numPrompts / prefixes);
  if (perPrefix < 1) {
    throw usageError(
      `--num-prompts ${request.numPrompts} is fewer than --prefix-repetition-num-prefixes ${prefixes}`,
      'Each prefix is used by the same number of prompts, at least one.',
    );
  }
  let excess = 0;
  const part = (length: number): readonly number[] => {
    const draw = (count: number) => numpy.randints(0, tokenizer.vocabSize, count);
    const { ids } = fitToLength(tokenizer, draw(length), length, draw);
    excess += ids.length - length;
    return ids;
  };
  const samples: SampleRequest[] = [];
  for (let i = 0; i < prefixes; i++) {
    const prefix = part(request.prefixRepetitionPrefixLen);
    for (let j = 0; j < perPrefix; j++) {
      const ids = [...prefix, ...part(request.prefixRepetitionSuffixLen)];
      samples.push({
        prompt: tokenizer.decode(ids),
        promptLen: ids.length,
        outputLen: request.prefixRepetitionOutputLen,
        requestId: null,
      });
    }
  }
  const left = request.numPrompts - samples.length;
  const fewer = `--num-prompts ${request.numPrompts} is no multiple of ${prefixes} prefixes: the run has ${samples.length} requests`;
  return { samples, notes: [...(left > 0 ? [fewer] : []), ...lengthNotes(excess)] };
}
