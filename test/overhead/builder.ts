/** Figures of the self-benchmark for tests. */
import type { ErrorFigures } from '../../src/aggregate/delivery.ts';
import type { OverheadFigures, OverheadReport } from '../../src/aggregate/overhead.ts';

export function errors(mean: number, p50: number, p99: number, std: number): ErrorFigures {
  return { count: 100, mean, p50, p99, std, max: p99 * 2 };
}

/** A level in which everything was seen in time. */
export function level(streams: number, more: Partial<OverheadFigures> = {}): OverheadFigures {
  return {
    streams,
    requests: streams * 3,
    workers: 1,
    sent: streams * 300,
    lost: 0,
    failed: 0,
    firstError: '',
    unmatched: 0,
    deliveryMs: errors(0.12, 0.1, 1.234, 0.2),
    ttftErrorMs: errors(0.5, 0.4, 12.34, 0.3),
    gapErrorMs: errors(0.05, 0.01, 0.9, 123.4),
    gapBiasMs: errors(0, 0, 0.9, 0.1),
    requestPathMs: errors(0.3, 0.2, 2, 0.1),
    spanS: 3,
    eventsPerS: streams * 100,
    cpuUsPerEvent: 8.25,
    cpuCores: 0.6,
    loopDelayMs: { p99: 1.5, max: 9 },
    utilisation: 0.42,
    readsPerEvent: 0.98,
    server: { lateMs: { mean: 0.05, p99: 0.4, max: 3 }, frames: streams * 300, cpuUsPerFrame: 4 },
    ...more,
  };
}

/** A report of two levels. */
export function report(more: Partial<OverheadReport> = {}): OverheadReport {
  return {
    version: '1.2.3',
    startedAt: '2026-12-01T03:45:00.000Z',
    node: '24.1.0',
    cpu: 'Some CPU',
    cores: 8,
    ttftMs: 50,
    itlMs: 10,
    tokens: 100,
    lockstep: false,
    levels: [level(1), level(1000)],
    skipped: [],
    search: null,
    ...more,
  };
}
