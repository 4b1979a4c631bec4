/**
 * The exact values of a run: one row per request and all gaps between token frames, in order of completion, and the permutation that
 * brings them into sample order.
 */
import { OWN_SERIES_KEYS, type OwnSeriesKey } from '../metrics.ts';
import type { RequestRecord } from '../record/record.ts';
import { Column, GapStore } from './columns.ts';
import type { DetailViews, View } from './summary.ts';

/** How each series of ours is read from a record, in seconds; NaN where the record has none. */
export const OWN_SERIES: Readonly<Record<OwnSeriesKey, (record: RequestRecord) => number>> = {
  ttft_from_arrival: (r) => r.start_time - r.arrival_time + r.ttft,
  first_byte: (r) => r.first_byte ?? Number.NaN,
  first_answer: (r) => r.first_answer ?? Number.NaN,
  server_prompt_time: (r) => r.server?.prompt_time ?? Number.NaN,
  server_completion_time: (r) => r.server?.completion_time ?? Number.NaN,
  server_queue_time: (r) => r.server?.queue_time ?? Number.NaN,
  server_total_time: (r) => r.server?.total_time ?? Number.NaN,
  connect: (r) => r.connect_s ?? Number.NaN,
};

/** Series of ours that are computed from the others and need no column. */
const DERIVED: ReadonlySet<string> = new Set(['ttft_from_arrival']);

/** How long a request took its place: to the end of its stream, or what is known of a failed one. Seconds after its start. */
export function takenS(record: RequestRecord): number {
  return Math.max(record.latency, record.end ?? 0, record.partial?.latency ?? 0);
}

/** Failed without ever having been sent. */
export function isUnsent({ error_kind: kind }: RequestRecord): boolean {
  return kind === 'connect' || kind === 'timeout_connect';
}

export interface SampleOrder {
  /** Position of the k-th request in sample order; null when they came in that order. */
  readonly positions: Uint32Array | null;
  /** Indices that occurred more than once. */
  readonly repeated: number;
}

export class RequestStore {
  readonly #keepDetail: boolean;
  readonly #i = new Column();
  readonly #promptLen = new Column();
  readonly #tokens = new Column();
  readonly #ttft = new Column();
  readonly #latency = new Column();
  readonly #start = new Column();
  readonly #arrival = new Column();
  readonly #gapCount = new Column();
  readonly #gapOffset = new Column();
  readonly #audio = new Column();
  readonly #own = new Map<OwnSeriesKey, Column>(
    OWN_SERIES_KEYS.filter((key) => !DERIVED.has(key)).map((key) => [key, new Column()]),
  );
  /** Only where it is later than the last token frame. */
  readonly #end = new Column();
  readonly #failed = new Set<number>();
  /** Never handed to a socket. */
  readonly #unsent = new Set<number>();
  readonly #texts = new Map<number, string>();
  readonly #errors = new Map<number, string>();
  readonly #sourceStarts: number[] = [0];
  readonly gaps = new GapStore();
  #gapsKept = true;
  size = 0;

  constructor(keepDetail: boolean) {
    this.#keepDetail = keepDetail;
  }

  /** From here on requests belong to another file. */
  nextSource(): void {
    this.#sourceStarts.push(this.size);
  }

  /** Adds a request, with its gaps unless they were dropped. Returns its position. */
  add(record: RequestRecord): number {
    const at = this.size++;
    this.#i.set(at, record.i);
    this.#promptLen.set(at, record.prompt_len);
    this.#tokens.set(at, record.success ? (record.output_tokens ?? 0) : 0);
    this.#ttft.set(at, record.ttft);
    this.#latency.set(at, record.latency);
    this.#start.set(at, record.start_time);
    this.#arrival.set(at, record.arrival_time);
    if (this.#gapsKept && record.itl.length > 0) {
      this.#gapOffset.set(at, this.gaps.length);
      this.#gapCount.set(at, record.itl.length);
      this.gaps.append(record.itl);
    }
    if (record.input_audio_duration !== undefined) this.#audio.set(at, record.input_audio_duration);
    for (const [key, column] of this.#own) {
      const value = OWN_SERIES[key](record);
      if (!Number.isNaN(value)) column.set(at, value);
    }
    const taken = takenS(record);
    if (taken > record.latency) this.#end.set(at, taken);
    if (!record.success) this.#failed.add(at);
    if (isUnsent(record)) this.#unsent.add(at);
    if (this.#keepDetail) {
      if (record.error !== '') this.#errors.set(at, record.error);
      if (record.generated_text) this.#texts.set(at, record.generated_text);
    }
    return at;
  }

  /** Output tokens of a request whose server told none. */
  setTokens(at: number, tokens: number): void {
    this.#tokens.set(at, tokens);
  }

  /** Prompt tokens that were left out of a request at first. */
  addPromptLen(at: number, tokens: number): void {
    this.#promptLen.set(at, this.#promptLen.get(at) + tokens);
  }

  /** Whether the gaps are (still) here. */
  get gapsKept(): boolean {
    return this.#gapsKept;
  }

  /** Positions [from, to) of each source. */
  sourceRanges(): readonly (readonly [from: number, to: number])[] {
    return this.#sourceStarts.map((from, k) => [from, this.#sourceStarts[k + 1] ?? this.size]);
  }

  /** Forgets the gaps, when there are too many to keep. */
  dropGaps(): void {
    this.#gapsKept = false;
    this.gaps.clear();
    this.#gapCount.clear();
    this.#gapOffset.clear();
  }

  isSuccess(at: number): boolean {
    return !this.#failed.has(at);
  }

  /** The request's times in seconds and its tokens. */
  row(at: number): { ttft: number; latency: number; start: number; arrival: number; tokens: number } {
    return {
      ttft: this.#ttft.get(at),
      latency: this.#latency.get(at),
      start: this.#start.get(at),
      arrival: this.#arrival.get(at),
      tokens: this.#tokens.get(at),
    };
  }

  promptLen(at: number): number {
    return this.#promptLen.get(at);
  }

  /** When the place of the request was free again, seconds. */
  freeAt(at: number): number {
    const taken = this.#end.get(at);
    return this.#start.get(at) + (Number.isNaN(taken) ? this.#latency.get(at) : taken);
  }

  /** When the request was over on the server's side: as {@link freeAt}, but its start where it was never sent. */
  overAt(at: number): number {
    return this.#unsent.has(at) ? this.#start.get(at) : this.freeAt(at);
  }

  /** Audio input in seconds, 0 when there was none. */
  audio(at: number): number {
    const value = this.#audio.used ? this.#audio.get(at) : 0;
    return Number.isNaN(value) ? 0 : value;
  }

  /** A value of one of the series of ours, NaN when there is none. */
  own(key: OwnSeriesKey, at: number): number {
    if (key === 'ttft_from_arrival') return this.#start.get(at) - this.#arrival.get(at) + this.#ttft.get(at);
    return this.#own.get(key)?.get(at) ?? Number.NaN;
  }

  /** The gaps of one request, copied. */
  gapsOf(at: number): Float64Array {
    const count = this.#gapCount.get(at);
    const out = new Float64Array(Number.isNaN(count) ? 0 : count);
    if (out.length > 0) this.gaps.copy(this.#gapOffset.get(at), out.length, out, 0);
    return out;
  }

  /** The gaps of all successful requests in the given order, one after the other. */
  allGaps(order: SampleOrder): Float64Array {
    const positions = new Uint32Array(this.size);
    let found = 0;
    for (let k = 0; k < this.size; k++) {
      const at = positionOf(order, k);
      if (this.isSuccess(at)) positions[found++] = at;
    }
    return this.gapsAt(positions.subarray(0, found));
  }

  /** The gaps of some requests, one after the other. */
  gapsAt(positions: ArrayLike<number>): Float64Array {
    let total = 0;
    for (let k = 0; k < positions.length; k++) total += this.#gapCount.get(positions[k] as number) || 0;
    const out = new Float64Array(total);
    let filled = 0;
    for (let k = 0; k < positions.length; k++) {
      const at = positions[k] as number;
      const count = this.#gapCount.get(at) || 0;
      if (count === 0) continue;
      this.gaps.copy(this.#gapOffset.get(at), count, out, filled);
      filled += count;
    }
    return out;
  }

  /**
   * Sample order: by index. Several files whose indices are all different are shards of one run and are interleaved by index; when
   * an index occurs twice they are repeats and follow each other file by file.
   */
  sampleOrder(): SampleOrder {
    const n = this.size;
    let ascending = true;
    for (let at = 1; at < n && ascending; at++) ascending = this.#i.get(at) > this.#i.get(at - 1);
    if (ascending) return { positions: null, repeated: 0 };
    const positions = new Uint32Array(n);
    for (let at = 0; at < n; at++) positions[at] = at;
    positions.sort((a, b) => this.#i.get(a) - this.#i.get(b) || a - b);
    let repeated = 0;
    for (let k = 1; k < n; k++) {
      if (this.#i.get(positions[k] as number) === this.#i.get(positions[k - 1] as number)) repeated++;
    }
    if (repeated > 0 && this.#sourceStarts.length > 1) this.#sortWithinSources(positions);
    return { positions, repeated };
  }

  /** vLLM's per-request arrays, read from here when they are written. */
  detail(order: SampleOrder): DetailViews {
    const view = <T>(read: (at: number) => T): View<T> => ({
      length: this.size,
      at: (k) => read(positionOf(order, k)),
    });
    return {
      inputLens: view((at) => this.#promptLen.get(at)),
      outputLens: view((at) => this.#tokens.get(at)),
      ttfts: view((at) => this.#ttft.get(at)),
      itls: this.#gapsKept ? view((at) => this.gapsOf(at)) : null,
      latencies: view((at) => this.#latency.get(at)),
      startTimes: view((at) => this.#start.get(at)),
      queueTimes: view((at) => this.#start.get(at) - this.#arrival.get(at)),
      generatedTexts: view((at) => this.#texts.get(at) ?? ''),
      errors: view((at) => this.#errors.get(at) ?? ''),
      successes: view((at) => this.isSuccess(at)),
      takenTimes: view((at) => this.overAt(at) - this.#start.get(at)),
      serverQueueTimes: view((at) => this.own('server_queue_time', at)),
    };
  }

  #sortWithinSources(positions: Uint32Array): void {
    for (let at = 0; at < positions.length; at++) positions[at] = at;
    for (const [from, to] of this.sourceRanges()) {
      positions.subarray(from, to).sort((a, b) => this.#i.get(a) - this.#i.get(b) || a - b);
    }
  }
}

/** Position of the k-th request in sample order. */
export function positionOf(order: SampleOrder, k: number): number {
  return order.positions === null ? k : (order.positions[k] as number);
}
