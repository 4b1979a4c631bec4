/** Tells a data set's format from the first bytes of its file. */
import { readdir } from 'node:fs/promises';
import { usageError } from '../errors.ts';
import type { DataSetName } from './data-set.ts';
import { kindByColumns } from './hf-kinds.ts';
import { type InputFile, readRange } from './input-file.ts';
import { JsonScanner, JsonSyntaxError, type JsonVisitor } from './json-scan.ts';

/** Enough to see the member names of a first row even when its prompt is long. */
const HEAD_BYTES = 1024 * 1024;

/** What the first bytes of a file look like. */
export type FileFormat =
  | { readonly kind: DataSetName }
  /** JSON of a kind that no data set reads; `what` says what it is. */
  | { readonly kind: 'unknown'; readonly what: string };

/** Collects the names of the members of the first object, and where it ends. */
class FirstObject implements JsonVisitor {
  readonly keyDepth: number;
  readonly names = new Set<string>();
  end = -1;
  constructor(depth: number) {
    this.keyDepth = depth + 1;
  }
  valueStart(): void {}
  key(name: string | null): void {
    if (name !== null && this.end === -1) this.names.add(name);
  }
  containerEnd(depth: number, end: number): void {
    if (depth === this.keyDepth - 1 && this.end === -1) this.end = end;
  }
}

/** The format of an open file. */
export async function detectFormat(file: InputFile): Promise<FileFormat> {
  const head = await readRange(file, file.start, HEAD_BYTES);
  const start = head
    .toString('utf8')

    .trimStart()
    .slice(0, 400);
  if (start.startsWith('[')) return detectList(head);
  if (start.startsWith('{')) return detectLines(head);
  if (start.startsWith('<')) return { kind: 'unknown', what: 'a web page (HTML)' };
  const firstLine = (start.split('\n', 1)[0] ?? '').trim();
  if (/^Timestamp,Model,Request tokens,Response tokens/i.test(firstLine)) return { kind: 'burstgpt' };
  if (start === '') return { kind: 'unknown', what: 'only white space' };
  // Poems are text like any other; the name of the file is the only hint.
  if (file.path.toLowerCase().endsWith('.txt')) return { kind: 'sonnet' };
  return { kind: 'unknown', what: `text that begins "${firstLine.slice(0, 40)}"` };
}

function detectList(head: Buffer): FileFormat {
  const { names, end } = firstObject(head, 1);
  if (end !== -1 && !names.has('conversations') && kindByColumns([...names]) !== undefined) return { kind: 'hf' };
  // Any list of objects is taken for ShareGPT unless its first object plainly is something else: entries may lack conversations.
  if (end === -1 || names.has('conversations') || names.size === 0 || names.has('id')) return { kind: 'sharegpt' };
  return { kind: 'unknown', what: `a JSON list of objects with ${list(names)}` };
}

function detectLines(head: Buffer): FileFormat {
  const { names } = firstObject(head, 0);
  if (names.has('turns')) return { kind: 'spec_bench' };
  if (names.has('hash_ids') || (names.has('timestamp') && names.has('input_length'))) return { kind: 'timed_trace' };
  if (names.has('image_files')) return { kind: 'custom_image' };
  if (names.has('audio_files') || names.has('audio')) return { kind: 'custom_audio' };
  if (names.has('prompt')) return { kind: 'custom' };
  if (names.has('messages')) return { kind: 'speed_bench' };
  if (kindByColumns([...names]) !== undefined) return { kind: 'hf' };
  return { kind: 'unknown', what: names.size === 0 ? 'a JSON object' : `JSON objects with ${list(names)}` };
}

function firstObject(head: Buffer, depth: number): FirstObject {
  const finder = new FirstObject(depth);
  try {
    new JsonScanner(finder).push(head, 0);
  } catch (error) {
    // JSON lines break off at the second object, a damaged file anywhere: what was seen until then decides.
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  return finder;
}

function list(names: ReadonlySet<string>): string {
  return [...names]
    .slice(0, 6)
    .map((name) => `"${name}"`)
    .join(', ');
}

/** The data set of a file when none was named. Throws a usage error when no data set has this format. */
export async function detectDataSet(file: InputFile): Promise<DataSetName> {
  const format = await detectFormat(file);
  if (format.kind !== 'unknown') return format.kind;
  throw usageError(
    `${file.path} is of no known data set format: it is ${format.what}`,
    'Known are ShareGPT (a JSON list), Spec-Bench, SPEED-Bench, custom prompts and timed traces (JSON lines), BurstGPT (CSV), sonnet ' +
      '(.txt) and the columns of hf data sets (Parquet, JSON); name other formats with --dataset-name.',
  );
}

/**
 * The data set of a folder: the subsets of SPEED-Bench, or files of an `hf` data set. Throws a usage error when it holds neither.
 */
export async function detectFolder(path: string): Promise<DataSetName> {
  const names = await readdir(path, { recursive: true });
  if (names.some((name) => /^(qualitative|throughput_\d+k)\.jsonl$/.test(name))) return 'speed_bench';
  if (names.some((name) => /\.(parquet|jsonl?)$/i.test(name))) return 'hf';
  throw usageError(
    `${path} is a folder without files of a known data set`,
    'Give the data set file itself, or a folder with Parquet or JSON files.',
  );
}
