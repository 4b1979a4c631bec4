/** Parquet files for the `hf` data set. Loaded only when there is one: it brings the reader and its decompressors along. */
import { open } from 'node:fs/promises';
import {
  type AsyncBuffer,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { messageOf, usageError } from '../errors.ts';
import type { HfFile, HfRow } from './hf-rows.ts';
import { type InputFile, readRange } from './input-file.ts';

/** Length and magic number at the end of a file. */
const TAIL_BYTES = 8;
const MAGIC = 'PAR1';

const AGAIN = 'The download or copy may not have been finished: get the file again.';

/** Opens a file and reads its footer. Throws a usage error naming the byte where a damaged file shows it. */
export async function openParquet(path: string): Promise<HfFile> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw usageError(`the data set file ${path} cannot be opened: ${messageOf(error)}`, 'Check the path.', error);
  });
  try {
    const { size } = await handle.stat();
    const file: InputFile = { path, handle, size, start: 0 };
    const bytes = asyncBufferOf(file);
    const metadata = await footerOf(file, bytes);
    return parquetFile(file, bytes, metadata);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function asyncBufferOf(file: InputFile): AsyncBuffer {
  return {
    byteLength: file.size,
    async slice(start, end = file.size) {
      const bytes = await readRange(file, start, end - start);
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
    },
  };
}

async function footerOf(file: InputFile, bytes: AsyncBuffer): Promise<FileMetaData> {
  const { path, size } = file;
  if ((await readRange(file, 0, MAGIC.length)).toString('latin1') !== MAGIC) {
    throw usageError(
      `${path} is no Parquet file: it does not begin with ${MAGIC}`,
      'Check that this is the right file.',
    );
  }
  const tail = await readRange(file, Math.max(0, size - TAIL_BYTES), TAIL_BYTES);
  if (size < MAGIC.length + TAIL_BYTES || tail.toString('latin1', 4) !== MAGIC) {
    throw usageError(`${path} is cut off: a Parquet file ends with ${MAGIC}, this one (byte ${size}) does not`, AGAIN);
  }
  const length = tail.readUInt32LE(0);
  if (length + TAIL_BYTES + MAGIC.length > size) {
    throw usageError(
      `${path} is damaged: its footer (byte ${size - TAIL_BYTES}) claims ${length} bytes, more than the file has`,
      AGAIN,
    );
  }
  return parquetMetadataAsync(bytes).catch((error: unknown) => {
    const at = size - TAIL_BYTES - length;
    throw usageError(`${path} is damaged: the footer at byte ${at} cannot be read: ${messageOf(error)}`, AGAIN, error);
  });
}

function parquetFile(file: InputFile, bytes: AsyncBuffer, metadata: FileMetaData): HfFile {
  const present = parquetSchema(metadata).children.map((child) => child.element.name);
  const count = Number(metadata.num_rows);
  if (count === 0) throw usageError(`${file.path} has no rows`, AGAIN);
  return {
    path: file.path,
    count,
    columns: present,
    async read(from, to, columns) {
      const wanted = columns.filter((column) => present.includes(column));
      const range = { rowStart: from, rowEnd: Math.min(to, count) };
      const rows = await parquetReadObjects({ file: bytes, metadata, compressors, columns: wanted, ...range }).catch(
        (error: unknown) => {
          throw damaged(file.path, metadata, from, error);
        },
      );
      return rows.map((values, i): HfRow => ({ where: `${file.path}, row ${from + i}`, values }));
    },
    close: () => file.handle.close(),
  };
}

/** The row group that holds a row could not be read. */
function damaged(path: string, metadata: FileMetaData, row: number, error: unknown): Error {
  let first = 0;
  for (const [i, group] of metadata.row_groups.entries()) {
    const next = first + Number(group.num_rows);
    if (row < next) {
      const chunk = group.columns[0]?.meta_data;
      const at = Number(chunk?.dictionary_page_offset ?? chunk?.data_page_offset ?? 0);
      return usageError(
        `${path} is damaged: row group ${i} (rows ${first} to ${next - 1}, from byte ${at}) cannot be read: ${messageOf(error)}`,
        AGAIN,
        error,
      );
    }
    first = next;
  }
  return usageError(`${path} is damaged: ${messageOf(error)}`, AGAIN, error);
}
