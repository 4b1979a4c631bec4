/** Figures of a record file, worked out in the plainest way and with no code of the program. */
import { createReadStream } from 'node:fs';
import { UnpackrStream } from 'msgpackr';

/** What was counted. */
export interface Recount {
  readonly count: number;
  readonly distinct: number;
  readonly completed: number;
  readonly outputTokens: number;
  readonly indices: readonly number[];
  /** By the names of the result JSON. */
  readonly figures: Readonly<Record<string, number>>;
}

interface Frame {
  readonly type: string;
  readonly i: number;
  readonly success: boolean;
  readonly prompt_len: number;
  readonly output_tokens: number;
  readonly ttft: number;
  readonly latency: number;
  readonly itl: Uint8Array;
  readonly duration_s: number;
}

/** Reads the whole file. */
export async function recount(path: string): Promise<Recount> {
  const series = { ttft: [] as number[], tpot: [] as number[], itl: [] as number[], e2el: [] as number[] };
  const indices: number[] = [];
  const total = { completed: 0, failed: 0, input: 0, output: 0, duration: 0 };
  const frames = createReadStream(path).pipe(new UnpackrStream({ useRecords: false, mapsAsObjects: true }));
  for await (const frame of frames as AsyncIterable<Frame>) {
    if (frame.type === 'end') total.duration = frame.duration_s;
    if (frame.type !== 'request') continue;
    indices.push(frame.i);
    if (!frame.success) {
      total.failed++;
      continue;
    }
    total.completed++;
    total.input += frame.prompt_len;
    total.output += frame.output_tokens;
    series.ttft.push(frame.ttft);
    series.e2el.push(frame.latency);
    if (frame.output_tokens > 1) series.tpot.push((frame.latency - frame.ttft) / (frame.output_tokens - 1));
    const gaps = new DataView(frame.itl.buffer, frame.itl.byteOffset, frame.itl.byteLength);
    for (let at = 0; at < frame.itl.byteLength; at += 8) series.itl.push(gaps.getFloat64(at, true));
  }
  return {
    count: indices.length,
    distinct: new Set(indices).size,
    completed: total.completed,
    outputTokens: total.output,
    indices,
    figures: {
      completed: total.completed,
      failed: total.failed,
      total_input_tokens: total.input,
      total_output_tokens: total.output,
      request_throughput: total.completed / total.duration,
      output_throughput: total.output / total.duration,
      ...Object.assign({}, ...Object.entries(series).map(([name, values]) => seriesFigures(name, values))),
    },
  };
}

function seriesFigures(name: string, seconds: readonly number[]): Record<string, number> {
  const sorted = Float64Array.from(seconds).sort();
  let sum = 0;
  for (const value of sorted) sum += value;
  const mean = sum / sorted.length;
  let squares = 0;
  for (const value of sorted) squares += (value - mean) ** 2;
  return {
    [`mean_${name}_ms`]: mean * 1000,
    [`std_${name}_ms`]: Math.sqrt(squares / sorted.length) * 1000,
    [`median_${name}_ms`]: at(sorted, 0.5) * 1000,
    [`p99_${name}_ms`]: at(sorted, 0.99) * 1000,
  };
}

/** Linear between neighbours, as numpy has it. */
function at(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Histograms count whole microseconds. */
const GRAIN_MS = 0.0011;

/** Which figures differ by more than the tolerance, of those that both have. */
export function agreeing(
  own: Readonly<Record<string, number>>,
  other: Readonly<Record<string, unknown>>,
  tolerance: number,
): { readonly differing: readonly string[]; readonly compared: number } {
  const shared = Object.entries(own).filter(([name]) => typeof other[name] === 'number');
  const grain = tolerance > 1e-6 ? GRAIN_MS : 0;
  const differing = shared
    .map(([name, value]) => [name, value, other[name] as number] as const)
    .filter(([, value, seen]) => !(Math.abs(value - seen) <= tolerance * Math.abs(value) + grain))
    .map(([name, value, seen]) => `${name} is ${seen}, recounted ${value}`);
  return { differing, compared: shared.length };
}
