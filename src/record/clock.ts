/**
 * The only file that reads a clock (a test enforces it).
 *
 * All timings of a run are on one monotonic clock: `performance.now()`, which costs 42 ns, never steps, and counts from the same
 * origin in every thread of a process. For files it is shifted to the system's monotonic clock (`CLOCK_MONOTONIC` on Linux), the
 * clock behind Python's `perf_counter`, so that `start_time` looks as in vLLM's results and can be compared between
 * processes of one machine.
 */
import { type EventLoopUtilization, PerformanceObserver, performance } from 'node:perf_hooks';

/** Milliseconds on the run's monotonic clock, the same in all threads of this process. */
export function nowMs(): number {
  return performance.now();
}

/** Nanoseconds on the system's monotonic clock, comparable between processes of one machine. */
export function systemMonotonicNs(): bigint {
  return process.hrtime.bigint();
}

/**
 * Milliseconds to add to {@link nowMs} to get the system's monotonic clock. Read once in the coordinator and handed to the
 * workers, so that all threads use the identical shift. The pair of readings is repeated and the tightest kept, because a
 * preemption between the two would become a constant error.
 */
export function monotonicOffsetMs(): number {
  let best = 0;
  let bestGap = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 16; i++) {
    const before = performance.now();
    const system = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    if (after - before < bestGap) {
      bestGap = after - before;
      best = system - (before + after) / 2;
    }
  }
  return best;
}

/** Wall-clock time now, for dates in files and names; never for a duration. */
export function wallClock(): Date {
  return new Date();
}

/** CPU time used by this process since it started, in microseconds: user, system, and their sum. */
export function cpuTimeUs(): { userUs: number; systemUs: number; totalUs: number } {
  const { user, system } = process.cpuUsage();
  return { userUs: user, systemUs: system, totalUs: user + system };
}

/** Share of time this thread's event loop was busy since `since` (or since it started), 0..1, and the mark for the next call. */
export function loopUtilisation(since?: EventLoopUtilization): { share: number; mark: EventLoopUtilization } {
  const mark = performance.eventLoopUtilization();
  const span = since === undefined ? mark : performance.eventLoopUtilization(mark, since);
  return { share: span.utilization, mark };
}

/** Garbage collection pauses of this thread, as they are reported. */
export interface GcMonitor {
  stop(): { readonly count: number; readonly total: number; readonly max: number };
}

/** Starts to add up garbage collection pauses, in ms. */
export function monitorGc(): GcMonitor {
  const sum = { count: 0, total: 0, max: 0 };
  const add = (entries: readonly { duration: number }[]) => {
    for (const { duration } of entries) {
      sum.count++;
      sum.total += duration;
      sum.max = Math.max(sum.max, duration);
    }
  };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  return {
    stop() {
      add(observer.takeRecords());
      observer.disconnect();
      return sum;
    },
  };
}

/** CPU time of this thread in ms where Node tells it (24 and newer), else null. */
export function threadCpuMs(): number | null {
  const read = (process as { threadCpuUsage?: () => { user: number; system: number } }).threadCpuUsage;
  if (read === undefined) return null;
  const { user, system } = read.call(process);
  return (user + system) / 1000;
}
