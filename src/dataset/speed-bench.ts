/**
 * SPEED-Bench (JSON lines with `messages` and `category`, one file for each subset) as vLLM 0.30 samples it: the first message of each
 * row, shuffled with seed 0 whatever `--seed` says, the chat template applied on the client unless `--skip-chat-template`.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest, SampledSet } from './data-set.ts';
import { openInput } from './input-file.ts';
import { eachJsonLine, type JsonLine } from './jsonl.ts';
import { needTokenizer } from './needs.ts';
import { oversample } from './oversample.ts';
import type { SampleRequest } from './sample.ts';
import { templatingOf } from './templating.ts';
import { kindOf, wellFormed } from './text.ts';
import type { TokenCounter } from './tokenizer.ts';

/** The seed of vLLM's `BenchmarkDataset` when none is passed. */
const FIXED_SEED = 0;

interface SpeedBenchRow {
  readonly prompt: string;
  readonly category: string | null;
}

/** SPEED-Bench (`--dataset-name speed_bench`). */
export const speedBench: DataSet = {
  name: 'speed_bench',
  needsFile: true,
  async sample(request, tokenizer, random) {
    const counter = needTokenizer(tokenizer, 'speed_bench', 'needs a tokenizer for the prompt lengths');
    const path = await fileOf(request.path!, request.speedBenchDatasetSubset);
    const rows = selectRows(path, request, await readRows(path));
    random.seed(FIXED_SEED);
    if (!request.disableShuffle) random.shuffle(rows);
    const wanted = request.numPrompts <= 0 ? rows.length : request.numPrompts;
    const found = await toSamples(request, counter, rows.slice(0, wanted));
    const all = oversample(found.samples, wanted, FIXED_SEED, request, random);
    return { samples: all.samples, notes: [...found.notes, ...all.notes] };
  },
};

/** The subset's file in the data set's folder; a file given by itself is taken as it is. */
async function fileOf(path: string, subset: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  if (!found?.isDirectory()) return path;
  const file = join(path, `${subset}.jsonl`);
  if (await stat(file).catch(() => null)) return file;
  throw usageError(
    `--speed-bench-dataset-subset ${subset}: there is no ${subset}.jsonl in ${path}`,
    'Give the folder that the script prepare.py of SPEED-Bench has written, and a subset that it holds.',
  );
}

async function readRows(path: string): Promise<SpeedBenchRow[]> {
  const rows: SpeedBenchRow[] = [];
  const file = await openInput(path);
  try {
    await eachJsonLine(file, (line) => rows.push(rowOf(path, line)));
  } finally {
    await file.handle.close();
  }
  if (rows.length > 0) return rows;
  throw usageError(`${path} has no rows`, 'The download or copy may have failed: get the file again.');
}

function rowOf(path: string, { line, row }: JsonLine): SpeedBenchRow {
  const hint =
    'Each line of SPEED-Bench is an object with a list "messages", each with a text "content", and a "category".';
  const messages = row['messages'];
  if (!Array.isArray(messages) || messages.length === 0) {
    throw usageError(
      `${path}, line ${line}: "messages" is ${kindOf(messages)} where a list of messages should be`,
      hint,
    );
  }
  const content = (messages[0] as { content?: unknown } | null)?.content;
  if (typeof content !== 'string') {
    throw usageError(`${path}, line ${line}: the content of the first message is ${kindOf(content)}, not a text`, hint);
  }
  const category = row['category'];
  return { prompt: wellFormed(content), category: typeof category === 'string' ? category : null };
}

function selectRows(path: string, request: DataSetRequest, rows: SpeedBenchRow[]): SpeedBenchRow[] {
  const category = request.speedBenchCategory;
  if (category === null || category === '') return rows;
  const selected = rows.filter((row) => row.category === category);
  if (selected.length > 0) return selected;
  const present = [...new Set(rows.flatMap((row) => row.category ?? []))].sort();
  throw usageError(
    `--speed-bench-category ${category}: ${path} has no row of that category`,
    present.length === 0 ? 'Its rows name no categories.' : `It has ${present.join(', ')}.`,
  );
}

async function toSamples(
  request: DataSetRequest,
  tokenizer: TokenCounter,
  rows: readonly SpeedBenchRow[],
): Promise<SampledSet> {
  const templating = templatingOf(request, tokenizer, 'speed_bench');
  const prompts = rows.map((row) => templating.apply(row.prompt));
  const promptLens = await tokenizer.countAll(prompts);
  const samples = rows.map(
    (row, i): SampleRequest => ({
      prompt: prompts[i]!,
      promptLen: promptLens[i]!,
      outputLen: request.speedBenchOutputLen,
      requestId: `${request.requestIdPrefix}${i}`,
      ...(row.category === null ? {} : { category: row.category }),
    }),
  );
  return { samples, notes: templating.notes };
}
