/**
 * Traces with times of their own (JSON lines: Mooncake, Alibaba) as vLLM 0.30's `timed_trace` replays them. A prompt is given by hash
 * ids: each stands for a block of tokens, the same block wherever the id comes again, so that prefixes are shared as in the trace.
 * Prompts are token ids; each request carries its planned time.
 *
 * vLLM seeds a block by Python's `hash()`, which differs from process to process. The blocks here are those of PYTHONHASHSEED=0.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest } from './data-set.ts';
import { openInput } from './input-file.ts';
import { eachJsonLine, type JsonLine } from './jsonl.ts';
import { needLocalTokenizer } from './needs.ts';
import { pythonFloatOf } from './pandas-column.ts';
import { pythonHash32 } from './python-hash.ts';
import { PythonRandom } from './python-random.ts';
import type { SampleRequest } from './sample.ts';
import { kindOf } from './text.ts';
import type { LocalTokenizer } from './tokenizer.ts';

/** vLLM does not pass `--seed` on to this data set, which seeds both global generators with its default. */
const FIXED_SEED = 0;

/** The backends that take token ids. */
const COMPLETIONS: ReadonlySet<string> = new Set(['openai', 'vllm']);

/** Timed traces (`--dataset-name timed_trace`). */
export const timedTrace: DataSet = {
  name: 'timed_trace',
  needsFile: true,
  async sample(request, tokenizer, random, numpy) {
    if (!COMPLETIONS.has(request.backend)) {
      throw usageError(
        `the timed_trace data set has prompts of token ids, which --backend ${request.backend} does not take`,
        'Use a completions backend: --backend openai or vllm.',
      );
    }
    const local = needLocalTokenizer(tokenizer, 'timed_trace', 'makes its prompts from token ids');
    random.seed(FIXED_SEED);
    numpy.seed(FIXED_SEED);
    const rows = await readRows(request.path!, request.numPrompts);
    const blocks = new TokenBlocks(local);
    return {
      samples: rows.map((row, i) => sampleOf(request, row, blocks, i)),
      notes: rows.length < request.numPrompts ? [`the trace has ${rows.length} rows, not ${request.numPrompts}`] : [],
    };
  },
};

/** The first rows of the file, in its order; later ones are only checked to be JSON. */
async function readRows(path: string, count: number): Promise<readonly JsonLine[]> {
  const rows: JsonLine[] = [];
  const file = await openInput(path);
  try {
    await eachJsonLine(file, (row) => {
      if (rows.length < count) rows.push(row);
    });
  } finally {
    await file.handle.close();
  }
  if (rows.length > 0) return rows;
  throw usageError(`${path} has no rows`, 'A trace has one JSON object on each line.');
}

/** Blocks of token ids by hash id and length. */
class TokenBlocks {
  readonly #ids: readonly number[];
  readonly #known = new Map<string, readonly number[]>();

  constructor(tokenizer: LocalTokenizer) {
    const special = new Set(tokenizer.specialIds);
    const all = new Set([...Array.from({ length: tokenizer.vocabSize }, (_, id) => id), ...tokenizer.addedIds]);
    this.#ids = [...all].filter((id) => !special.has(id)).sort((a, b) => a - b);
  }

  get(hashId: string, length: number): readonly number[] {
    const key = `${hashId}:${length}`;
    let block = this.#known.get(key);
    if (block === undefined) {
      block = new PythonRandom(pythonHash32(key)).choices(this.#ids, length);
      this.#known.set(key, block);
    }
    return block;
  }
}

function sampleOf(request: DataSetRequest, line: JsonLine, blocks: TokenBlocks, i: number): SampleRequest {
  const inputLen = lengthOf(request, line, request.timedTraceLabelInputLength, '--timed-trace-label-input-length');
  const outputLen = lengthOf(request, line, request.timedTraceLabelOutputLength, '--timed-trace-label-output-length');
  const ids = expand(hashIdsOf(request, line), inputLen, request.timedTraceChunkHashSize, blocks);
  if (ids.length === 0) {
    throw usageError(
      `${request.path}, line ${line.line}: the prompt is empty: "${request.timedTraceLabelHashIds}" names no blocks or the length is 0`,
      'Prompts are made from the hash ids of each row; name their key with --timed-trace-label-hash-ids.',
    );
  }
  return {
    prompt: ids,
    promptLen: ids.length,
    outputLen,
    requestId: `${request.requestIdPrefix}${i}`,
    plannedS: timeOf(request, line),
  };
}

/** Whole blocks, then a part of one, until the length is reached; a row with too few blocks gives a shorter prompt, as in vLLM. */
function expand(
  hashIds: readonly string[],
  length: number,
  blockLength: number,
  blocks: TokenBlocks,
): readonly number[] {
  const parts: (readonly number[])[] = [];
  let left = length;
  for (const id of hashIds) {
    const size = Math.min(blockLength, left);
    parts.push(blocks.get(id, size));
    left -= size;
    if (left <= 0) break;
  }
  return parts.flat();
}

function fieldOf(request: DataSetRequest, { line, row }: JsonLine, key: string, option: string): unknown {
  const value = row[key];
  if (value !== undefined && value !== null) return value;
  throw usageError(
    `${request.path}, line ${line}: there is no "${key}"`,
    `The row has ${Object.keys(row).join(', ') || 'no keys'}; name the right one with ${option}.`,
  );
}

function lengthOf(request: DataSetRequest, line: JsonLine, key: string, option: string): number {
  const value = fieldOf(request, line, key, option);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw wrongType(request, line, key, value, 'a number of tokens');
}

function timeOf(request: DataSetRequest, line: JsonLine): number {
  const key = request.timedTraceLabelTimestamp;
  const value = fieldOf(request, line, key, '--timed-trace-label-timestamp');
  const time = typeof value === 'string' ? pythonFloatOf(value) : value;
  if (typeof time === 'number' && Number.isFinite(time)) return time * request.timedTraceSecMultiplier;
  throw wrongType(request, line, key, value, 'a number');
}

function hashIdsOf(request: DataSetRequest, line: JsonLine): readonly string[] {
  const key = request.timedTraceLabelHashIds;
  const value = line.row[key] ?? [];
  if (!Array.isArray(value)) throw wrongType(request, line, key, value, 'a list of hash ids');
  return (value as readonly unknown[]).map((id) => {
    // Beyond 2^53 JSON numbers run together, and so would blocks that the trace tells apart.
    if (Number.isSafeInteger(id) || (typeof id === 'string' && /^[\x20-\x7e]+$/.test(id))) return String(id);
    throw wrongType(request, line, key, id, 'a list of whole numbers below 2^53');
  });
}

function wrongType(request: DataSetRequest, { line }: JsonLine, key: string, value: unknown, wanted: string): Error {
  const what = typeof value === 'number' ? String(value) : kindOf(value);
  return usageError(`${request.path}, line ${line}: "${key}" is ${what} where ${wanted} should be`);
}
