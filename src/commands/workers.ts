/** How many worker threads a run gets. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Streams that one worker carries without being late: 1,000 streams of 100 tokens a second fill about 70 % of a core, and an arrival
 * waits the longer the fuller the core is, so a worker gets a quarter of that where there are cores to spare.
 */
const STREAMS_PER_WORKER = 250;
/** Streams per worker from which on the last core is used too: a worker with more is certainly full, the coordinator hardly works. */
const STREAMS_TOO_MANY = 1500;
/**
 * Requests that one worker starts each second: sending one and taking its headers cost about 100 µs, and an answer's tokens come on
 * top of that.
 */
const STARTS_PER_WORKER = 1000;
/** How long a request is taken to last when only its rate is known: first token, then so much for each token. Seconds. */
const GUESSED_TTFT_S = 0.5;
const GUESSED_TOKEN_S = 0.02;

/** What is known of the load before it starts. */
export interface ExpectedLoad {
  /** `--workers`; null when it is left to us. */
  readonly asked: number | null;
  /** Slots at the start of the run. */
  readonly slots: number;
  /** More slots may be added (open loop without a bound). */
  readonly canGrow: boolean;
  /** Requests per second; Infinity in a closed loop. */
  readonly requestRate: number;
  readonly requests: number;
  /** Mean of the output lengths asked for. */
  readonly outputTokens: number;
}

/**
 * The asked number, or one by cores and expected load; never more than there can be streams. One core is left to the coordinator and
 * the system while the others can carry the load. What is measured does not depend on the number.
 */
export function chooseWorkers(load: ExpectedLoad, cores = availableCores()): number {
  const most = load.canGrow ? load.requests : load.slots;
  if (load.asked !== null) return Math.max(1, Math.min(load.asked, most));
  const rate = Number.isFinite(load.requestRate) ? load.requestRate : 0;
  const guessed = rate * (GUESSED_TTFT_S + GUESSED_TOKEN_S * load.outputTokens);
  const streams = load.canGrow ? Math.max(load.slots, Math.min(load.requests, guessed)) : load.slots;
  const wanted = Math.max(Math.ceil(streams / STREAMS_PER_WORKER), Math.ceil(rate / STARTS_PER_WORKER));
  const spare = Math.max(1, cores - 1);
  return Math.max(1, Math.min(streams > spare * STREAMS_TOO_MANY ? cores : spare, wanted, most));
}

/** Cores that this process may use: affinity (`taskset`) and a CPU quota of its container are heeded. At least 1. */
export function availableCores(): number {
  return Math.max(1, Math.min(availableParallelism(), quotaCores() ?? Number.POSITIVE_INFINITY));
}

/** Whole cores of the control group's quota (cgroup v2, else v1); null without one. */
function quotaCores(): number | null {
  const v2 = contentOf('/sys/fs/cgroup/cpu.max');
  if (v2 !== null) return coresOfQuota(v2);
  const quota = contentOf('/sys/fs/cgroup/cpu/cpu.cfs_quota_us');
  const period = contentOf('/sys/fs/cgroup/cpu/cpu.cfs_period_us');
  return quota === null || period === null ? null : coresOfQuota(`${quota} ${period}`);
}

/** Reads `QUOTA PERIOD` in microseconds; null for "max", -1 and anything else that is no quota. */
export function coresOfQuota(text: string): number | null {
  const match = /^(\d+)\s+(\d+)\s*$/.exec(text);
  const [quota, period] = [Number(match?.[1]), Number(match?.[2])];
  return quota > 0 && period > 0 ? Math.max(1, Math.floor(quota / period)) : null;
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
