/** Comma-separated values (RFC 4180), read as a stream: quoted fields may hold commas, quotes and line breaks. */
import { usageError } from '../errors.ts';
import type { InputFile } from './input-file.ts';
import { eachLine } from './lines.ts';

/** One row of a file. */
export interface CsvRow {
  /** Line on which the row begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/**
 * Hands each row to `take`; blank lines are passed over. Throws a usage error naming file and line when a quote is not closed or stands
 * in the middle of a field. `chunkBytes` is for tests.
 */
export async function eachCsvRow(file: InputFile, take: (row: CsvRow) => void, chunkBytes?: number): Promise<void> {
  // Lines of a row whose quoted field goes on: with an odd number of quotes so far one of them is open.
  let open = '';
  let start = 0;
  await eachLine(
    file,
    'A CSV file has one row on each line',
    (text, line) => {
      if (start === 0 && !text.includes('"')) {
        const plain = text.endsWith('\r') ? text.slice(0, -1) : text;
        if (plain.trim() !== '') take({ line, fields: plain.split(',') });
        return;
      }
      if (start === 0) start = line;
      open = open === '' ? text : `${open}\n${text}`;
      if ((open.match(/"/g)?.length ?? 0) % 2 === 1) return;
      take({ line: start, fields: fieldsOf(file, start, open) });
      open = '';
      start = 0;
    },
    chunkBytes,
  );
  if (start !== 0) {
    throw usageError(
      `${file.path}, line ${start}: a quoted field is not closed`,
      'The file may be cut off: get it again.',
    );
  }
}

/** The fields of a row with quotes. */
function fieldsOf(file: InputFile, line: number, text: string): readonly string[] {
  const row = text.endsWith('\r') ? text.slice(0, -1) : text;
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  const fields: string[] = [];
  for (;;) {
    const match = field.exec(row);
    if (match === null) {
      throw usageError(`${file.path}, line ${line}: a quote stands in the middle of a field`, 'Is this a CSV file?');
    }
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === '') return fields;
  }
}
