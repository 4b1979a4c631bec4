/** A worker's evidence about itself: what its event loop, its garbage collector and its clock say about the figures it made. */
import { type GcMonitor, loopUtilisation, monitorGc, threadCpuMs } from '../record/clock.ts';
import type { WorkerHealth } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import type { ConnectionPlace } from './connection.ts';
import { DelayCounts } from './delay-counts.ts';
import { LoopProbe } from './loop-probe.ts';

/** Collects from `begin` to `end`. */
export class HealthMonitor {
  private readonly loop = new LoopProbe();
  private gc: GcMonitor | null = null;
  private mark: ReturnType<typeof loopUtilisation>['mark'] | undefined;
  private cpuAtBegin: number | null = null;
  private readonly lateness = new DelayCounts();
  /** Connections that requests had to open, in contrast to those opened before the clock started. */
  private readonly connects = new DelayCounts();
  private requests = 0;
  private tokenFrames = 0;
  private mergedFrames = 0;
  private reads = 0;
  private staleReconnects = 0;

  begin(): void {
    this.loop.begin();
    this.gc = monitorGc();
    this.mark = loopUtilisation().mark;
    this.cpuAtBegin = threadCpuMs();
  }

  /** For the display of a run under way: delays of the loop in ms, and the share of time that it was busy. */
  get soFar(): { readonly loopMaxMs: number; readonly loopP99Ms: number; readonly utilisation: number } {
    const { max, p99 } = this.loop.soFar;
    return { loopMaxMs: max, loopP99Ms: p99, utilisation: loopUtilisation(this.mark).share };
  }

  /** A request was sent, so much later than planned. */
  sent(latenessMs: number): void {
    this.lateness.add(latenessMs);
  }

  ended(record: RequestRecord): void {
    this.requests++;
    this.tokenFrames += record.frames ?? 0;
    this.mergedFrames += record.merged_frames ?? 0;
    this.reads += record.reads ?? 0;
    if (record.stale_reconnect === true) this.staleReconnects++;
    if (record.connect_s !== undefined) this.connects.add(record.connect_s * 1000);
  }

  end(worker: number, slots: number, place: ConnectionPlace): WorkerHealth {
    const { connectMs } = place;
    return {
      worker,
      slots,
      requests: this.requests,
      tokenFrames: this.tokenFrames,
      mergedFrames: this.mergedFrames,
      reads: this.reads,
      connectionsOpened: place.opened,
      connectMs: {
        count: connectMs.count,
        mean: connectMs.count > 0 ? connectMs.total / connectMs.count : 0,
        max: connectMs.max,
      },
      connectInRunMs: { count: this.connects.count, mean: this.connects.mean, max: this.connects.max },
      staleReconnects: this.staleReconnects,
      loopDelayMs: this.loop.end(),
      utilisation: loopUtilisation(this.mark).share,
      gcMs: this.gc?.stop() ?? { count: 0, total: 0, max: 0 },
      sendLatenessMs: {
        count: this.lateness.count,
        mean: this.lateness.mean,
        p99: this.lateness.percentile(0.99),
        max: this.lateness.max,
      },
      cpuMs: this.cpuSinceBegin(),
    };
  }

  private cpuSinceBegin(): number | null {
    const now = threadCpuMs();
    return now === null || this.cpuAtBegin === null ? null : now - this.cpuAtBegin;
  }
}
