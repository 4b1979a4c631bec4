/**
 * `--reconnect-wait`: a server that goes away in mid-run is waited for. Workers stop the sending by themselves when they see signs of
 * its absence (see `worker-run.ts`); here the server is asked whether it is really gone, and the sending goes on when it is back.
 */
import { nowMs } from '../record/clock.ts';
import { CONTROL, STOP } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';

/** How the server answers a small question: it has its model and takes requests, or it does not (and why). */
export type Presence =
  | { readonly isThere: true; readonly model: string | null }
  | { readonly isThere: false; readonly reason: string };

/** What `--reconnect-wait` asks for. */
export interface OutagePlan {
  /** How long to wait for the server each time, ms; Infinity = for ever. */
  readonly waitMs: number;
  /** Asks the server. Never rejects. */
  ask(): Promise<Presence>;
  /** The server is gone; called once per outage. */
  onGone(reason: string): void;
  onBack(outage: Outage): void;
  /** It did not come back in time: the run is ended. */
  onGivenUp(outage: Outage): void;
}

/** One absence of the server. */
export interface Outage {
  /** Since the start of the run, ms. */
  readonly atMs: number;
  readonly lastedMs: number;
  readonly reason: string;
  /** Requests that failed from its first signs to its end. */
  readonly failed: number;
  /** The model that was there at the end of it; null when none was, or the server names none. */
  readonly model: string | null;
  readonly isOver: boolean;
}

/** How often the flags are looked at, and how often an absent server is asked, ms. */
const LOOK_MS = 20;
const ASK_MS = 250;
/** After a false alarm weak signs do not stop the sending for so long, ms: a server that fails a request now and then is there. */
const CALM_MS = 2000;

/** Watches over one run. */
export class OutageWatch {
  readonly outages: Outage[] = [];
  private readonly plan: OutagePlan;
  private readonly cells: Int32Array;
  private readonly startMs: number;
  private readonly endRun: () => void;
  private timer: NodeJS.Timeout | null = null;
  private calmTimer: NodeJS.Timeout | null = null;
  /** The absence under way. */
  private present: { readonly reason: string; readonly beganMs: number } | null = null;
  /** Failures when all was well last. */
  private failedBefore = 0;
  private isAsking = false;
  private isClosed = false;

  /** @param endRun starts no more requests and lets those under way end */
  constructor(plan: OutagePlan, cells: Int32Array, startMs: number, endRun: () => void) {
    this.plan = plan;
    this.cells = cells;
    this.startMs = startMs;
    this.endRun = endRun;
    Atomics.store(cells, CONTROL.mayPause, 1);
    this.timer = setInterval(() => void this.look(), LOOK_MS);
  }

  /** The run is over; an absence that still lasts is noted as such. */
  close(): void {
    if (this.present !== null && !this.isClosed) this.note(this.present.reason, this.present.beganMs, null, false);
    this.isClosed = true;
    if (this.timer !== null) clearInterval(this.timer);
    if (this.calmTimer !== null) clearTimeout(this.calmTimer);
  }

  private get isPaused(): boolean {
    return !this.isClosed && Atomics.load(this.cells, CONTROL.stop) === STOP.pause;
  }

  private async look(): Promise<void> {
    if (this.isAsking) return;
    if (!this.isPaused) {
      this.failedBefore = Atomics.load(this.cells, CONTROL.failed);
      return;
    }
    this.isAsking = true;
    await this.waitForServer();
    this.isAsking = false;
  }

  private async waitForServer(): Promise<void> {
    const { plan } = this;
    const beganMs = nowMs();
    let reason = '';
    while (this.isPaused) {
      const presence = await plan.ask();
      // The run was ended while the server was asked.
      if (!this.isPaused) return;
      if (presence.isThere) {
        this.resume(reason, beganMs, presence.model);
        return;
      }
      if (reason === '') {
        reason = presence.reason;
        this.present = { reason, beganMs };
        Atomics.store(this.cells, CONTROL.absentMs, Math.max(1, Math.round(nowMs() - this.startMs)));
        plan.onGone(reason);
      }
      if (nowMs() - beganMs + ASK_MS > plan.waitMs) {
        const outage = this.note(reason, beganMs, null, false);
        plan.onGivenUp(outage);
        this.endRun();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
  }

  private resume(reason: string, beganMs: number, model: string | null): void {
    if (reason === '') this.calmDown();
    else this.plan.onBack(this.note(reason, beganMs, model, true));
    Atomics.compareExchange(this.cells, CONTROL.stop, STOP.pause, STOP.run);
  }

  private note(reason: string, beganMs: number, model: string | null, isOver: boolean): Outage {
    const failed = Atomics.load(this.cells, CONTROL.failed) - this.failedBefore;
    const outage = { atMs: beganMs - this.startMs, lastedMs: nowMs() - beganMs, reason, failed, model, isOver };
    this.outages.push(outage);
    this.present = null;
    return outage;
  }

  /** A false alarm. */
  private calmDown(): void {
    Atomics.store(this.cells, CONTROL.mayPause, 0);
    if (this.calmTimer !== null) clearTimeout(this.calmTimer);
    this.calmTimer = setTimeout(() => Atomics.store(this.cells, CONTROL.mayPause, 1), CALM_MS);
  }
}

/** What a failure says about the server: is it gone (`sure`), may it be (`weak`), or is it the request's own affair. */
export function signOfAbsence({
  error_kind: kind,
  status = 0,
}: Pick<RequestRecord, 'error_kind' | 'status'>): 'sure' | 'weak' | 'none' {
  if (kind === 'connect' || kind === 'timeout_connect') return 'sure';
  if (kind === 'http') return status >= 500 ? 'weak' : 'none';
  const weak = kind === 'reset' || kind === 'truncated' || kind === 'timeout_idle' || kind === 'timeout_first_token';
  return weak ? 'weak' : 'none';
}
