/** The requests of a run as shared memory: packed once by the coordinator, read by all workers, copied by none. */
import { usageError } from '../errors.ts';
import type { SharedWork } from '../record/messages.ts';

/** One request, ready to be packed. */
export interface PackedRequest {
  readonly body: Uint8Array;
  readonly plannedMs: number;
  readonly promptLen: number;
  readonly outputLen: number;
  readonly requestId: string | null;
  readonly category: string | undefined;
}

/** Bodies are gathered in pieces of this size while their number is not known. */
const PIECE_BYTES = 8 * 1024 * 1024;

/** Bytes that grow piece by piece. */
class Gathered {
  length = 0;
  private readonly pieces: Uint8Array[] = [];
  private room = 0;

  add(bytes: Uint8Array): void {
    let from = 0;
    while (from < bytes.length) {
      if (this.room === 0) {
        this.pieces.push(new Uint8Array(PIECE_BYTES));
        this.room = PIECE_BYTES;
      }
      const part = bytes.subarray(from, from + this.room);
      (this.pieces.at(-1) as Uint8Array).set(part, PIECE_BYTES - this.room);
      this.room -= part.length;
      from += part.length;
    }
    this.length += bytes.length;
  }

  /** In one piece that threads can share. */
  shared(): SharedArrayBuffer {
    const memory = sharedMemory(this.length);
    const whole = new Uint8Array(memory);
    for (const [k, piece] of this.pieces.entries()) {
      whole.set(piece.subarray(0, Math.min(PIECE_BYTES, this.length - k * PIECE_BYTES)), k * PIECE_BYTES);
    }
    return memory;
  }
}

/** Puts the requests into shared memory; they are asked for one by one, so that a million of them need not exist at once. */
export function packWork(requests: Iterable<PackedRequest>): SharedWork {
  const bodies = new Gathered();
  const labels = new Gathered();
  const offsets = [0];
  const labelOffsets = [0];
  const plannedMs: number[] = [];
  const lengths: number[] = [];
  for (const request of requests) {
    bodies.add(request.body);
    offsets.push(bodies.length);
    plannedMs.push(request.plannedMs);
    lengths.push(request.promptLen, request.outputLen);
    for (const label of [request.requestId ?? '', request.category ?? '']) {
      labels.add(Buffer.from(label));
      labelOffsets.push(labels.length);
    }
  }
  return {
    count: plannedMs.length,
    bodies: bodies.shared(),
    offsets: sharedNumbers(offsets),
    plannedMs: sharedNumbers(plannedMs),
    lengths: sharedNumbers(lengths),
    labels: labels.shared(),
    labelOffsets: sharedNumbers(labelOffsets),
  };
}

/** @throws a usage error where there is not so much: the requests are as many, and as long, as the user asked for */
function sharedMemory(bytes: number): SharedArrayBuffer {
  try {
    return new SharedArrayBuffer(bytes);
  } catch (error) {
    throw usageError(
      `the requests of the run take ${(bytes / 1e9).toFixed(1)} GB, more than this process can have`,
      'Lower --num-prompts, or take shorter prompts.',
      error,
    );
  }
}

function sharedNumbers(values: readonly number[]): SharedArrayBuffer {
  const memory = sharedMemory(values.length * 8);
  new Float64Array(memory).set(values);
  return memory;
}

/** A worker's view of the shared requests. */
export class WorkView {
  readonly count: number;
  private readonly bodies: SharedArrayBuffer;
  private readonly offsets: Float64Array;
  private readonly planned: Float64Array;
  private readonly lengths: Float64Array;
  private readonly labels: Buffer;
  private readonly labelOffsets: Float64Array;

  constructor(work: SharedWork) {
    this.count = work.count;
    this.bodies = work.bodies;
    this.offsets = new Float64Array(work.offsets);
    this.planned = new Float64Array(work.plannedMs);
    this.lengths = new Float64Array(work.lengths);
    this.labels = Buffer.from(work.labels);
    this.labelOffsets = new Float64Array(work.labelOffsets);
  }

  /** Bytes of the body of request i: a view of the shared memory. */
  body(i: number): Buffer {
    const start = this.offsets[i] as number;
    return Buffer.from(this.bodies, start, (this.offsets[i + 1] as number) - start);
  }

  /** Planned start, ms after the start of the run. */
  plannedMs(i: number): number {
    return this.planned[i] as number;
  }

  promptLen(i: number): number {
    return this.lengths[2 * i] as number;
  }

  outputLen(i: number): number {
    return this.lengths[2 * i + 1] as number;
  }

  /** Request id, '' when there is none. */
  requestId(i: number): string {
    return this.label(2 * i);
  }

  /** Category of the sample, '' when there is none. */
  category(i: number): string {
    return this.label(2 * i + 1);
  }

  private label(k: number): string {
    return this.labels.toString('utf8', this.labelOffsets[k] as number, this.labelOffsets[k + 1] as number);
  }
}
