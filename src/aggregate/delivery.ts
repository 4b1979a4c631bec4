/**
 * What a client measured against what a server sent, event by event. Pure: records of requests on one side, the server's notes of when
 * it wrote each token frame on the other, both on the system's monotonic clock.
 */
import type { RequestRecord } from '../record/record.ts';
import { describe } from './statistics.ts';

/** What the server notes of one request; ms on the system's monotonic clock. */
export interface SentRequest {
  /** `x-request-id` of the request. */
  readonly id: string;
  /** When the whole request had been read. */
  readonly arrivedMs: number;
  /** When each token frame was written. */
  readonly framesMs: Float64Array;
}

/** Figures of one series of times, ms. */
export interface ErrorFigures {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Population standard deviation. */
  readonly std: number;
}

/** The comparison of all requests of a run. */
export interface Delivery {
  /** Token frames that the server wrote. */
  readonly sent: number;
  /** Of these the client has not seen so many, or saw ones that nobody sent (counted alike). */
  readonly lost: number;
  readonly failed: number;
  /** Words of the first failure; '' when there was none. */
  readonly firstError: string;
  /** Requests that the server had never heard of, or no longer knows. */
  readonly unmatched: number;
  /** Client's arrival − server's write, of every event. */
  readonly deliveryMs: ErrorFigures;
  /** Measured TTFT − (first write − send): the delivery of the first event of each request. */
  readonly ttftErrorMs: ErrorFigures;
  /** |measured gap − gap between the writes|, of every gap. */
  readonly gapErrorMs: ErrorFigures;
  /** The same with its sign: −5 and +5 are 0 on average. Mean and std alone are of interest. */
  readonly gapBiasMs: ErrorFigures;
  /** Server has read the request − client's send: the way there, and how long the server took to look. */
  readonly requestPathMs: ErrorFigures;
  /** From the first event seen to the last, seconds. */
  readonly spanS: number;
}

/** Part of a run that counts: by the time of the write, ms; everything when left out. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Compares.
 * @param records requests as the client recorded them; those without a `request_id` cannot be matched
 * @param window only events written in it count as delivered, and only requests whose first event is in it for TTFT
 */
export function compareDelivery(
  records: readonly RequestRecord[],
  sent: readonly SentRequest[],
  window: Window = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY },
): Delivery {
  const byId = new Map(sent.map((one) => [one.id, one]));
  const most = sent.reduce((sum, { framesMs }) => sum + framesMs.length, 0);
  const series = {
    delivery: new Series(most),
    gap: new Series(most),
    bias: new Series(most),
    ttft: new Series(records.length),
    path: new Series(records.length),
  };
  const firstError = records.find(({ success }) => !success)?.error ?? '';
  const totals = { lost: 0, failed: 0, unmatched: 0, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  for (const record of records) {
    if (!record.success) totals.failed++;
    const truth = byId.get(record.request_id ?? '');
    if (truth === undefined) {
      totals.unmatched++;
      continue;
    }
    byId.delete(truth.id);
    const seen = record.success ? record.itl.length + 1 : 0;
    totals.lost += Math.abs(truth.framesMs.length - seen);
    // Which one is missing is not known: the others cannot be matched.
    if (seen === truth.framesMs.length && seen > 0) compareRequest(record, truth, window, series, totals);
  }
  for (const { framesMs } of byId.values()) totals.lost += framesMs.length;
  return {
    sent: most,
    lost: totals.lost,
    failed: totals.failed,
    firstError,
    unmatched: totals.unmatched,
    deliveryMs: series.delivery.figures(),
    ttftErrorMs: series.ttft.figures(),
    gapErrorMs: series.gap.figures(),
    gapBiasMs: series.bias.figures(),
    requestPathMs: series.path.figures(),
    spanS: totals.last > totals.first ? (totals.last - totals.first) / 1000 : 0,
  };
}

type SeriesSet = Readonly<Record<'delivery' | 'gap' | 'bias' | 'ttft' | 'path', Series>>;

function compareRequest(
  record: RequestRecord,
  { framesMs, arrivedMs }: SentRequest,
  window: Window,
  series: SeriesSet,
  totals: { first: number; last: number },
): void {
  const startMs = record.start_time * 1000;
  const isIn = (ms: number): boolean => ms >= window.fromMs && ms <= window.toMs;
  let seenMs = startMs + record.ttft * 1000;
  let before = Number.NaN;
  for (let k = 0; k < framesMs.length; k++) {
    if (k > 0) seenMs += (record.itl[k - 1] as number) * 1000;
    const wroteMs = framesMs[k] as number;
    const delay = seenMs - wroteMs;
    if (isIn(wroteMs)) {
      series.delivery.add(delay);
      totals.first = Math.min(totals.first, seenMs);
      totals.last = Math.max(totals.last, seenMs);
      if (k === 0) {
        series.ttft.add(delay);
        series.path.add(arrivedMs - startMs);
      } else {
        series.gap.add(Math.abs(delay - before));
        series.bias.add(delay - before);
      }
    }
    before = delay;
  }
}

/** Values of one series in an array of its own. */
class Series {
  private readonly values: Float64Array;
  private count = 0;

  /** @param most no more than so many values will come */
  constructor(most: number) {
    this.values = new Float64Array(most);
  }

  add(value: number): void {
    this.values[this.count++] = value;
  }

  /** Call once: sorts in place. */
  figures(): ErrorFigures {
    const { count, mean, max, std, percentiles } = describe(this.values.subarray(0, this.count), [50, 99]);
    return { count, mean, p50: percentiles[0] as number, p99: percentiles[1] as number, max, std };
  }
}
