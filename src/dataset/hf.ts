/**
 * Data sets of the Hugging Face hub (`--dataset-name hf`) as vLLM 0.30 samples them: rows in the order of `datasets`, by the rules of each
 * data set's columns, repeated when there are too few. Text only; from local Parquet, JSON or JSON lines files, or from the hub.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest, SampledSet } from './data-set.ts';
import type { HfKind, HfPrompt } from './hf-kinds.ts';
import { fileOrder, type RowPlace, shuffledAtOnce, shuffledStream } from './hf-order.ts';
import type { HfFile, HfRow } from './hf-rows.ts';
import { type HfSource, openSource } from './hf-source.ts';
import { needTokenizer } from './needs.ts';
import { oversample } from './oversample.ts';
import type { SampleRequest } from './sample.ts';
import { type Templating, templatingOf } from './templating.ts';
import { isLocalTokenizer, type TokenCounter } from './tokenizer.ts';

/** Shortest prompt and answer in tokens where lengths are limited. */
const MIN_TOKENS = 4;

/** Rows read from a file at a time. */
const BLOCK_ROWS = 200;

/** Blocks kept in a streamed order, which needs those of its buffer; an order over all rows at once needs all. */
const MAX_BLOCKS = 40;

/** Hub data sets (`--dataset-name hf`). */
export const hf: DataSet = {
  name: 'hf',
  needsFile: true,
  async sample(request, tokenizer, random) {
    const counter = needTokenizer(tokenizer, 'hf', 'needs a tokenizer for the prompt lengths');
    const source = await openSource(request);
    try {
      const found = await sampleRows(request, counter, source);
      if (found.samples.length === 0) throw nothingFits(source);
      const all = oversample(found.samples, request.numPrompts, request.seed, request, random);
      const rules = source.isNamed ? [] : [`${request.path}: read by the rules of ${source.kind.label} data sets`];
      return { samples: all.samples, notes: [...rules, ...found.notes, ...all.notes] };
    } finally {
      await Promise.all(source.files.map((file) => file.close()));
    }
  },
};

function nothingFits({ kind, files }: HfSource): Error {
  const limits =
    kind.limits === null
      ? ''
      : ` Lengths are ${MIN_TOKENS} to ${kind.limits.maxPrompt} tokens of prompt, ${MIN_TOKENS} or more of answer, ${kind.limits.maxTotal} together.`;
  return usageError(
    `${files[0]!.path}: none of its ${files[0]!.count} rows can be used`,
    `It was read by the rules of ${kind.label} data sets.${limits}`,
  );
}

function orderOf(request: DataSetRequest, files: readonly HfFile[]): Generator<RowPlace> {
  const counts = files.map((file) => file.count);
  if (request.disableShuffle) return fileOrder(counts);
  return request.noStream ? shuffledAtOnce(counts, request.seed) : shuffledStream(counts, request.seed);
}

async function sampleRows(request: DataSetRequest, tokenizer: TokenCounter, source: HfSource): Promise<SampledSet> {
  const { kind } = source;
  const templating = kindTemplating(request, tokenizer, kind);
  const reader = new RowReader(source, request.noStream ? Number.POSITIVE_INFINITY : MAX_BLOCKS);
  const order = orderOf(request, source.files);
  const samples: SampleRequest[] = [];
  let seen = 0;
  for (let ended = false; !ended && samples.length < request.numPrompts; ) {
    // Every one of these rows is looked at by vLLM too, so that what is wrong with one of them is an error there as well.
    const candidates: Candidate[] = [];
    while (candidates.length < request.numPrompts - samples.length) {
      const place = order.next();
      ended = place.done === true;
      if (place.done === true) break;
      const asked = kind.read(await reader.row(place.value), request);
      if (asked !== null) candidates.push({ asked, text: templating.apply(asked), row: seen });
      seen++;
    }
    samples.push(...(await fitting(request, tokenizer, kind, candidates, samples.length)));
  }
  return { samples, notes: templating.notes };
}

interface Candidate {
  readonly asked: HfPrompt;
  /** The prompt as it is sent. */
  readonly text: string;
  /** How many rows were looked at before it. */
  readonly row: number;
}

async function fitting(
  request: DataSetRequest,
  tokenizer: TokenCounter,
  kind: HfKind,
  candidates: readonly Candidate[],
  before: number,
): Promise<readonly SampleRequest[]> {
  const promptLens = await tokenizer.countAll(candidates.map(({ text }) => text));
  const outputLens = await outputLensOf(request, tokenizer, kind, candidates);
  const kept: SampleRequest[] = [];
  for (const [i, { text, row }] of candidates.entries()) {
    const promptLen = promptLens[i]!;
    const outputLen = outputLens[i]!;
    if (!isWithin(kind, request.hfOutputLen === null, promptLen, outputLen)) continue;
    kept.push({
      prompt: kind.label === 'conversations' && request.enableMultimodalChat ? asMessages(text) : text,
      promptLen,
      outputLen,
      requestId: `${request.requestIdPrefix}${kind.ids === 'row' ? row : before + kept.length}`,
    });
  }
  return kept;
}

function asMessages(text: string): SampleRequest['prompt'] {
  return [{ role: 'user', content: [{ text, type: 'text' }] }];
}

async function outputLensOf(
  request: DataSetRequest,
  tokenizer: TokenCounter,
  kind: HfKind,
  candidates: readonly Candidate[],
): Promise<readonly number[]> {
  const given = kind.outputLen === 'replyAlways' ? null : request.hfOutputLen;
  if (given !== null) return candidates.map(() => given);
  if (typeof kind.outputLen === 'number') return candidates.map(() => kind.outputLen as number);
  const replies = candidates.map(({ asked }) => asked.reply ?? '');
  if (kind.specialInReply || !isLocalTokenizer(tokenizer)) return tokenizer.countAll(replies);
  return replies.map((reply) => tokenizer.encode(reply, false).length);
}

function isWithin({ limits }: HfKind, dynamic: boolean, promptLen: number, outputLen: number): boolean {
  if (limits === null || (limits.onlyDynamic && !dynamic)) return true;
  return (
    promptLen >= MIN_TOKENS &&
    outputLen >= MIN_TOKENS &&
    promptLen <= limits.maxPrompt &&
    promptLen + outputLen <= limits.maxTotal
  );
}

interface KindTemplating {
  apply(asked: HfPrompt): string;
  readonly notes: Templating['notes'];
}

function kindTemplating(request: DataSetRequest, tokenizer: TokenCounter, kind: HfKind): KindTemplating {
  if (kind.template === 'never') return { apply: ({ prompt }) => prompt, notes: [] };
  if (kind.template === 'option') {
    // vLLM passes --chat-template-kwargs to custom and speed_bench only.
    const { apply, notes } = templatingOf({ ...request, chatTemplateKwargs: null }, tokenizer, 'hf');
    return { apply: ({ prompt }) => apply(prompt), notes };
  }
  return {
    notes: [],
    apply: ({ system = '', prompt }) => {
      const messages = [
        { role: 'system', content: system },
        { role: 'user', content: prompt },
      ];
      const text = isLocalTokenizer(tokenizer)
        ? tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true })
        : null;
      if (text !== null) return text;
      throw usageError(
        `${kind.label} prompts need a chat template, which the tokenizer ${tokenizer.id} does not give`,
        "Give a chat model's tokenizer with --tokenizer FOLDER.",
      );
    },
  };
}

/** Rows by their place, read in blocks of which the last ones are kept. */
class RowReader {
  readonly #source: HfSource;
  readonly #columns: readonly string[];
  readonly #blocks = new Map<string, readonly HfRow[]>();
  readonly #maxBlocks: number;

  constructor(source: HfSource, maxBlocks: number) {
    this.#source = source;
    this.#maxBlocks = maxBlocks;
    this.#columns = [...source.kind.columns, ...(source.kind.label === 'conversations' ? ['image'] : [])];
  }

  async row({ file, row }: RowPlace): Promise<HfRow> {
    const start = row - (row % BLOCK_ROWS);
    const key = `${file}:${start}`;
    let block = this.#blocks.get(key);
    if (block === undefined) {
      block = await this.#source.files[file]!.read(start, start + BLOCK_ROWS, this.#columns);
      const oldest = this.#blocks.keys().next();
      if (this.#blocks.size >= this.#maxBlocks && oldest.done !== true) this.#blocks.delete(oldest.value);
      this.#blocks.set(key, block);
    }
    return block[row - start]!;
  }
}
