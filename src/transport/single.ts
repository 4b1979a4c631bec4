/** Requests one at a time from this thread, outside of the measured load: ready checks and probes. */
import type { AnswerReader } from '../record/answer.ts';
import { nowMs } from '../record/clock.ts';
import type { Target } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import { ConnectionPlace } from './connection.ts';
import { type Exchange, GivenUp, recordOf } from './outcome.ts';
import { ReadClock } from './read-clock.ts';
import { type PackedRequest, packWork, WorkView } from './shared-work.ts';
import { Slot, type SlotHost } from './slot.ts';

/** What a sender needs. */
export interface SingleOptions {
  readonly target: Target;
  readonly connectTimeoutMs: number;
  /** Shift from the run's clock to the system's monotonic clock, ms. */
  readonly clockOffsetMs: number;
  newReader(): AnswerReader;
}

/** Sends a request and waits for its record, each on a connection of its own. Not for several at once. */
export class SingleSender {
  private readonly options: SingleOptions;
  private readonly place: ConnectionPlace;
  private slot: Slot | null = null;

  constructor(options: SingleOptions) {
    this.options = options;
    this.place = new ConnectionPlace(options.target, new ReadClock(), options.connectTimeoutMs);
  }

  /** @param limitMs the whole request; 0 = no limit */
  send(request: PackedRequest, limitMs: number): Promise<RequestRecord> {
    const { options, place } = this;
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const host: SlotHost = {
        target: options.target,
        work: new WorkView(packWork([request])),
        worker: 0,
        startMs: nowMs(),
        newReader: () => options.newReader(),
        keepsText: () => false,
        maySendAgain: () => true,
        started: () => undefined,
        ended: (slot: Slot, exchange: Exchange) => {
          clearTimeout(timer);
          const gaps = new Float64Array(slot.stream.tokenFrames + 1);
          const record = recordOf(exchange, slot.stream, options.target, options.clockOffsetMs, gaps);
          resolve({ ...record, itl: Float64Array.from(record.itl) });
        },
      };
      this.slot?.connection.destroy();
      const slot = new Slot(host, place);
      this.slot = slot;
      if (limitMs > 0) {
        timer = setTimeout(
          () => slot.giveUp(new GivenUp('timeout_request', `not finished within ${limitMs / 1000} s`)),
          limitMs,
        );
      }
      slot.send(0);
    });
  }

  close(): void {
    this.slot?.connection.destroy();
  }
}
