/** Reads the block `client_health` of a record file: written by this version, an older one, or by hand. */

/** Figures of one worker; 0 where the file does not say. */
export interface WorkerFigures {
  readonly worker: number;
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  /** When the longest delay ended, seconds after the start; null when not told. */
  readonly loopMaxAtS: number | null;
  /** CPU time that the process used in the longest delay, as a share of it; null when not told. */
  readonly loopMaxCpu: number | null;
  readonly blocks: number;
  /** 0..1. */
  readonly utilisation: number;
  readonly gcMaxMs: number;
  readonly sends: number;
  readonly sendP99Ms: number;
  readonly sendMaxMs: number;
  readonly connectsInRun: number;
  readonly connectMeanMs: number;
}

/** The block, typed. */
export interface ClientHealth {
  /** At least one. */
  readonly workers: readonly WorkerFigures[];
  readonly cores: number | null;
  /** CPU time of the process in the run; null when not told. */
  readonly cpuMs: number | null;
  /** Requests have times at which they are due. */
  readonly isOpenLoop: boolean;
  /** Requests that were to be in flight at once; null when there was no such number. */
  readonly askedInFlight: number | null;
  readonly maxInFlight: number;
}

/** The typed block; null when it holds no worker. */
export function healthOf(block: unknown): ClientHealth | null {
  const health = fields(block);
  const workers = Array.isArray(health['workers']) ? health['workers'].map(workerOf) : [];
  if (workers.length === 0) return null;
  const cpu = fields(health['process_cpu_ms']);
  const isCpuTold = typeof cpu['user'] === 'number' && typeof cpu['system'] === 'number';
  return {
    workers,
    cores: known(health['cores']),
    cpuMs: isCpuTold ? number(cpu['user']) + number(cpu['system']) : null,
    isOpenLoop: health['open_loop'] === true,
    askedInFlight: known(health['asked_in_flight']),
    maxInFlight: number(health['max_in_flight']),
  };
}

/**
 * One block for several runs: all their workers, and what holds for all of them. What was asked of each run cannot be added up.
 * @returns undefined unless every run has a block
 */
export function mergedHealth(blocks: readonly unknown[]): Record<string, unknown> | undefined {
  const all = blocks.map(fields);
  if (all.length === 0 || all.some((block) => healthOf(block) === null)) return undefined;
  const cores = all.map((block) => known(block['cores'])).filter((count) => count !== null);
  return {
    ...(cores.length === 0 ? {} : { cores: Math.max(...cores) }),
    ...(all.every((block) => block['open_loop'] === true) ? { open_loop: true } : {}),
    max_in_flight: Math.max(...all.map((block) => number(block['max_in_flight']))),
    workers: all.flatMap((block) => block['workers'] as readonly unknown[]),
  };
}

function workerOf(value: unknown, index: number): WorkerFigures {
  const worker = fields(value);
  const loop = fields(worker['loop_delay_ms']);
  const sends = fields(worker['send_lateness_ms']);
  const connects = fields(worker['connect_in_run_ms']);
  return {
    worker: known(worker['worker']) ?? index,
    loopP99Ms: number(loop['p99']),
    loopMaxMs: number(loop['max']),
    loopMaxAtS: known(loop['max_at_s']),
    loopMaxCpu: known(loop['max_cpu']),
    blocks: number(loop['blocks']),
    utilisation: number(worker['utilisation']),
    gcMaxMs: number(fields(worker['gc_ms'])['max']),
    sends: number(sends['count']),
    sendP99Ms: number(sends['p99']),
    sendMaxMs: number(sends['max']),
    connectsInRun: number(connects['count']),
    connectMeanMs: number(connects['mean']),
  };
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function known(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function number(value: unknown): number {
  return known(value) ?? 0;
}
