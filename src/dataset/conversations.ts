/**
 * Finds the conversations in a ShareGPT file without holding it: one pass over the bytes checks that the whole file is JSON and
 * notes where each entry with two turns or more stands; afterwards only the entries that are picked are read and parsed.
 */
import { constants } from 'node:buffer';
import { usageError } from '../errors.ts';
import { parsePythonJson } from '../python-json.ts';
import { eachChunk, type InputFile, lineOf, readRange } from './input-file.ts';
import { JsonScanner, JsonSyntaxError, type JsonVisitor } from './json-scan.ts';

/** Where the usable entries of a file are. The arrays run in parallel, in the file's order. */
export interface ConversationIndex {
  /** Entries of the file, usable or not. */
  readonly entries: number;
  /** Entries that are a text or a list instead of an object: passed over, as Python does. */
  readonly strange: number;
  /** Of each usable entry: its number in the file, from 0. */
  readonly numbers: readonly number[];
  /** Of each usable entry: offset of its first byte. */
  readonly starts: readonly number[];
  /** Of each usable entry: offset behind its last byte. */
  readonly ends: readonly number[];
}

/** `conversations` is missing. */
const NONE = -1;
/** `conversations` is a text or an object: Python takes its length all the same. */
const TEXT_OR_OBJECT = -2;
/** `conversations` is null, a number, true or false: Python fails on its length. */
const NO_LENGTH = -3;

/** The file is JSON, but not a list of conversations. */
class ShapeError extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** Notes entries while the file is scanned. */
class EntryFinder implements JsonVisitor {
  readonly keyDepth = 2;
  entries = 0;
  strange = 0;
  readonly numbers: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Positions in the three lists whose `conversations` is a text or an object. */
  readonly doubtful: number[] = [];
  #start = 0;
  #turns = NONE;
  #named = false;
  #counting = false;

  valueStart(depth: number, firstByte: number, offset: number): void {
    if (depth === 3) {
      if (this.#counting) this.#turns++;
    } else if (depth === 2) {
      if (this.#named) this.#startTurns(firstByte);
      this.#named = false;
    } else if (depth === 1) {
      this.#startEntry(firstByte, offset);
    } else if (depth === 0 && firstByte !== 0x5b) {
      throw new ShapeError(firstByte === 0x7b ? 'it begins with an object' : 'it is a single value', offset);
    }
  }

  key(name: string | null): void {
    this.#named = name === 'conversations';
  }

  containerEnd(depth: number, end: number): void {
    if (depth === 2) this.#counting = false;
    else if (depth === 1) this.#endEntry(end);
  }

  #startEntry(firstByte: number, offset: number): void {
    this.entries++;
    this.#start = offset;
    this.#turns = NONE;
    if (firstByte === 0x22 || firstByte === 0x5b) this.strange++;
    else if (firstByte !== 0x7b) throw new ShapeError(`entry ${this.entries - 1} is no object`, offset);
  }

  #startTurns(firstByte: number): void {
    this.#counting = firstByte === 0x5b;
    if (this.#counting) this.#turns = 0;
    else this.#turns = firstByte === 0x22 || firstByte === 0x7b ? TEXT_OR_OBJECT : NO_LENGTH;
  }

  #endEntry(end: number): void {
    if (this.#turns === NO_LENGTH) {
      throw new ShapeError(`"conversations" of entry ${this.entries - 1} is no list`, this.#start);
    }
    if (this.#turns === TEXT_OR_OBJECT) this.doubtful.push(this.numbers.length);
    else if (this.#turns < 2) return;
    this.numbers.push(this.entries - 1);
    this.starts.push(this.#start);
    this.ends.push(end);
  }
}

/**
 * Scans the file. Throws a usage error naming file, byte and line when it is cut off, not JSON, or not a list of conversations.
 * `chunkBytes` is for tests.
 */
export async function indexConversations(file: InputFile, chunkBytes?: number): Promise<ConversationIndex> {
  const finder = new EntryFinder();
  const scanner = new JsonScanner(finder);
  try {
    await eachChunk(file, (chunk, offset) => scanner.push(chunk, offset), chunkBytes);
    scanner.end();
  } catch (error) {
    throw await scanError(file, finder, error);
  }
  const dropped = await tooShort(file, finder);
  const kept = (list: readonly number[]) => (dropped.size === 0 ? list : list.filter((_, i) => !dropped.has(i)));
  return {
    entries: finder.entries,
    strange: finder.strange,
    numbers: kept(finder.numbers),
    starts: kept(finder.starts),
    ends: kept(finder.ends),
  };
}

async function scanError(file: InputFile, finder: EntryFinder, error: unknown): Promise<unknown> {
  if (error instanceof ShapeError) {
    const line = await lineOf(file, error.offset);
    return usageError(
      `${file.path} is not a ShareGPT file: ${error.message} (byte ${error.offset}, line ${line})`,
      'ShareGPT is one JSON list of objects, each with a list "conversations" of turns with "from" and "value".',
      error,
    );
  }
  if (!(error instanceof JsonSyntaxError)) return error;
  const where = `byte ${error.offset}, line ${await lineOf(file, error.offset)}`;
  const entry = finder.entries > 0 ? `, entry ${finder.entries - 1}` : '';
  if (error.cutOff) {
    return usageError(
      `${file.path} is cut off: it ${error.message} (${where}${entry})`,
      'The download or copy was not finished: get the file again.',
      error,
    );
  }
  return usageError(
    `${file.path} is not valid JSON: ${error.message} (${where}${entry})`,
    'Check that this is the right file; if it is, it is damaged: get it again.',
    error,
  );
}

/** Positions of entries whose `conversations` is a text or an object of length 0 or 1: Python passes over them as too short. */
async function tooShort(file: InputFile, finder: EntryFinder): Promise<ReadonlySet<number>> {
  const dropped = new Set<number>();
  for (const i of finder.doubtful) {
    const entry = await readEntry(file, finder, i);
    const value = entry['conversations'];
    const length = typeof value === 'string' ? [...value].length : Object.keys(value as object).length;
    if (length < 2) dropped.add(i);
  }
  return dropped;
}

/** Reads and parses the usable entry at position `i` of the index. */
export async function readEntry(
  file: InputFile,
  index: Pick<ConversationIndex, 'numbers' | 'starts' | 'ends'>,
  i: number,
): Promise<Readonly<Record<string, unknown>>> {
  const start = index.starts[i]!;
  const length = index.ends[i]! - start;
  if (length > constants.MAX_STRING_LENGTH) {
    throw usageError(`${file.path}: entry ${index.numbers[i]} is larger than 512 MB`, 'Leave it out of the file.');
  }
  const bytes = await readRange(file, start, length);
  try {
    return parsePythonJson(bytes.toString('utf8')) as Record<string, unknown>;
  } catch (error) {
    throw usageError(
      `${file.path} changed while it was read (entry ${index.numbers[i]} is not what it was)`,
      'Wait until nothing writes to the file, then run again.',
      error,
    );
  }
}
