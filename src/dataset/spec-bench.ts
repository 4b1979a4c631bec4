/**
 * Spec-Bench (JSON lines with `turns` and `category`) as vLLM 0.30 samples it: the first turn of each row, shuffled with seed 0
 * whatever `--seed` says, since vLLM does not pass the seed on.
 *
 * Towards TabbyAPI the first turn goes out as it is, as one user message, and the server applies its template once. Stock vLLM applies
 * the template on the client and the server then does so again; mode `stock` repeats that for comparisons.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest } from './data-set.ts';
import { openInput } from './input-file.ts';
import { eachJsonLine, type JsonLine } from './jsonl.ts';
import { oversample } from './oversample.ts';
import type { SampleRequest } from './sample.ts';
import { kindOf, wellFormed } from './text.ts';
import { isLocalTokenizer, type TokenCounter } from './tokenizer.ts';

/** The seed of vLLM's `BenchmarkDataset` when none is passed. */
const FIXED_SEED = 0;

interface SpecBenchRow {
  readonly prompt: string;
  readonly category: string | null;
}

/** Spec-Bench (`--dataset-name spec_bench`). */
export const specBench: DataSet = {
  name: 'spec_bench',
  needsFile: true,
  async sample(request, tokenizer, random) {
    if (tokenizer === null) {
      throw usageError(
        '--skip-tokenizer-init: the spec_bench data set needs a tokenizer for the prompt lengths',
        'Leave the option out, or give --tokenizer.',
      );
    }
    const rows = selectRows(request, await readRows(request.path!));
    random.seed(FIXED_SEED);
    if (!request.disableShuffle) random.shuffle(rows);
    const wanted = request.numPrompts <= 0 ? rows.length : request.numPrompts;
    const samples = await toSamples(request, tokenizer, rows.slice(0, wanted));
    return oversample(samples, wanted, FIXED_SEED, request, random);
  },
};

async function readRows(path: string): Promise<SpecBenchRow[]> {
  const file = await openInput(path);
  try {
    const rows: SpecBenchRow[] = [];
    await eachJsonLine(file, (line) => rows.push(specBenchRow(path, line)));
    if (rows.length === 0)
      throw usageError(`${path} has no rows`, 'The download or copy may have failed: get the file again.');
    return rows;
  } finally {
    await file.handle.close();
  }
}

function specBenchRow(path: string, { line, row }: JsonLine): SpecBenchRow {
  const hint = 'Each line of Spec-Bench is an object with a list of texts "turns" and a text "category".';
  const turns = row['turns'];
  if (turns === undefined) throw usageError(`${path}, line ${line}: the row has no "turns"`, hint);
  if (!Array.isArray(turns) || turns.length === 0) {
    throw usageError(`${path}, line ${line}: "turns" is ${kindOf(turns)} where a list of texts should be`, hint);
  }
  const first: unknown = turns[0];
  if (typeof first !== 'string')
    throw usageError(`${path}, line ${line}: the first turn is ${kindOf(first)}, not a text`, hint);
  const category = row['category'];
  return { prompt: wellFormed(first), category: typeof category === 'string' ? category : null };
}

function selectRows(request: DataSetRequest, rows: SpecBenchRow[]): SpecBenchRow[] {
  const category = request.specBenchCategory;
  if (category === null || category === '') return rows;
  const selected = rows.filter((row) => row.category === category);
  if (selected.length > 0) return selected;
  const present = [...new Set(rows.flatMap((row) => row.category ?? []))].sort();
  throw usageError(
    `--spec-bench-category ${category}: ${request.path} has no row of that category`,
    present.length === 0 ? 'Its rows name no categories.' : `It has ${present.join(', ')}.`,
  );
}

async function toSamples(
  request: DataSetRequest,
  tokenizer: TokenCounter,
  rows: readonly SpecBenchRow[],
): Promise<SampleRequest[]> {
  const prompts = rows.map((row) => (request.mode === 'stock' ? templated(tokenizer, row.prompt) : row.prompt));
  const promptLens = await tokenizer.countAll(prompts);
  return rows.map((row, i) => ({
    prompt: prompts[i]!,
    promptLen: promptLens[i]!,
    outputLen: request.specBenchOutputLen,
    requestId: `${request.requestIdPrefix}${i}`,
    ...(row.category === null ? {} : { category: row.category }),
  }));
}

function templated(tokenizer: TokenCounter, prompt: string): string {
  const text = isLocalTokenizer(tokenizer)
    ? tokenizer.applyChatTemplate([{ role: 'user', content: prompt }], { addGenerationPrompt: true })
    : null;
  if (text !== null) return text;
  throw usageError(
    `the tokenizer ${tokenizer.id} has no chat template, which stock vLLM applies to Spec-Bench on the client`,
    "Give a chat model's tokenizer with --tokenizer FOLDER, or run as for TabbyAPI with --server tabbyapi.",
  );
}
