/** vLLM's `maybe_oversample_requests`: rows are repeated at random when the data set has fewer than asked for. */
import type { DataSetRequest, SampledSet } from './data-set.ts';
import type { PythonRandom } from './python-random.ts';
import type { SampleRequest } from './sample.ts';

/**
 * Adds repeated samples until there are `numPrompts`: the generator is seeded again (with `seed`, the data set's own), then `choice`
 * from the samples found, each copy under the next request id. With `--no-oversample` nothing is added. `samples` must not be empty
 * unless nothing is to be added.
 */
export function oversample(
  samples: readonly SampleRequest[],
  numPrompts: number,
  seed: number,
  request: Pick<DataSetRequest, 'noOversample' | 'requestIdPrefix'>,
  random: PythonRandom,
): SampledSet {
  if (samples.length >= numPrompts) return { samples, notes: [] };
  if (request.noOversample) {
    return {
      samples,
      notes: [`the data set has ${samples.length} fitting rows, not ${numPrompts}: the run is shorter`],
    };
  }
  random.seed(seed);
  const all = [...samples];
  while (all.length < numPrompts) {
    all.push({ ...random.choice(samples), requestId: `${request.requestIdPrefix}${all.length}` });
  }
  const note =
    `the data set has ${samples.length} fitting rows, not ${numPrompts}: rows are repeated, ` +
    'so a server with a prompt cache answers the repeats faster (--no-oversample sends each once)';
  return { samples: all, notes: [note] };
}
