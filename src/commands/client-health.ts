/** The block `client_health` of a run's end: what the client knows about itself. Snake case, times in ms. */
import { cpuTimeUs } from '../record/clock.ts';
import type { WorkerHealth } from '../record/messages.ts';
import type { LoadResult } from '../transport/coordinator.ts';
import { availableCores } from './workers.ts';

/** Said where Node does not tell the CPU time of a thread. */
const CPU_NOTE =
  'Node tells the CPU time of a single thread from version 24 on; process_cpu_ms is that of the whole program in the run';

/** CPU time of the whole process between {@link begin} and {@link used}. */
export class RunCpu {
  private atBegin = cpuTimeUs();

  /** The clock of the run has started: what went before is not counted. */
  begin(): void {
    this.atBegin = cpuTimeUs();
  }

  /** In ms. */
  used(): { readonly user: number; readonly system: number } {
    const now = cpuTimeUs();
    return {
      user: (now.userUs - this.atBegin.userUs) / 1000,
      system: (now.systemUs - this.atBegin.systemUs) / 1000,
    };
  }
}

/**
 * The block.
 * @param askedInFlight requests that were to be in flight at the same time (closed loop); null when each had a time at which it was
 * due (open loop)
 */
export function healthBlock(
  result: LoadResult,
  cpu: { readonly user: number; readonly system: number },
  askedInFlight: number | null,
): Record<string, unknown> {
  const frames = result.health.reduce((sum, worker) => sum + worker.tokenFrames, 0);
  return {
    node: process.version,
    cores: availableCores(),
    ...(askedInFlight === null ? { open_loop: true } : { asked_in_flight: askedInFlight }),
    max_in_flight: result.maxInFlight,
    process_cpu_ms: cpu,
    ...(frames === 0 ? {} : { cpu_us_per_token_frame: ((cpu.user + cpu.system) * 1000) / frames }),
    max_rss_mb: process.resourceUsage().maxRSS / 1024,
    ...(result.health.some(({ cpuMs }) => cpuMs === null) ? { cpu_note: CPU_NOTE } : {}),
    workers: result.health.map(workerBlock),
  };
}

function workerBlock(health: WorkerHealth): Record<string, unknown> {
  const { tokenFrames, loopDelayMs } = health;
  return {
    worker: health.worker,
    slots: health.slots,
    requests: health.requests,
    token_frames: tokenFrames,
    merged_frames: health.mergedFrames,
    reads: health.reads,
    ...(tokenFrames === 0
      ? {}
      : { reads_per_frame: health.reads / tokenFrames, merged_share: health.mergedFrames / tokenFrames }),
    connections_opened: health.connectionsOpened,
    connect_ms: health.connectMs,
    connect_in_run_ms: health.connectInRunMs,
    stale_reconnects: health.staleReconnects,
    loop_delay_ms: {
      mean: loopDelayMs.mean,
      p99: loopDelayMs.p99,
      max: loopDelayMs.max,
      max_at_s: loopDelayMs.maxAtMs / 1000,
      max_cpu: loopDelayMs.maxCpu,
      blocks: loopDelayMs.blocks,
    },
    utilisation: health.utilisation,
    gc_ms: health.gcMs,
    send_lateness_ms: health.sendLatenessMs,
    cpu_ms: health.cpuMs,
  };
}
