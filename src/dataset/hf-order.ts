/**
 * The order in which the rows of an `hf` data set come, as the Python library `datasets` 5.2 shuffles them: streamed through a buffer, or,
 * with `--no-stream`, all at once.
 */
import { NumpyGenerator } from './numpy-generator.ts';

/** Rows that the buffer of a streamed data set holds before it is shuffled. */
const BUFFER_ROWS = 1000;

/** Files that are read in turns, a hundredth part of a buffer row by row. */
const MAX_STREAMS = 10;

/** Rows read from a stream at its turn. */
const TURN_ROWS = BUFFER_ROWS / MAX_STREAMS;

/** A row by its file and its place in it. */
export interface RowPlace {
  readonly file: number;
  readonly row: number;
}

/** All rows in the files' order. */
export function* fileOrder(counts: readonly number[]): Generator<RowPlace> {
  for (const [file, count] of counts.entries()) {
    for (let row = 0; row < count; row++) yield { file, row };
  }
}

/** `Dataset.shuffle(seed)`: one permutation of all rows. */
export function* shuffledAtOnce(counts: readonly number[], seed: number): Generator<RowPlace> {
  const all = [...fileOrder(counts)];
  for (const at of new NumpyGenerator(seed).permutation(all.length)) yield all[at]!;
}

/**
 * `IterableDataset.shuffle(seed)`: the files in shuffled order, up to ten read in turns of a hundred rows; whenever the buffer has a
 * thousand rows it is shuffled and all but five hundred are handed out.
 */
export function* shuffledStream(counts: readonly number[], seed: number): Generator<RowPlace> {
  const random = new NumpyGenerator(seed);
  let buffer: RowPlace[] = [];
  for (const rows of turns(counts, seed)) {
    buffer.push(...rows);
    if (buffer.length < BUFFER_ROWS) continue;
    buffer = shuffled(buffer, random);
    const kept = buffer.splice(buffer.length - BUFFER_ROWS / 2);
    yield* buffer;
    buffer = kept;
  }
  yield* shuffled(buffer, random);
}

function shuffled(rows: readonly RowPlace[], random: NumpyGenerator): RowPlace[] {
  return random.permutation(rows.length).map((at) => rows[at]!);
}

/** The reading: each stream has its share of the shuffled files, one after the other. */
function* turns(counts: readonly number[], seed: number): Generator<readonly RowPlace[]> {
  // The files are shuffled by a generator of their own, in the same state as the buffer's.
  const files = new NumpyGenerator(seed).permutation(counts.length);
  const streams = Math.min(files.length, MAX_STREAMS);
  const share = Math.floor(files.length / streams);
  const more = files.length % streams;
  let next = 0;
  let open = Array.from({ length: streams }, (_, i) => {
    const own = files.slice(next, next + share + (i < more ? 1 : 0));
    next += own.length;
    return inTurns(own, counts);
  });
  while (open.length > 0) {
    const left: typeof open = [];
    for (const stream of open) {
      const turn = stream.next();
      if (turn.done === true) continue;
      yield turn.value;
      left.push(stream);
    }
    open = left;
  }
}

function* inTurns(files: readonly number[], counts: readonly number[]): Generator<readonly RowPlace[], void> {
  let turn: RowPlace[] = [];
  for (const file of files) {
    for (let row = 0; row < counts[file]!; row++) {
      turn.push({ file, row });
      if (turn.length < TURN_ROWS) continue;
      yield turn;
      turn = [];
    }
  }
  if (turn.length > 0) yield turn;
}
