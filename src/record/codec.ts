/**
 * The bytes of a record file (README "Record files"). Two forms of the same frames:
 *
 * - msgpack (default): a plain concatenation of msgpack maps, one per frame, without extension types, so that any msgpack
 *   reader in any language can read it. `itl` is a msgpack `bin` that holds little-endian float64 values; everything else is
 *   maps, strings, numbers, booleans and nil.
 * - JSON lines (file name ends in `.jsonl`): one JSON object per line, `itl` an array of numbers.
 *
 * Workers encode ({@link encodeRequest}); the coordinator appends their bytes unparsed ({@link RecordFileWriter} in
 * `codec-writer.ts`) and decodes the same bytes for the aggregate ({@link decodeRequests}). Reading files of unknown origin is
 * `codec-reader.ts`.
 */
import { endianness } from 'node:os';
import { Packr, Unpackr } from 'msgpackr';
import type { RecordEnd, RecordFrame, RecordHeader, RequestRecord } from './record.ts';

const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false, structuredClone: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });
const littleEndian = endianness() === 'LE';

/**
 * One request as the msgpack bytes of its frame. The result is a view that stays valid, but it shares a buffer with earlier
 * results: copy it before transferring it to another thread. Fields that are undefined are left out.
 */
export function encodeRequest(record: RequestRecord): Uint8Array {
  // A spread keeps the object's shape, which is twice as fast as copying key by key; undefined fields are rare.
  const frame: Record<string, unknown> = { ...record };
  for (const key in frame) if (frame[key] === undefined) delete frame[key];
  frame['itl'] = float64Bytes(record.itl);
  if (record.partial !== undefined) frame['partial'] = { ...record.partial, itl: float64Bytes(record.partial.itl) };
  return packr.pack(frame);
}

/** Header or end as the msgpack bytes of its frame. Values that JSON does not know are replaced as in {@link plainData}. */
export function encodeFrame(frame: RecordHeader | RecordEnd): Uint8Array {
  return packr.pack(plainData(frame));
}

/**
 * The requests in bytes made by {@link encodeRequest}, one after the other. For bytes of our own workers only: nothing is
 * checked. `itl` is a Float64Array of its own.
 */
export function decodeRequests(bytes: Uint8Array): readonly RequestRecord[] {
  if (bytes.length === 0) return [];
  const frames = unpackr.unpackMultiple(bytes) as { itl: unknown; partial?: { itl: unknown } }[];
  for (const frame of frames) restoreItl(frame);
  return frames as unknown as RequestRecord[];
}

/** Decodes exactly one msgpack value and turns `itl` back into numbers; what it is must still be checked. */
export function decodeFrame(bytes: Uint8Array): unknown {
  const frame: unknown = unpackr.unpack(bytes);
  if (typeof frame === 'object' && frame !== null) restoreItl(frame);
  return frame;
}

/** One frame as a JSON line, with the line feed. */
export function jsonLine(frame: RecordFrame): string {
  return `${JSON.stringify(plainData(frame))}\n`;
}

/**
 * The value with only what JSON and msgpack know: undefined fields left out, typed arrays as arrays, infinities and NaN as the
 * strings "inf", "-inf", "nan" (as vLLM writes an infinite request rate), big integers as numbers, dates as ISO 8601.
 */
export function plainData(value: unknown): unknown {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  }
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => plainData(item) ?? null);
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
  if (typeof value === 'object' && value !== null) {
    const out: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) {
      const plain = plainData(item);
      if (plain !== undefined) out[key] = plain;
    }
    return out;
  }
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
}

/** Little-endian bytes of the values; for a Float64Array a view of its own memory, no copy. */
function float64Bytes(values: ArrayLike<number>): Uint8Array {
  const array = values instanceof Float64Array ? values : Float64Array.from(values);
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return littleEndian ? bytes : swapped(bytes);
}

/**
 * The values in little-endian bytes. They are copied first: a binary unpacked from a stream lies at any offset, and a
 * Float64Array needs one divisible by 8.
 */
export function float64Values(bytes: Uint8Array): Float64Array {
  const values = new Float64Array(bytes.byteLength >>> 3);
  const target = new Uint8Array(values.buffer);
  const whole = bytes.subarray(0, target.byteLength);
  target.set(littleEndian ? whole : swapped(whole));
  return values;
}

function swapped(bytes: Uint8Array): Uint8Array {
  const out = Uint8Array.from(bytes);
  for (let i = 0; i + 8 <= out.length; i += 8) out.subarray(i, i + 8).reverse();
  return out;
}

function restoreItl(frame: { itl?: unknown; partial?: unknown }): void {
  if (frame.itl instanceof Uint8Array && frame.itl.byteLength % 8 === 0) frame.itl = float64Values(frame.itl);
  const partial = frame.partial;
  if (typeof partial === 'object' && partial !== null) restoreItl(partial);
}
