/**
 * Prompts of one's own as JSON lines (`{"prompt": …, "output_tokens": …}`), as vLLM 0.30's `custom` data set samples them: shuffled by
 * `--seed`, the chat template applied on the client, rows repeated when there are too few.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest, SampledSet } from './data-set.ts';
import { openInput } from './input-file.ts';
import { eachJsonLine, type JsonLine } from './jsonl.ts';
import { oversample } from './oversample.ts';
import { numericColumn, pythonIntOf } from './pandas-column.ts';
import type { PythonRandom } from './python-random.ts';
import type { SampleRequest } from './sample.ts';
import { templatingOf } from './templating.ts';
import { kindOf, wellFormed } from './text.ts';
import type { TokenCounter } from './tokenizer.ts';

/** Prompts from a file (`--dataset-name custom`). */
export const customPrompts: DataSet = {
  name: 'custom',
  needsFile: true,
  async sample(request, tokenizer, random) {
    const table = await readTable(request.path!);
    const rows = [...table.rows];
    random.seed(request.seed);
    if (!request.disableShuffle) random.shuffle(rows);
    const wanted = request.numPrompts <= 0 ? rows.length : request.numPrompts;
    const picked = rows.slice(0, wanted);
    const { samples, notes } = await toSamples(request, table, picked, tokenizer);
    return withRepeats(request, { samples, notes }, wanted, random);
  },
};

/** A row as it stands in the file. What is wrong with it counts only when it is picked, as in vLLM. */
interface CustomRow {
  readonly line: number;
  readonly prompt: unknown;
  readonly outputTokens: unknown;
}

interface CustomTable {
  readonly path: string;
  readonly rows: readonly CustomRow[];
  /** Some row has `output_tokens`. */
  readonly hasLengths: boolean;
}

/** Reads the file and sees its columns as pandas does. */
async function readTable(path: string): Promise<CustomTable> {
  const lines: JsonLine[] = [];
  const file = await openInput(path);
  try {
    await eachJsonLine(file, (line) => lines.push(line));
  } finally {
    await file.handle.close();
  }
  if (lines.length === 0) throw usageError(`${path} has no rows`, HINT);
  if (!lines.some(({ row }) => Object.hasOwn(row, 'prompt'))) {
    throw usageError(`${path}: no row has a "prompt"`, HINT);
  }
  const prompts = lines.map(({ row }) => row['prompt']);
  if (numericColumn(prompts) !== null) throw numbersOnly(path, lines);
  const lengths = lines.map(({ row }) => row['output_tokens']);
  const seen = numericColumn(lengths) ?? lengths;
  return {
    path,
    rows: lines.map(({ line }, i) => ({ line, prompt: prompts[i], outputTokens: seen[i] })),
    hasLengths: lines.some(({ row }) => Object.hasOwn(row, 'output_tokens')),
  };
}

const HINT = 'Each line is an object with a text "prompt" and, if wanted, a number "output_tokens".';

/** pandas turns a column of numbers into numbers, also when they stand in quotes, and vLLM's tokenizer refuses them. */
function numbersOnly(path: string, lines: readonly JsonLine[]): Error {
  const { line, row } = lines.find((candidate) => candidate.row['prompt'] !== undefined) ?? lines[0]!;
  return usageError(
    `${path}, line ${line}: the prompt ${JSON.stringify(row['prompt'])} is a number, like all prompts of the file`,
    'vLLM refuses such a file too; add words to at least one prompt.',
  );
}

async function toSamples(
  request: DataSetRequest,
  table: CustomTable,
  rows: readonly CustomRow[],
  tokenizer: TokenCounter | null,
): Promise<SampledSet> {
  const templating = tokenizer === null ? null : templatingOf(request, tokenizer, 'custom');
  const prompts = rows.map((row) => {
    const prompt = promptOf(table, row);
    return templating === null ? prompt : templating.apply(prompt);
  });
  const promptLens = (await tokenizer?.countAll(prompts)) ?? prompts.map(() => 1);
  const samples = rows.map(
    (row, i): SampleRequest => ({
      prompt: prompts[i]!,
      promptLen: promptLens[i]!,
      outputLen: tokenizer === null ? 1 : outputLenOf(request, table, row),
      requestId: `${request.requestIdPrefix}${i}`,
    }),
  );
  return { samples, notes: templating?.notes ?? [] };
}

function promptOf({ path }: CustomTable, { line, prompt }: CustomRow): string {
  if (typeof prompt === 'string') return wellFormed(prompt);
  throw usageError(`${path}, line ${line}: "prompt" is ${kindOf(prompt)} where a text should be`, HINT);
}

function outputLenOf(request: DataSetRequest, { path, hasLengths }: CustomTable, row: CustomRow): number {
  if (request.customOutputLen !== -1) return request.customOutputLen;
  if (!hasLengths) {
    throw usageError(
      `${path}: no row has "output_tokens", which --custom-output-len -1 takes`,
      'Add it to the rows, or give one length for all with --custom-output-len N.',
    );
  }
  const length = pythonIntOf(row.outputTokens);
  if (length !== null && length >= 0) return length;
  const value = typeof row.outputTokens === 'number' ? String(row.outputTokens) : JSON.stringify(row.outputTokens);
  throw usageError(
    Number.isNaN(row.outputTokens)
      ? `${path}, line ${row.line}: the row has no "output_tokens", which --custom-output-len -1 takes`
      : `${path}, line ${row.line}: "output_tokens" is ${value}, not a number of tokens`,
    'Correct the row, or give one length for all with --custom-output-len N.',
  );
}

function withRepeats(request: DataSetRequest, set: SampledSet, wanted: number, random: PythonRandom): SampledSet {
  const result = oversample(set.samples, wanted, request.seed, request, random);
  return { samples: result.samples, notes: [...set.notes, ...result.notes] };
}
