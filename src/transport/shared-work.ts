/** The requests of a run as shared memory: packed once by the coordinator, read by all workers, copied by none. */
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

/** Puts the requests into shared memory. */
export function packWork(requests: readonly PackedRequest[]): SharedWork {
  const count = requests.length;
  const total = requests.reduce((sum, request) => sum + request.body.length, 0);
  const bodies = new SharedArrayBuffer(total);
  const offsets = new SharedArrayBuffer((count + 1) * 8);
  const plannedMs = new SharedArrayBuffer(count * 8);
  const lengths = new SharedArrayBuffer(count * 16);
  const bytes = new Uint8Array(bodies);
  const offsetValues = new Float64Array(offsets);
  const plannedValues = new Float64Array(plannedMs);
  const lengthValues = new Float64Array(lengths);
  let at = 0;
  for (const [i, request] of requests.entries()) {
    bytes.set(request.body, at);
    offsetValues[i] = at;
    at += request.body.length;
    plannedValues[i] = request.plannedMs;
    lengthValues[2 * i] = request.promptLen;
    lengthValues[2 * i + 1] = request.outputLen;
  }
  offsetValues[count] = at;
  const labelText = requests.map((one) => `${one.requestId ?? ''}\t${one.category ?? ''}\n`).join('');
  const labelBytes = Buffer.from(labelText);
  const labels = new SharedArrayBuffer(labelBytes.length);
  new Uint8Array(labels).set(labelBytes);
  return { count, bodies, offsets, plannedMs, lengths, labels };
}

/** A worker's view of the shared requests. */
export class WorkView {
  readonly count: number;
  private readonly bodies: SharedArrayBuffer;
  private readonly offsets: Float64Array;
  private readonly planned: Float64Array;
  private readonly lengths: Float64Array;
  private readonly labels: readonly string[];

  constructor(work: SharedWork) {
    this.count = work.count;
    this.bodies = work.bodies;
    this.offsets = new Float64Array(work.offsets);
    this.planned = new Float64Array(work.plannedMs);
    this.lengths = new Float64Array(work.lengths);
    this.labels = Buffer.from(work.labels).toString().split('\n');
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
    return (this.labels[i] ?? '').split('\t', 1)[0] ?? '';
  }

  /** Category of the sample, '' when there is none. */
  category(i: number): string {
    return (this.labels[i] ?? '').split('\t')[1] ?? '';
  }
}
