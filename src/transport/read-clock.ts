/**
 * The arrival time of bytes: one clock reading per poll phase of the event loop.
 *
 * When the loop wakes, the kernel has handed over every socket that is readable at that moment; their reads are then handled one
 * after the other. All of these bytes were there when the loop woke, so they share the instant of the first read: to
 * stamp each read when its turn comes would charge the server with the time we spent on the streams before it. A second
 * read of the same socket in one phase shows that the kernel was asked again, so the clock is read again.
 */
import { nowMs } from '../record/clock.ts';

/** Serial number and date of socket reads, one per worker thread. */
export class ReadClock {
  /** When the bytes being handled arrived, ms. */
  atMs = 0;
  /** Serial number of the socket read being handled. */
  read = 0;
  private phase = 0;
  private isOpen = false;
  private readonly close = (): void => {
    this.isOpen = false;
  };

  /**
   * To be called first thing in a socket's read.
   * @param lastPhase what the former call for this socket returned
   * @returns the phase, to be given to the next call for this socket
   */
  begin(lastPhase: number): number {
    this.read++;
    if (!this.isOpen) {
      this.isOpen = true;
      setImmediate(this.close);
      this.phase++;
      this.atMs = nowMs();
    } else if (lastPhase === this.phase) {
      this.phase++;
      this.atMs = nowMs();
    }
    return this.phase;
  }
}
