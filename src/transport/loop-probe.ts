/**
 * How long bytes that arrive at a random moment wait until this thread's event loop looks at them.
 *
 * A timer is due every few milliseconds; how late it runs is what a read would have waited that became ready at that moment. While
 * the loop is blocked the probes that fall due in the meantime cannot run, so they are added afterwards with the delay each would
 * have seen (as HdrHistogram does against coordinated omission): a block of 200 ms in a run of ten seconds shows up as what it is,
 * two per cent of the time with delays up to 200 ms, and not as one late sample among a thousand. Node's own
 * `monitorEventLoopDelay` leaves these out.
 */
import { cpuTimeUs, nowMs } from '../record/clock.ts';
import { DelayCounts } from './delay-counts.ts';

/** Time between two probes: 200 a second cost a tenth of a per cent of a core. */
const PROBE_MS = 5;
/** A loop that is away for this long is worth being counted as blocked. */
export const BLOCK_MS = 50;

/** What the probes saw. Times in ms; `maxAtMs` counts from the beginning of the probing to the end of the longest delay. */
export interface LoopDelay {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
  readonly maxAtMs: number;
  /**
   * CPU time that the process used in the longest delay, as a share of it. Well below 1 the thread was not at work all that time: the
   * system had given the core to something else.
   */
  readonly maxCpu: number;
  /** Delays of at least {@link BLOCK_MS}. */
  readonly blocks: number;
}

/** Probes the loop of the thread that makes it, from {@link begin} to {@link end}. */
export class LoopProbe {
  private readonly delays = new DelayCounts();
  private timer: NodeJS.Timeout | null = null;
  private beganMs = 0;
  private dueMs = 0;
  private maxAtMs = 0;
  private maxCpu = 0;
  private blocks = 0;
  private cpuUs = 0;
  private readonly fire = (): void => {
    this.note(nowMs());
    this.arm();
  };

  begin(): void {
    this.beganMs = nowMs();
    this.arm();
  }

  /** Delays so far, ms. */
  get soFar(): { readonly max: number; readonly p99: number } {
    return { max: this.delays.max, p99: this.delays.percentile(0.99) };
  }

  end(): LoopDelay {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    // A block that lasts until now has kept its own probe from being counted.
    if (nowMs() > this.dueMs) this.note(nowMs());
    const { delays } = this;
    return {
      mean: delays.mean,
      p99: delays.percentile(0.99),
      max: delays.max,
      maxAtMs: this.maxAtMs,
      maxCpu: this.maxCpu,
      blocks: this.blocks,
    };
  }

  /** A probe has run, at `now`. */
  private note(now: number): void {
    const late = now - this.dueMs;
    if (late > this.delays.max) {
      this.maxAtMs = now - this.beganMs;
      this.maxCpu = (cpuTimeUs().totalUs - this.cpuUs) / 1000 / (late + PROBE_MS);
    }
    if (late >= BLOCK_MS) this.blocks++;
    this.delays.add(late);
    for (let missed = late - PROBE_MS; missed > 0; missed -= PROBE_MS) this.delays.add(missed);
  }

  private arm(): void {
    this.cpuUs = cpuTimeUs().totalUs;
    this.dueMs = nowMs() + PROBE_MS;
    this.timer = setTimeout(this.fire, PROBE_MS);
  }
}
