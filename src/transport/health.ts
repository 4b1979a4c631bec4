/** A worker's evidence about itself: what its event loop, its garbage collector and its clock say about the figures it made. */
import {
  type GcMonitor,
  type LoopDelayMonitor,
  loopUtilisation,
  monitorGc,
  monitorLoopDelay,
  threadCpuMs,
} from '../record/clock.ts';
import type { WorkerHealth } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import type { ConnectionPlace } from './connection.ts';

const LOOP_RESOLUTION_MS = 10;
/** Lateness of sends is kept in this many buckets of 0.1 ms, the last one for all above. */
const LATENESS_BUCKETS = 10_000;
const BUCKET_MS = 0.1;

/** Collects from `begin` to `end`. */
export class HealthMonitor {
  private loop: LoopDelayMonitor | null = null;
  private gc: GcMonitor | null = null;
  private mark: ReturnType<typeof loopUtilisation>['mark'] | undefined;
  private readonly lateness = new Uint32Array(LATENESS_BUCKETS);
  private latenessTotal = 0;
  private latenessMax = 0;
  private sends = 0;
  private requests = 0;
  private tokenFrames = 0;
  private mergedFrames = 0;
  private reads = 0;
  private staleReconnects = 0;

  begin(): void {
    this.loop = monitorLoopDelay(LOOP_RESOLUTION_MS);
    this.gc = monitorGc();
    this.mark = loopUtilisation().mark;
  }

  /** A request was sent, so much later than planned. */
  sent(latenessMs: number): void {
    const late = Math.max(0, latenessMs);
    this.sends++;
    this.latenessTotal += late;
    this.latenessMax = Math.max(this.latenessMax, late);
    const bucket = Math.min(LATENESS_BUCKETS - 1, Math.floor(late / BUCKET_MS));
    this.lateness[bucket] = (this.lateness[bucket] as number) + 1;
  }

  ended(record: RequestRecord): void {
    this.requests++;
    this.tokenFrames += record.frames ?? 0;
    this.mergedFrames += record.merged_frames ?? 0;
    this.reads += record.reads ?? 0;
    if (record.stale_reconnect === true) this.staleReconnects++;
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
      staleReconnects: this.staleReconnects,
      loopDelayMs: this.loop?.stop() ?? { mean: 0, p99: 0, max: 0 },
      utilisation: loopUtilisation(this.mark).share,
      gcMs: this.gc?.stop() ?? { count: 0, total: 0, max: 0 },
      sendLatenessMs: {
        count: this.sends,
        mean: this.sends > 0 ? this.latenessTotal / this.sends : 0,
        p99: this.latenessPercentile(0.99),
        max: this.latenessMax,
      },
      cpuMs: threadCpuMs(),
    };
  }

  private latenessPercentile(share: number): number {
    let left = Math.ceil(this.sends * share);
    for (const [bucket, count] of this.lateness.entries()) {
      left -= count;
      if (left <= 0) return Math.min(this.latenessMax, (bucket + 1) * BUCKET_MS);
    }
    return this.latenessMax;
  }
}
