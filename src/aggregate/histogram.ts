/**
 * HDR histograms, one per metric: whole non-negative microseconds at three significant digits. Workers fill a set each, ship its
 * bytes, and the coordinator merges them without loss; they serve everything live, exact values that no longer fit the memory
 * allowed, and `--save-hdr`.
 *
 * hdr-histogram-js takes NaN and fractions without a word, so nothing but {@link HistogramSet} records into one.
 * Format: http://hdrhistogram.org (V2 encoding).
 */
import type { LatencyKey } from '../metrics.ts';

/** Prepares the WASM build (7 times faster than plain JavaScript); without WebAssembly the plain one is used. Call once. */
export async function initHistograms(): Promise<void> {
  throw new Error('to be filled');
}

/** What a set is read for: count, mean and percentiles in milliseconds. */
export interface HistogramStats {
  readonly count: number;
  readonly meanMs: number;
  readonly maxMs: number;
  percentileMs(p: number): number;
}

/** Histograms by metric key, made when a key is first recorded. */
export class HistogramSet {
  /** Records one duration in seconds. NaN and infinities are dropped and counted in {@link rejected}; negatives count as 0. */
  record(_key: LatencyKey | (string & {}), _seconds: number): void {
    throw new Error('to be filled');
  }

  /** Number of values that were no durations. */
  get rejected(): number {
    throw new Error('to be filled');
  }

  /** Keys that hold values, in order of first use. */
  keys(): readonly string[] {
    throw new Error('to be filled');
  }

  /** Figures of one metric; null when nothing was recorded. */
  stats(_key: string): HistogramStats | null {
    throw new Error('to be filled');
  }

  /** The whole set as bytes for another thread (V2 encoding of each histogram). */
  encode(): Uint8Array {
    throw new Error('to be filled');
  }

  /** Adds an encoded set to this one, without loss. */
  addEncoded(_bytes: Uint8Array): void {
    throw new Error('to be filled');
  }

  /** Empties all histograms, for the next interval. */
  reset(): void {
    throw new Error('to be filled');
  }

  /** Frees the WASM memory. The set must not be used afterwards. */
  destroy(): void {
    throw new Error('to be filled');
  }
}
