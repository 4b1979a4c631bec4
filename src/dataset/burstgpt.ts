/**
 * BurstGPT traces (CSV) as vLLM 0.30 samples them: the rows of model "GPT-4" with an answer, drawn by a `RandomState(--seed)` of their
 * own, as pandas' `DataFrame.sample` does it. The prompts are runs of token ids of the row's length; the length is not counted again.
 */
import { usageError } from '../errors.ts';
import { type CsvRow, eachCsvRow } from './csv.ts';
import type { DataSet, DataSetRequest } from './data-set.ts';
import { type InputFile, openInput } from './input-file.ts';
import { needLocalTokenizer } from './needs.ts';
import { NumpyRandom } from './numpy-random.ts';
import { pythonFloatOf } from './pandas-column.ts';
import type { SampleRequest } from './sample.ts';
import type { LocalTokenizer } from './tokenizer.ts';

const MODEL = 'GPT-4';

/** vLLM takes the lengths by place, whatever the columns are called. */
const REQUEST_FIELD = 2;
const RESPONSE_FIELD = 3;

/** What pandas takes for a missing value. */
const MISSING = /^(|#N\/A( N\/A)?|#NA|-?1\.#(IND|QNAN)|<NA>|N\/A|NA|NULL|None|n\/a|null)$/;

/** BurstGPT (`--dataset-name burstgpt`). */
export const burstGpt: DataSet = {
  name: 'burstgpt',
  needsFile: true,
  async sample(request, tokenizer) {
    const local = needLocalTokenizer(tokenizer, 'burstgpt', 'makes its prompts from token ids');
    const rows = await readRows(request.path!);
    const count = request.numPrompts;
    const picked = new NumpyRandom(request.seed).choice(rows.length, count, count > rows.length);
    const samples = picked.map((at, i) => sampleOf(request, local, rows[at]!, i));
    const repeats = `the file has ${rows.length} fitting rows, not ${count}: rows are drawn with replacement`;
    return { samples, notes: count > rows.length ? [repeats] : [] };
  },
};

async function readRows(path: string): Promise<readonly CsvRow[]> {
  const file = await openInput(path);
  try {
    const finder = new RowFinder(file);
    await eachCsvRow(file, (row) => finder.take(row));
    if (finder.rows.length > 0) return finder.rows;
    throw usageError(`${path}: no row has the model "${MODEL}" and more than 0 response tokens`, HINT);
  } finally {
    await file.handle.close();
  }
}

const HINT = 'BurstGPT files begin with: Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type';

/** Keeps the fitting rows. */
class RowFinder {
  readonly rows: CsvRow[] = [];
  readonly #file: InputFile;
  #header: readonly string[] | null = null;
  #model = -1;
  #response = -1;

  constructor(file: InputFile) {
    this.#file = file;
  }

  take(row: CsvRow): void {
    if (this.#header === null) {
      this.#readHeader(row);
      return;
    }
    if (row.fields.length > this.#header.length) {
      throw usageError(
        `${this.#file.path}, line ${row.line}: ${row.fields.length} fields where the first line names ${this.#header.length}`,
        HINT,
      );
    }
    const response = numberOf(this.#file.path, row, this.#response, 'Response tokens');
    if (row.fields[this.#model] === MODEL && response > 0) this.rows.push(row);
  }

  #readHeader({ fields, line }: CsvRow): void {
    this.#header = fields;
    this.#model = fields.indexOf('Model');
    this.#response = fields.indexOf('Response tokens');
    for (const [name, at] of [
      ['Model', this.#model],
      ['Response tokens', this.#response],
    ] as const) {
      if (at === -1) throw usageError(`${this.#file.path}, line ${line}: there is no column "${name}"`, HINT);
    }
  }
}

/** A field as a number; NaN for a missing one. */
function numberOf(path: string, { fields, line }: CsvRow, at: number, name: string): number {
  const text = fields[at] ?? '';
  if (MISSING.test(text.trim())) return Number.NaN;
  const number = pythonFloatOf(text);
  if (number !== null) return number;
  throw usageError(`${path}, line ${line}: "${name}" is ${JSON.stringify(text)} where a number should be`, HINT);
}

function sampleOf(request: DataSetRequest, tokenizer: LocalTokenizer, row: CsvRow, i: number): SampleRequest {
  const promptLen = lengthOf(request.path!, row, REQUEST_FIELD, 'Request tokens');
  const ids = Array.from({ length: promptLen }, (_, j) => (i + j) % tokenizer.vocabSize);
  return {
    prompt: tokenizer.decode(ids),
    promptLen,
    outputLen: lengthOf(request.path!, row, RESPONSE_FIELD, 'Response tokens'),
    requestId: `${request.requestIdPrefix}${i}`,
  };
}

function lengthOf(path: string, row: CsvRow, at: number, name: string): number {
  const number = numberOf(path, row, at, name);
  if (number >= 0 && Number.isFinite(number)) return Math.trunc(number);
  const what = Number.isNaN(number) ? 'missing' : String(number);
  throw usageError(`${path}, line ${row.line}: "${name}" is ${what}, not a number of tokens`, HINT);
}
