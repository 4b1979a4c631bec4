/** From a recorded command line of vLLM to a request for samples. `--output-len` and `--input-len` are not among the recorded flags. */
import type { DataSetName, DataSetRequest } from '../../src/dataset/data-set.ts';
import { fixture, requestFor } from './support.ts';

/** Flags with a number, and the field they fill. */
const NUMBERS = [
  ['--num-prompts', 'numPrompts'],
  ['--seed', 'seed'],
  ['--custom-output-len', 'customOutputLen'],
  ['--hf-output-len', 'hfOutputLen'],
  ['--random-input-len', 'randomInputLen'],
  ['--random-output-len', 'randomOutputLen'],
  ['--random-prefix-len', 'randomPrefixLen'],
  ['--random-batch-size', 'randomBatchSize'],
  ['--sonnet-input-len', 'sonnetInputLen'],
  ['--sonnet-output-len', 'sonnetOutputLen'],
  ['--sonnet-prefix-len', 'sonnetPrefixLen'],
  ['--prefix-repetition-prefix-len', 'prefixRepetitionPrefixLen'],
  ['--prefix-repetition-suffix-len', 'prefixRepetitionSuffixLen'],
  ['--prefix-repetition-num-prefixes', 'prefixRepetitionNumPrefixes'],
  ['--prefix-repetition-output-len', 'prefixRepetitionOutputLen'],
  ['--blazedit-min-distance', 'blazeditMinDistance'],
  ['--blazedit-max-distance', 'blazeditMaxDistance'],
  ['--speed-bench-output-len', 'speedBenchOutputLen'],
  ['--timed-trace-chunk-hash-size', 'timedTraceChunkHashSize'],
  ['--timed-trace-sec-multiplier', 'timedTraceSecMultiplier'],
] as const;

/** Flags with a text. */
const TEXTS = [
  ['--backend', 'backend'],
  ['--hf-name', 'hfName'],
  ['--hf-split', 'hfSplit'],
  ['--speed-bench-dataset-subset', 'speedBenchDatasetSubset'],
  ['--speed-bench-category', 'speedBenchCategory'],
  ['--timed-trace-label-timestamp', 'timedTraceLabelTimestamp'],
  ['--timed-trace-label-input-length', 'timedTraceLabelInputLength'],
  ['--timed-trace-label-output-length', 'timedTraceLabelOutputLength'],
  ['--timed-trace-label-hash-ids', 'timedTraceLabelHashIds'],
] as const;

/** The request of a command line; `pathPrefix` goes before its data set path, which is relative to the fixtures. */
export function requestOfArgv(argv: readonly string[], mode: string, pathPrefix: string): DataSetRequest {
  const value = (flag: string) => (argv.includes(flag) ? argv[argv.indexOf(flag) + 1]! : null);
  const given = <T>(flags: readonly (readonly [string, string])[], of: (text: string) => T) =>
    Object.fromEntries(
      flags.flatMap(([flag, key]) => (value(flag) === null ? [] : [[key, of(value(flag)!)] as const])),
    );
  const path = value('--dataset-path');
  const ratio = JSON.parse(value('--random-range-ratio') ?? '0') as number | { input: number; output: number };
  return requestFor({
    name: value('--dataset-name') as DataSetName,
    path: path === null ? null : fixture(`${pathPrefix}${path}`),
    mode: mode as 'shim' | 'stock',
    disableShuffle: argv.includes('--disable-shuffle'),
    noOversample: argv.includes('--no-oversample'),
    noStream: argv.includes('--no-stream'),
    enableMultimodalChat: argv.includes('--enable-multimodal-chat'),
    skipChatTemplate: argv.includes('--skip-chat-template'),
    chatTemplateKwargs: JSON.parse(value('--chat-template-kwargs') ?? 'null') as Record<string, unknown> | null,
    randomRangeRatio: typeof ratio === 'number' ? { input: ratio, output: ratio } : ratio,
    ...given(NUMBERS, Number),
    ...given(TEXTS, String),
  });
}
