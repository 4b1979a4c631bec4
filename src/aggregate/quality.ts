/**
 * Was the client itself the limit? Judges the health figures of a run (`client_health` of its end) beside what it measured, and
 * yields findings as data; their words stand in `report/warnings.ts`.
 *
 * A client distorts in two ways. Its event loop looks at arrived bytes too late: then TTFT and gaps are too long by that delay. How much
 * that is in a percentile is bounded twice, by the delays and by the figures: a 99th percentile that lies 3 ms above the
 * median is not 20 ms too high, whatever the loop did in moments when nothing came. Or the client cannot keep up: requests go out
 * later than planned, fewer are in flight than asked for, or a loop has no idle time left.
 *
 * A clean run has none of this: an idle machine shows delays of 1 to 2 ms, most of it the rounding of timers, and a busy one
 * takes the core away for some tens of ms now and then.
 */
import { type ClientHealth, healthOf, type WorkerFigures } from './quality-input.ts';

/** A finding; the same shape as a warning of the report. */
export interface QualityFinding {
  readonly code: QualityCode;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What can be found. The list is closed. */
export type QualityCode =
  /** A worker's loop was away for {@link LIMITS.blockMs} or more at least once. */
  | 'client_loop_blocked'
  /** Delays of a worker's loop are a notable part of the latencies. */
  | 'client_loop_late'
  /** A worker's loop had next to no idle time. */
  | 'client_busy'
  /** Open loop: requests were sent later than planned. */
  | 'client_sends_late'
  /** Open loop: the same, because connections had to be opened first. No limit of the client. */
  | 'client_connects_late'
  /** Closed loop: never as many in flight as asked for. */
  | 'client_in_flight_low'
  /** A worker thread died. */
  | 'client_worker_lost';

/** From where on something is found. */
export const LIMITS = {
  /** A loop away for so long once. */
  blockMs: 150,
  /** Delays below this are no matter whatever they are compared with. */
  lateMs: 5,
  /** Share of the 99th percentile of TTFT, and of the gaps, from which a delay counts. */
  lateOfTtft: 0.05,
  lateOfGap: 0.25,
  /** Share of time that a loop was busy, in a run that is long enough for start-up to be no part of it. */
  busy: 0.9,
  busyMinS: 1,
  /** Sends later than planned, 99th percentile. */
  sendsLateMs: 10,
  /** Share of the asked number that was in flight at most. */
  inFlight: 0.9,
  /** Less CPU time than this share of the busy time: others had the cores. */
  cpuShare: 0.7,
  /** The same for a single delay. */
  workShare: 0.5,
} as const;

/** What the run measured, as far as the client's health is judged by it. */
export interface MeasuredRun {
  readonly durationS: number;
  readonly completed: number;
  readonly failed: number;
  readonly interrupted: boolean;
  /** In ms, 0 when there are no values. */
  readonly ttft: { readonly medianMs: number; readonly p99Ms: number };
  readonly gaps: { readonly medianMs: number; readonly p99Ms: number };
}

/** The verdict of a run. */
export interface ClientVerdict {
  readonly wasLimit: boolean;
  /** Findings that make it so. */
  readonly reasons: readonly QualityFinding[];
  /** All findings, those included. */
  readonly findings: readonly QualityFinding[];
  /** Figures for the line that says all is well. */
  readonly figures: {
    readonly loopDelayP99Ms: number;
    readonly loopDelayMaxMs: number;
    readonly utilisation: number;
    readonly workers: number;
  };
}

/**
 * Judges a run.
 * @param block `client_health` of the run's end, of this or an older version, or of a file that someone else wrote
 * @param lostWorkers `lost_workers` of the end
 * @returns null when the block holds no figures to go by
 */
export function judgeClient(block: unknown, lostWorkers: unknown, run: MeasuredRun): ClientVerdict | null {
  const health = healthOf(block);
  if (health === null) return null;
  const reasons = [
    ...lostFindings(lostWorkers),
    ...loopFindings(health, run),
    ...busyFindings(health, run),
    ...inFlightFindings(health, run),
  ];
  const sends = sendFindings(health);
  const limiting = [...reasons, ...sends.filter(({ code }) => code === 'client_sends_late')];
  const { workers } = health;
  return {
    wasLimit: limiting.length > 0,
    reasons: limiting,
    findings: [...reasons, ...sends],
    figures: {
      loopDelayP99Ms: Math.max(...workers.map(({ loopP99Ms }) => loopP99Ms)),
      loopDelayMaxMs: Math.max(...workers.map(({ loopMaxMs }) => loopMaxMs)),
      utilisation: Math.max(...workers.map(({ utilisation }) => utilisation)),
      workers: workers.length,
    },
  };
}

function lostFindings(lost: unknown): QualityFinding[] {
  if (!Array.isArray(lost) || lost.length === 0) return [];
  return [{ code: 'client_worker_lost', facts: { workers: lost.map(String) } }];
}

/** One finding at most: the longest block, else the delays. Both would say the same of one loop. */
function loopFindings(health: ClientHealth, run: MeasuredRun): QualityFinding[] {
  const blocked = worst(health, ({ loopMaxMs }) => loopMaxMs);
  const late = worst(health, ({ loopP99Ms }) => loopP99Ms);
  const distorted = distortions(late.loopP99Ms, run);
  const isBlocked = blocked.loopMaxMs >= LIMITS.blockMs;
  if (!isBlocked && distorted.length === 0) return [];
  const worker = isBlocked ? blocked : late;
  return [
    {
      code: isBlocked ? 'client_loop_blocked' : 'client_loop_late',
      facts: {
        worker: worker.worker,
        p99_ms: worker.loopP99Ms,
        max_ms: worker.loopMaxMs,
        at_s: worker.loopMaxAtS,
        blocks: worker.blocks,
        // By what the 99th percentiles may be too high.
        too_high_ms: Object.fromEntries(distorted),
        gc_max_ms: worker.gcMaxMs,
        // Late without having worked: the system did not run the thread, and more threads would not change that.
        ...(worker.loopMaxCpu !== null && worker.loopMaxCpu < LIMITS.workShare ? { not_run: true } : {}),
        ...adviceFacts(health, run),
      },
    },
  ];
}

/** Metrics whose 99th percentile is notably too high, with the bound of that in ms. */
function distortions(delayMs: number, run: MeasuredRun): [metric: string, tooHighMs: number][] {
  const series = [
    ['ttft', run.ttft, LIMITS.lateOfTtft],
    ['itl', run.gaps, LIMITS.lateOfGap],
  ] as const;
  return series.flatMap(([metric, { medianMs, p99Ms }, share]) => {
    const tooHigh = Math.min(delayMs, p99Ms - medianMs);
    return tooHigh >= Math.max(LIMITS.lateMs, share * p99Ms) ? [[metric, tooHigh]] : [];
  });
}

function busyFindings(health: ClientHealth, run: MeasuredRun): QualityFinding[] {
  const busiest = worst(health, ({ utilisation }) => utilisation);
  if (busiest.utilisation < LIMITS.busy || run.durationS < LIMITS.busyMinS) return [];
  const facts = { worker: busiest.worker, utilisation: busiest.utilisation, ...adviceFacts(health, run) };
  return [{ code: 'client_busy', facts }];
}

function sendFindings(health: ClientHealth): QualityFinding[] {
  if (!health.isOpenLoop) return [];
  const latest = worst(health, ({ sendP99Ms }) => sendP99Ms);
  if (latest.sendP99Ms < LIMITS.sendsLateMs) return [];
  const { connectsInRun, connectMeanMs } = latest;
  // A request on a fresh connection is sent when that is open: the network's time, which a server far away makes long.
  const isConnecting = connectsInRun > 0.01 * latest.sends && connectMeanMs >= 0.5 * latest.sendP99Ms;
  return [
    {
      code: isConnecting ? 'client_connects_late' : 'client_sends_late',
      facts: {
        worker: latest.worker,
        p99_ms: latest.sendP99Ms,
        max_ms: latest.sendMaxMs,
        workers: health.workers.length,
        use_workers: isConnecting ? null : moreWorkers(health),
        ...(isConnecting ? { connections: connectsInRun, connect_mean_ms: connectMeanMs } : {}),
      },
    },
  ];
}

function inFlightFindings(health: ClientHealth, run: MeasuredRun): QualityFinding[] {
  const { askedInFlight, maxInFlight } = health;
  // Requests that fail at once make room faster than anyone could fill it.
  const isTelling = askedInFlight !== null && !run.interrupted && run.failed <= 0.1 * run.completed;
  if (!isTelling || maxInFlight >= LIMITS.inFlight * askedInFlight) return [];
  const facts = {
    asked: askedInFlight,
    seen: maxInFlight,
    workers: health.workers.length,
    use_workers: moreWorkers(health),
  };
  return [{ code: 'client_in_flight_low', facts }];
}

/** What the advice of a loop that comes too late hangs on. */
function adviceFacts(health: ClientHealth, run: MeasuredRun): Record<string, unknown> {
  const share = cpuShare(health, run);
  const isStarved = share !== null && share < LIMITS.cpuShare;
  return {
    workers: health.workers.length,
    cores: health.cores,
    ...(isStarved ? { cpu_share: share } : {}),
    use_workers: isStarved ? null : moreWorkers(health),
  };
}

/**
 * CPU time that the process got, of the time its loops were not waiting for something to come; null when not known. Well below 1 means
 * that it stood in line for a core.
 */
function cpuShare(health: ClientHealth, run: MeasuredRun): number | null {
  const busyMs = health.workers.reduce((sum, worker) => sum + worker.utilisation, 0) * run.durationS * 1000;
  // Of a loop that hardly works nothing can be said.
  if (health.cpuMs === null || busyMs < 0.1 * run.durationS * 1000) return null;
  return health.cpuMs / busyMs;
}

/** A number of workers that is worth trying; null when there is no core for another. */
function moreWorkers({ workers, cores, askedInFlight }: ClientHealth): number | null {
  const now = workers.length;
  const room = Math.min(cores ?? now, askedInFlight ?? Number.POSITIVE_INFINITY);
  // One core stays free for the system where there are several more.
  const most = room > now + 1 ? room - 1 : room;
  return most > now ? Math.min(most, now * 2) : null;
}

function worst(health: ClientHealth, figure: (worker: WorkerFigures) => number): WorkerFigures {
  return health.workers.reduce((a, b) => (figure(b) > figure(a) ? b : a));
}
