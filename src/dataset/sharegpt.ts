/**
 * ShareGPT as vLLM 0.30 samples it: conversations with two turns or more, shuffled by `--seed`; the first turn is the prompt, the
 * length of the second the output length; those of unfitting length are passed over until there are `--num-prompts`.
 */
import { usageError } from '../errors.ts';
import { type ConversationIndex, indexConversations, readEntry } from './conversations.ts';
import type { DataSet, DataSetRequest, SampledSet } from './data-set.ts';
import { type InputFile, openInput } from './input-file.ts';
import { oversample } from './oversample.ts';
import type { PythonRandom } from './python-random.ts';
import type { Prompt, SampleRequest } from './sample.ts';
import { kindOf, wellFormed } from './text.ts';
import type { TokenCounter } from './tokenizer.ts';

/** vLLM's limits in tokens, both ends allowed. */
const MIN_TOKENS = 4;
const MAX_PROMPT_TOKENS = 1024;
const MAX_TOTAL_TOKENS = 2048;

/** Entries looked at together: enough for a tokenizer to work on several at once, few enough to stay small in memory. */
const MAX_BATCH_ENTRIES = 20_000;
const MAX_BATCH_BYTES = 256 * 1024 * 1024;

/** ShareGPT (`--dataset-name sharegpt`). */
export const shareGpt: DataSet = {
  name: 'sharegpt',
  needsFile: true,
  async sample(request, tokenizer, random) {
    if (tokenizer === null) {
      throw usageError(
        '--skip-tokenizer-init: the sharegpt data set picks its prompts by their length in tokens',
        'Leave the option out, or give --tokenizer.',
      );
    }
    if (request.numPrompts < 1) {
      throw usageError(`--num-prompts ${request.numPrompts}: the sharegpt data set needs at least 1`);
    }
    const file = await openInput(request.path!);
    try {
      const index = await indexConversations(file);
      random.seed(request.seed);
      const order = Array.from(index.starts, (_, i) => i);
      if (!request.disableShuffle) random.shuffle(order);
      return await sampleInOrder(request, tokenizer, random, file, index, order);
    } finally {
      await file.handle.close();
    }
  },
};

/** An entry that comes into question, or why it cannot be used: that counts only when the sampling gets to it. */
type Candidate =
  | { readonly problem: string; readonly number: number }
  | { readonly prompt: string; readonly reply: string; readonly media: string | null; readonly number: number };

async function sampleInOrder(
  request: DataSetRequest,
  tokenizer: TokenCounter,
  random: PythonRandom,
  file: InputFile,
  index: ConversationIndex,
  order: readonly number[],
): Promise<SampledSet> {
  const samples: SampleRequest[] = [];
  let at = 0;
  while (samples.length < request.numPrompts && at < order.length) {
    const batch = await readBatch(file, index, order, at, request.numPrompts - samples.length);
    at += batch.length;
    await addFitting(request, tokenizer, file, batch, samples);
  }
  if (samples.length === 0) throw nothingFits(file, index);
  const result = oversample(samples, request.numPrompts, request.seed, request, random);
  const strange =
    index.strange === 0 ? [] : [`${file.path}: ${index.strange} entries are no conversations and were passed over`];
  return { samples: result.samples, notes: [...strange, ...result.notes] };
}

function nothingFits(file: InputFile, index: ConversationIndex): Error {
  if (index.starts.length === 0) {
    return usageError(
      `${file.path}: none of its ${index.entries} entries has a "conversations" list of two turns or more`,
      'ShareGPT is one JSON list of objects, each with a list "conversations" of turns with "from" and "value".',
    );
  }
  return usageError(
    `${file.path}: none of its ${index.starts.length} conversations has a fitting length`,
    `vLLM's limits are ${MIN_TOKENS} to ${MAX_PROMPT_TOKENS} tokens of prompt, ${MIN_TOKENS} or more of output, ` +
      `${MAX_TOTAL_TOKENS} together. Check the tokenizer and --sharegpt-output-len.`,
  );
}

/** The next entries in sampling order, as many as may be needed. */
async function readBatch(
  file: InputFile,
  index: ConversationIndex,
  order: readonly number[],
  from: number,
  wanted: number,
): Promise<readonly Candidate[]> {
  const batch: Promise<Candidate>[] = [];
  let bytes = 0;
  const limit = Math.min(order.length, from + Math.min(MAX_BATCH_ENTRIES, wanted + 16));
  for (let k = from; k < limit && bytes < MAX_BATCH_BYTES; k++) {
    const i = order[k]!;
    bytes += index.ends[i]! - index.starts[i]!;
    batch.push(readEntry(file, index, i).then((entry) => candidateOf(entry, index.numbers[i]!)));
    // A few reads at a time: they overlap, and not all entries of the batch are in memory at once.
    if (batch.length % 64 === 0) await Promise.all(batch.slice(-64));
  }
  return Promise.all(batch);
}

function candidateOf(entry: Readonly<Record<string, unknown>>, number: number): Candidate {
  const conversations = entry['conversations'];
  if (!Array.isArray(conversations))
    return { problem: `"conversations" is ${kindOf(conversations)}, not a list`, number };
  const texts: string[] = [];
  for (const turn of [0, 1]) {
    const value: unknown = (conversations[turn] as { value?: unknown } | null)?.value;
    if (typeof value !== 'string')
      return { problem: `"value" of turn ${turn + 1} is ${kindOf(value)}, not a text`, number };
    texts.push(wellFormed(value));
  }
  const media = ['image', 'video'].find((key) => isTruthy(entry[key])) ?? null;
  return { prompt: texts[0]!, reply: texts[1]!, media, number };
}

/** Truth as Python sees it, for JSON values. */
function isTruthy(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** Counts a batch and appends the fitting entries to `samples`, in order, until there are enough. */
async function addFitting(
  request: DataSetRequest,
  tokenizer: TokenCounter,
  file: InputFile,
  batch: readonly Candidate[],
  samples: SampleRequest[],
): Promise<void> {
  const usable = batch.flatMap((candidate) => ('prompt' in candidate ? [candidate] : []));
  const promptLens = await tokenizer.countAll(usable.map((candidate) => candidate.prompt));
  const lengths = new Map(
    usable.map((candidate, i) => [candidate as Candidate, { prompt: promptLens[i]!, output: -1 }]),
  );
  const forced = request.sharegptOutputLen;
  if (forced === null) {
    // Replies of prompts that do not fit need no counting.
    const counted = usable.filter((_, i) => promptLens[i]! >= MIN_TOKENS && promptLens[i]! <= MAX_PROMPT_TOKENS);
    const replyLens = await tokenizer.countAll(counted.map((candidate) => candidate.reply));
    for (const [i, candidate] of counted.entries()) lengths.get(candidate)!.output = replyLens[i]!;
  }
  for (const candidate of batch) {
    if (samples.length >= request.numPrompts) return;
    if ('problem' in candidate)
      throw usageError(`${file.path}, entry ${candidate.number}: ${candidate.problem}`, ENTRY_HINT);
    const { prompt: promptLen, output } = lengths.get(candidate)!;
    const outputLen = forced ?? output;
    if (!fits(promptLen, outputLen, forced !== null)) continue;
    if (candidate.media !== null) {
      throw usageError(
        `${file.path}, entry ${candidate.number} has a member "${candidate.media}": only text can be sent`,
        'Take the entries with images and videos out of the file.',
      );
    }
    samples.push({
      prompt: request.enableMultimodalChat ? chatPrompt(candidate.prompt) : candidate.prompt,
      promptLen,
      outputLen,
      requestId: `${request.requestIdPrefix}${samples.length}`,
    });
  }
}

const ENTRY_HINT =
  'Each turn of a ShareGPT conversation is an object with the texts "from" and "value"; mend or remove the entry.';

/** vLLM's `is_valid_sequence`. */
function fits(promptLen: number, outputLen: number, outputForced: boolean): boolean {
  return (
    promptLen >= MIN_TOKENS &&
    (outputForced || outputLen >= MIN_TOKENS) &&
    promptLen <= MAX_PROMPT_TOKENS &&
    promptLen + outputLen <= MAX_TOTAL_TOKENS
  );
}

/** vLLM's `apply_multimodal_chat_transformation` without media; the members stand in its order. */
function chatPrompt(text: string): Prompt {
  return [{ role: 'user', content: [{ text, type: 'text' }] }];
}
