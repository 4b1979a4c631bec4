/** How long a run under way still takes: from its plan where there is one, else from how fast requests succeeded so far. */

/** What is known of the run so far. */
export interface LeftState {
  readonly planned: number;
  readonly completed: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly elapsedMs: number;
  /** `--duration`: no request starts later than this, ms; null or absent without one. */
  readonly durationMs?: number | null;
  /** Planned start of the last request, ms after the start; 0 or absent in a closed loop. */
  readonly lastPlannedMs?: number;
}

/**
 * Milliseconds that are left, or null when nothing can be said: before the first success, and in the tail after `--duration`.
 * Failures count as done but say nothing about the speed: refused requests take no time, and the next may be answered.
 */
export function leftMs(state: LeftState): number | null {
  const { planned, completed, failed, elapsedMs, durationMs = null, lastPlannedMs = 0 } = state;
  const open = planned - completed - failed;
  if (open <= 0) return null;
  const toPlanMs = lastPlannedMs - elapsedMs;
  const bySpeedMs = completed > 0 ? (elapsedMs / completed) * open : null;
  const allMs = toPlanMs > 0 ? toPlanMs : bySpeedMs;
  if (durationMs === null) return allMs;
  const toEndMs = durationMs - elapsedMs;
  if (toEndMs <= 0) return null;
  return allMs === null ? toEndMs : Math.min(allMs, toEndMs);
}

/**
 * The same from one look to the next: once the last request was sent the time only runs down, as the slowest answers would otherwise
 * hold it where it is.
 */
export class TimeLeft {
  /** When the tail was first expected to end, ms after the start; null before the tail. */
  private tailEndMs: number | null = null;

  /** Milliseconds left; null when nothing can be said, or when what was expected is over. */
  next(state: LeftState): number | null {
    const left = leftMs(state);
    const isTail = state.completed + state.failed + state.inFlight >= state.planned;
    if (left === null || !isTail) return left;
    this.tailEndMs = Math.min(this.tailEndMs ?? Number.POSITIVE_INFINITY, state.elapsedMs + left);
    const restMs = this.tailEndMs - state.elapsedMs;
    return restMs > 0 ? restMs : null;
  }
}
