/**
 * How requests were sent against their plan, from the records alone: due (`arrival_time`) against sent (`start_time`), and how much of a
 * delay was the wait for one of the places of `--max-concurrency`. What is left is the client's own.
 *
 * A place is free again when the answer in it has ended. In the order in which requests were sent, each takes the place that has
 * been free for longest, as the semaphore of vLLM's client and the slots of this one hand them out.
 */
import type { RequestRecord } from '../record/record.ts';
import { exactSeries } from './series.ts';
import type { RequestStore } from './store.ts';
import type { PlanSummary, SeriesSummary } from './summary.ts';

/** Requests sent within this of their time are in time: timers are good to a millisecond, a busy machine to some. */
export const LATE_S = 0.01;

/** First and last of the times of one source. */
interface Span {
  requests: number;
  firstDue: number;
  lastDue: number;
  firstSent: number;
  lastSent: number;
}

/** What of the plan is a count or an end: fed with each request once, in any order. */
export class PlanTally {
  requests = 0;
  late = 0;
  readonly #spans: Span[] = [noSpan()];

  /** From here on requests belong to another file. */
  nextSource(): void {
    this.#spans.push(noSpan());
  }

  add({ arrival_time: due, start_time: sent }: RequestRecord): void {
    this.requests++;
    if (sent - due > LATE_S) this.late++;
    const span = this.#spans[this.#spans.length - 1] as Span;
    span.requests++;
    span.firstDue = Math.min(span.firstDue, due);
    span.lastDue = Math.max(span.lastDue, due);
    span.firstSent = Math.min(span.firstSent, sent);
    span.lastSent = Math.max(span.lastSent, sent);
  }

  /**
   * Requests per second from the first to the last, as they were due and as they were sent.
   * @param areRepeats the sources are repeats, whose times add up; otherwise they are parts of one run on one clock
   */
  rates(areRepeats: boolean): Pick<PlanSummary, 'duePerS' | 'sentPerS'> {
    const spans = (areRepeats ? this.#spans : [this.#spans.reduce(joined)]).filter(({ requests }) => requests > 1);
    const gaps = spans.reduce((sum, { requests }) => sum + requests - 1, 0);
    const rate = (length: (span: Span) => number): number | null => {
      const total = spans.reduce((sum, span) => sum + length(span), 0);
      return total > 0 ? gaps / total : null;
    };
    return {
      duePerS: rate(({ firstDue, lastDue }) => lastDue - firstDue),
      sentPerS: rate(({ firstSent, lastSent }) => lastSent - firstSent),
    };
  }
}

/**
 * The delays of stored requests, failed ones included, and their two parts.
 * @param ranges the run, or its repeats
 * @param places `--max-concurrency`; null when there was no such limit
 */
export function delaysOf(
  store: RequestStore,
  ranges: readonly (readonly [from: number, to: number])[],
  places: number | null,
  percentiles: readonly number[],
): { readonly lateBy: SeriesSummary; readonly slotWait: SeriesSummary; readonly clientLate: SeriesSummary } {
  const late = new Float64Array(store.size);
  const waits = new Float64Array(store.size);
  for (const [from, to] of ranges) {
    const positions = new Uint32Array(to - from);
    for (let at = from; at < to; at++) positions[at - from] = at;
    positions.sort((a, b) => store.row(a).start - store.row(b).start || store.row(a).arrival - store.row(b).arrival);
    const freed = new EarliestFirst();
    for (const at of positions) {
      const { start, arrival } = store.row(at);
      const freeAt = places !== null && freed.size >= places ? freed.take() : Number.NEGATIVE_INFINITY;
      late[at] = Math.max(0, start - arrival);
      waits[at] = Math.max(0, Math.min(freeAt, start) - arrival);
      if (places !== null) freed.put(store.freeAt(at));
    }
  }
  const own = late.map((by, at) => by - (waits[at] as number));
  return {
    lateBy: exactSeries(late, percentiles),
    slotWait: exactSeries(waits, percentiles),
    clientLate: exactSeries(own, percentiles),
  };
}

/** A heap of moments, the earliest at hand. */
class EarliestFirst {
  readonly #heap: number[] = [];

  get size(): number {
    return this.#heap.length;
  }

  put(value: number): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= value) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = value;
  }

  /** Takes the earliest out. The heap must not be empty. */
  take(): number {
    const heap = this.#heap;
    const earliest = heap[0] as number;
    const last = heap.pop() as number;
    if (heap.length === 0) return earliest;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++;
      if ((heap[child] as number) >= last) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = last;
    return earliest;
  }
}

function noSpan(): Span {
  return {
    requests: 0,
    firstDue: Number.POSITIVE_INFINITY,
    lastDue: Number.NEGATIVE_INFINITY,
    firstSent: Number.POSITIVE_INFINITY,
    lastSent: Number.NEGATIVE_INFINITY,
  };
}

function joined(a: Span, b: Span): Span {
  return {
    requests: a.requests + b.requests,
    firstDue: Math.min(a.firstDue, b.firstDue),
    lastDue: Math.max(a.lastDue, b.lastDue),
    firstSent: Math.min(a.firstSent, b.firstSent),
    lastSent: Math.max(a.lastSent, b.lastSent),
  };
}
