/** Reads what is compared: results (ours, vLLM's, several lines of --append-result) and record files. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Sampled } from '../aggregate/bootstrap.ts';
import { RunAggregate } from '../aggregate/collect.ts';
import type { DetailViews } from '../aggregate/summary.ts';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { parsePythonJson } from '../python-json.ts';
import { finishReport } from '../report/finish.ts';
import { mergeRecords } from './report-merge.ts';

/** Values per request, by metric. */
export type Series = Readonly<Record<'ttft' | 'tpot' | 'itl' | 'e2el', Sampled>>;

/** One side of a comparison. */
export interface ComparedRun {
  readonly name: string;
  /** The result, key by key. */
  readonly result: Readonly<Record<string, unknown>>;
  /** Null where the file has no values per request. */
  readonly series: Series | null;
}

type Json = Readonly<Record<string, unknown>>;

/** Throws a usage error for a file that is neither. */
export async function loadRun(path: string): Promise<ComparedRun> {
  const beginning = await firstBytes(path);
  const isRecords = !beginning.startsWith('{') || /^\{\s*"type"\s*:\s*"(header|request)"/.test(beginning);
  return isRecords ? fromRecords(path) : fromResult(path, await readFile(path, 'utf8'));
}

async function firstBytes(path: string): Promise<string> {
  try {
    for await (const chunk of createReadStream(path, { end: 199 })) return String(chunk).trimStart();
    throw usageError(`${path} is empty`, 'Give results (--save-result, --json) or record files (--save-records).');
  } catch (error) {
    if (codeOf(error) === '') throw error;
    const why = codeOf(error) === 'ENOENT' ? 'no such file' : messageOf(error);
    throw usageError(
      `${path}: ${why}`,
      'Give results (--save-result, --json) or record files (--save-records).',
      error,
    );
  }
}

async function fromRecords(path: string): Promise<ComparedRun> {
  const merged = await mergeRecords([path], {}, () => new RunAggregate());
  const report = await finishReport(merged);
  const result = Object.fromEntries(report.result);
  return { name: path, result, series: report.detail === null ? null : seriesOf(report.detail) };
}

function fromResult(path: string, text: string): ComparedRun {
  const result = parsed(text) ?? parsed(text.trimEnd().split('\n').at(-1) ?? '');
  if (result === null || typeof result['request_throughput'] !== 'number') {
    throw usageError(
      `${path} is no result of a benchmark`,
      'Give results (--save-result, --json) or record files (--save-records).',
    );
  }
  const own = result['tabby_load'] as Json | undefined;
  const schema = own?.['schema'];
  if (own !== undefined && schema !== 'tabby-load.result/1') {
    throw usageError(
      `${path} was written as ${JSON.stringify(schema)}, which this version cannot read`,
      'Use the version that wrote it.',
    );
  }
  return { name: path, result, series: seriesOfJson(result) };
}

function parsed(text: string): Json | null {
  try {
    const value = parsePythonJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

interface Row {
  readonly ttft: number;
  readonly gaps: ArrayLike<number>;
  readonly tokens: number;
}

function seriesOf(detail: DetailViews): Series | null {
  if (detail.itls === null) return null;
  const rows: Row[] = [];
  for (let k = 0; k < detail.successes.length; k++) {
    if (detail.successes.at(k))
      rows.push({ ttft: detail.ttfts.at(k), gaps: detail.itls.at(k), tokens: detail.outputLens.at(k) });
  }
  return fromRows(rows);
}

/** vLLM's `--save-detailed`. Failed requests have an error there. */
function seriesOfJson(result: Json): Series | null {
  const { ttfts, itls, output_lens: tokens, errors } = result as Readonly<Record<string, unknown[] | undefined>>;
  if (!Array.isArray(ttfts) || !Array.isArray(itls) || !Array.isArray(tokens)) return null;
  const rows = ttfts.flatMap((ttft, k) =>
    errors?.[k] ? [] : [{ ttft: Number(ttft), gaps: (itls[k] ?? []) as number[], tokens: Number(tokens[k]) }],
  );
  return fromRows(rows);
}

function fromRows(rows: readonly Row[]): Series {
  const sums = rows.map(({ gaps }) => sumOf(gaps));
  const plain = (values: readonly number[]): Sampled => ({ values: Float64Array.from(values), weights: null });
  return {
    ttft: plain(rows.map(({ ttft }) => ttft * 1000)),
    tpot: plain(rows.flatMap(({ tokens }, k) => (tokens > 1 ? [((sums[k] as number) * 1000) / (tokens - 1)] : []))),
    e2el: plain(rows.map(({ ttft }, k) => (ttft + (sums[k] as number)) * 1000)),
    itl: {
      values: Float64Array.from(sums, (sum) => sum * 1000),
      weights: Float64Array.from(rows, ({ gaps }) => gaps.length),
    },
  };
}

function sumOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let k = 0; k < values.length; k++) sum += values[k] as number;
  return sum;
}
