/**
 * Who has which request, in memory that all threads share: when a worker dies, the coordinator reads here what it had in its hands. One
 * store per step of a request, none per token.
 */
import { encodeRequest } from '../record/codec.ts';
import type { SharedClaims } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import type { WorkView } from './shared-work.ts';

/** How far a request is. */
const STATE = { taken: 1, sent: 2, succeeded: 3, failed: 4 } as const;
const STATE_BITS = 3;
const STATE_MASK = (1 << STATE_BITS) - 1;

/** Memory for so many requests. */
export function makeClaims(count: number): SharedClaims {
  return { cells: new SharedArrayBuffer(count * 4), startMs: new SharedArrayBuffer(count * 8) };
}

/** A worker's pen. */
export class ClaimBook {
  private readonly cells: Int32Array;
  private readonly starts: Float64Array;
  private readonly owner: number;

  constructor(claims: SharedClaims, worker: number) {
    this.cells = new Int32Array(claims.cells);
    this.starts = new Float64Array(claims.startMs);
    this.owner = worker << STATE_BITS;
  }

  /** A slot has taken request i. */
  take(i: number): void {
    Atomics.store(this.cells, i, this.owner | STATE.taken);
  }

  /** It was handed to its socket. */
  sent(i: number, startMs: number): void {
    this.starts[i] = startMs;
    Atomics.store(this.cells, i, this.owner | STATE.sent);
  }

  /** It has ended; its record is on its way. */
  ended(i: number, isSuccess: boolean): void {
    Atomics.store(this.cells, i, this.owner | (isSuccess ? STATE.succeeded : STATE.failed));
  }
}

/** What a dead worker had, whose records never arrived. */
export interface LostRequests {
  readonly indices: readonly number[];
  /** How many of them were on the wire, and how many had ended already, well or not. */
  readonly inFlight: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** The coordinator's side: which records have arrived, and what is missing of a worker. */
export class ClaimLedger {
  private readonly claims: SharedClaims;
  private readonly cells: Int32Array;
  private readonly arrived: Uint8Array;

  constructor(claims: SharedClaims) {
    this.claims = claims;
    this.cells = new Int32Array(claims.cells);
    this.arrived = new Uint8Array(this.cells.length);
  }

  /** Records of these requests are here. */
  arrive(records: readonly Pick<RequestRecord, 'i'>[]): void {
    for (const { i } of records) this.arrived[i] = 1;
  }

  hasArrived(i: number): boolean {
    return this.arrived[i] === 1;
  }

  /** The requests that worker `worker` had taken and of which no record came. They are taken as arrived from now on. */
  lostBy(worker: number): LostRequests {
    const indices: number[] = [];
    const count = { [STATE.taken]: 0, [STATE.sent]: 0, [STATE.succeeded]: 0, [STATE.failed]: 0 };
    for (let i = 0; i < this.cells.length; i++) {
      const cell = Atomics.load(this.cells, i);
      if (cell === 0 || cell >> STATE_BITS !== worker || this.arrived[i] === 1) continue;
      this.arrived[i] = 1;
      indices.push(i);
      count[(cell & STATE_MASK) as keyof typeof count]++;
    }
    return {
      indices,
      inFlight: count[STATE.sent],
      succeeded: count[STATE.succeeded],
      failed: count[STATE.failed],
    };
  }

  /** When request i was handed to its socket, ms; NaN when it was not. */
  startMs(i: number): number {
    return new Float64Array(this.claims.startMs)[i] || Number.NaN;
  }
}

/** What is known of a request whose worker died. */
export interface LostRequest {
  readonly i: number;
  readonly worker: number;
  readonly reason: string;
  /** NaN when it was not sent yet. */
  readonly startMs: number;
  readonly lostMs: number;
  /** Start of the run and the shift to the system's clock, ms. */
  readonly runStartMs: number;
  readonly clockOffsetMs: number;
}

/** The encoded record of such a request. The bytes are a copy. */
export function lostRecord(lost: LostRequest, work: WorkView): Uint8Array {
  const { i, clockOffsetMs } = lost;
  const arrivalMs = lost.runStartMs + work.plannedMs(i);
  const startMs = Number.isNaN(lost.startMs) ? Math.max(arrivalMs, lost.runStartMs) : lost.startMs;
  const id = work.requestId(i);
  const category = work.category(i);
  const record: RequestRecord = {
    type: 'request',
    i,
    success: false,
    prompt_len: work.promptLen(i),
    client_prompt_len: work.promptLen(i),
    output_tokens: null,
    ttft: 0,
    itl: [],
    latency: 0,
    start_time: (startMs + clockOffsetMs) / 1000,
    arrival_time: (arrivalMs + clockOffsetMs) / 1000,
    error: `the worker thread that had the request died: ${lost.reason}`,
    error_kind: 'worker_lost',
    output_len: work.outputLen(i),
    worker: lost.worker,
    end: (lost.lostMs - startMs) / 1000,
    ...(id === '' ? {} : { request_id: id }),
    ...(category === '' ? {} : { category }),
  };
  return Uint8Array.from(encodeRequest(record));
}
