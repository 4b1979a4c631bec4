/**
 * HDR histograms, one per metric: whole non-negative microseconds at three significant digits. Workers fill a set each, ship its
 * bytes, and the coordinator merges them without loss; they serve everything live, exact values that no longer fit the memory
 * allowed, and `--save-hdr`.
 *
 * hdr-histogram-js takes NaN and fractions without a word (and its WASM build dies of them), so nothing but {@link HistogramSet}
 * records into one. Format: http://hdrhistogram.org (V2 encoding).
 */
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
  initWebAssembly,
  type JsHistogram,
  WasmHistogram,
} from 'hdr-histogram-js';
import { pack, unpack } from 'msgpackr';
import type { LatencyKey } from '../metrics.ts';
import type { RequestRecord } from '../record/record.ts';
import { believed } from './believed.ts';

/** Range that is laid out from the start: one hour. Longer values grow the histogram; equal layouts merge fastest. */
const RANGE_US = 3_600_000_000;
/** Longest duration recorded, 11 days: what is above counts as this. Keeps a hostile value from growing the array for ever. */
const MAX_US = 1_000_000_000_000;
/** 64-bit counts: an endurance run passes 2^32 gaps. */
const BITS = 64;

let wasm = false;

/** Prepares the WASM build (4 times faster than plain JavaScript); without WebAssembly the plain one is used. Call once per thread. */
export async function initHistograms(): Promise<void> {
  try {
    await initWebAssembly();
    wasm = true;
  } catch {
    wasm = false;
  }
}

/** What a set is read for: count, mean and percentiles in milliseconds, within one part in a thousand. */
export interface HistogramStats {
  readonly count: number;
  readonly meanMs: number;
  readonly stdMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** @param p percentile, 0..100 */
  percentileMs(p: number): number;
}

/** Values that a histogram does not tell apart, and how many there are. */
export interface HistogramBucket {
  /** Lowest and highest value of the bucket, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
}

/** Histograms by metric key, made when a key is first recorded. Keys are those of `metrics.ts`, or any word for figures of ours. */
export class HistogramSet {
  readonly #byKey = new Map<string, Histogram>();
  #rejected = 0;

  /** Records one duration in seconds, to the nearest microsecond. NaN and infinities are dropped and counted in {@link rejected}; negatives count as 0. */
  record(key: LatencyKey | (string & {}), seconds: number): void {
    this.#put(this.#histogram(key), seconds);
  }

  /** {@link record} of many values. */
  recordAll(key: LatencyKey | (string & {}), seconds: ArrayLike<number>): void {
    if (seconds.length === 0) return;
    const histogram = this.#histogram(key);
    for (let i = 0; i < seconds.length; i++) this.#put(histogram, seconds[i] as number);
  }

  /** All metrics of one request as vLLM defines them; nothing for a failed one. TPOT needs the server's token count. */
  recordRequest(raw: RequestRecord): void {
    if (!raw.success) return;
    const { record: request } = believed(raw, false);
    const queued = request.start_time - request.arrival_time;
    this.record('ttft', request.ttft);
    if (request.output_tokens !== null && request.output_tokens > 1) {
      this.record('tpot', (request.latency - request.ttft) / (request.output_tokens - 1));
    }
    if (request.output_tokens) this.record('ntpot', request.latency / request.output_tokens);
    this.recordAll('itl', request.itl);
    this.record('e2el', request.latency);
    this.record('client_queue_time', queued);
    this.record('e2el_including_client_queue', request.latency + queued);
  }

  /** Number of values that were no durations. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Keys that hold values, in order of first use. */
  keys(): readonly string[] {
    return [...this.#byKey].filter(([, histogram]) => histogram.totalCount > 0).map(([key]) => key);
  }

  /** Figures of one metric; null when nothing was recorded. */
  stats(key: string): HistogramStats | null {
    const histogram = this.#byKey.get(key);
    if (histogram === undefined || histogram.totalCount === 0) return null;
    return {
      count: histogram.totalCount,
      meanMs: histogram.mean / 1000,
      stdMs: histogram.stdDeviation / 1000,
      minMs: histogram.getValueAtPercentile(0) / 1000,
      maxMs: histogram.maxValue / 1000,
      percentileMs: (p) => histogram.getValueAtPercentile(p) / 1000,
    };
  }

  /** The histogram of one metric in the standard form of histogram logs (V2, deflated, base64); null when nothing was recorded. */
  base64(key: string): string | null {
    const histogram = this.#byKey.get(key);
    return histogram === undefined || histogram.totalCount === 0 ? null : encodeIntoCompressedBase64(histogram);
  }

  /** The buckets of one metric that hold values, in rising order; empty when nothing was recorded. For the end of a run: it takes milliseconds. */
  buckets(key: string): HistogramBucket[] {
    const text = this.base64(key);
    if (text === null) return [];
    // The WASM build lets no one see its counts.
    const plain = decodeFromCompressedBase64(text, BITS, false) as JsHistogram;
    const found: HistogramBucket[] = [];
    for (let k = 0; k < plain.countsArrayLength; k++) {
      const count = plain.getCountAtIndex(k);
      if (count === 0) continue;
      const low = plain.valueFromIndex(k);
      found.push({ fromMs: low / 1000, toMs: plain.highestEquivalentValue(low) / 1000, count });
    }
    plain.destroy();
    return found;
  }

  /** The whole set as bytes for another thread: a msgpack map of key → V2 encoding. */
  encode(): Uint8Array {
    const out: Record<string, unknown> = { rejected: this.#rejected };
    for (const key of this.keys()) {
      const histogram = this.#byKey.get(key) as Histogram;
      out[`h:${key}`] = histogram instanceof WasmHistogram ? histogram.encode() : encodeIntoCompressedBase64(histogram);
    }
    return Uint8Array.from(pack(out));
  }

  /** Adds an encoded set to this one, without loss. */
  addEncoded(bytes: Uint8Array): void {
    for (const [name, value] of Object.entries(unpack(bytes) as Record<string, unknown>)) {
      if (name === 'rejected') this.#rejected += Number(value);
      else this.#merge(name.slice(2), value as Uint8Array | string);
    }
  }

  /** Adds another set of this thread to this one. */
  add(other: HistogramSet): void {
    this.#rejected += other.#rejected;
    for (const [key, histogram] of other.#byKey) if (histogram.totalCount > 0) this.#histogram(key).add(histogram);
  }

  /** Adds a histogram in the form of {@link base64}. */
  addBase64(key: string, text: string): void {
    this.#merge(key, text);
  }

  /** Empties all histograms, for the next interval. */
  reset(): void {
    this.#rejected = 0;
    for (const histogram of this.#byKey.values()) histogram.reset();
  }

  /** Frees the WASM memory. The set is empty afterwards. */
  destroy(): void {
    for (const histogram of this.#byKey.values()) histogram.destroy();
    this.#byKey.clear();
  }

  #put(histogram: Histogram, seconds: number): void {
    const us = Math.round(seconds * 1e6);
    if (us >= 0 && us <= MAX_US) histogram.recordValue(us);
    else if (us < 0 && us > Number.NEGATIVE_INFINITY) histogram.recordValue(0);
    else if (us > MAX_US && us < Number.POSITIVE_INFINITY) histogram.recordValue(MAX_US);
    else this.#rejected++;
  }

  #histogram(key: string): Histogram {
    let histogram = this.#byKey.get(key);
    if (histogram === undefined) {
      histogram = build({
        bitBucketSize: BITS,
        autoResize: true,
        lowestDiscernibleValue: 1,
        highestTrackableValue: RANGE_US,
        numberOfSignificantValueDigits: 3,
        useWebAssembly: wasm,
      });
      this.#byKey.set(key, histogram);
    }
    return histogram;
  }

  #merge(key: string, encoded: Uint8Array | string): void {
    const other =
      typeof encoded === 'string'
        ? decodeFromCompressedBase64(encoded, BITS, wasm)
        : WasmHistogram.decode(encoded, BITS);
    this.#histogram(key).add(other);
    other.destroy();
  }
}
