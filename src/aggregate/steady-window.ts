/**
 * The steady-state window of a run: from the moment at which the number of requests in flight first reaches a level until the
 * last moment at which it leaves it. Before lies the ramp-up, behind it the tail, in which fewer and fewer requests are under way;
 * both pull throughput down without saying anything of the server.
 *
 * In a closed loop the number dips for some microseconds whenever an answer ends and the next request is sent, so a window without
 * any dip would be no longer than one answer. Dips within the window are allowed therefore, as in vLLM's Rust client, and how much of
 * the window was at the level is told ({@link SteadyWindow.atLevelS}): a run that sagged in its middle shows there.
 */

/** A window, in seconds on the clock of the records. */
export interface SteadyWindow {
  readonly fromS: number;
  readonly toS: number;
  /** Time within the window at which the number in flight was at the level or above it. */
  readonly atLevelS: number;
}

/** What {@link findWindow} finds. */
export interface InFlight {
  /** Most requests in flight at one moment. */
  readonly peak: number;
  /** See {@link levelOf}. */
  readonly level: number;
  /** In flight at the level asked for; null when that was never reached, or only for a moment without length. */
  readonly window: SteadyWindow | null;
}

/** How many must be in flight: this share of a number, or of the peak where there is no number (`of` null). */
export interface Level {
  readonly share: number;
  readonly of: number | null;
}

/**
 * Finds peak and window in O(n log n).
 * @param starts when each request was sent, in any order; SORTED IN PLACE
 * @param ends when each was over, in any order (not the order of `starts`); SORTED IN PLACE. A request is in flight from its start up to,
 * but not at, its end
 */
export function findWindow(starts: Float64Array, ends: Float64Array, level: Level): InFlight {
  starts.sort();
  ends.sort();
  const peak = peakOf(starts, ends);
  const requests = levelOf(level, peak);
  return { peak, level: requests, window: requests > peak ? null : windowOf(starts, ends, requests) };
}

/** The level as a whole number of requests, at least 1. */
export function levelOf({ share, of }: Level, peak: number): number {
  // Rounded first: 0.07 x 100 is 7.000000000000001 in doubles.
  return Math.max(1, Math.ceil(Number((share * (of ?? peak)).toPrecision(12))));
}

/** Goes through the moments at which the number in flight changes. What starts and ends at the same moment counts together. */
function sweep(starts: Float64Array, ends: Float64Array, at: (timeS: number, inFlight: number) => void): void {
  let started = 0;
  let ended = 0;
  while (ended < ends.length) {
    const end = ends[ended] as number;
    const timeS = started < starts.length ? Math.min(starts[started] as number, end) : end;
    while (started < starts.length && (starts[started] as number) <= timeS) started++;
    while (ended < ends.length && (ends[ended] as number) <= timeS) ended++;
    at(timeS, started - ended);
  }
}

function peakOf(starts: Float64Array, ends: Float64Array): number {
  let peak = 0;
  sweep(starts, ends, (_, inFlight) => {
    if (inFlight > peak) peak = inFlight;
  });
  return peak;
}

function windowOf(starts: Float64Array, ends: Float64Array, requests: number): SteadyWindow | null {
  let fromS = Number.NaN;
  let toS = Number.NaN;
  let sinceS = Number.NaN;
  let atLevelS = 0;
  sweep(starts, ends, (timeS, inFlight) => {
    const isAtLevel = inFlight >= requests;
    if (isAtLevel && Number.isNaN(sinceS)) {
      sinceS = timeS;
      if (Number.isNaN(fromS)) fromS = timeS;
    } else if (!isAtLevel && !Number.isNaN(sinceS)) {
      atLevelS += timeS - sinceS;
      toS = timeS;
      sinceS = Number.NaN;
    }
  });
  return toS > fromS ? { fromS, toS, atLevelS } : null;
}

/** Parts of a window by which its noise is told, see `SteadyFigures.partTokens`. */
const MOST_PARTS = 20;

/** Into how many parts a window is cut in which so many requests ended at that level. */
export function partsOf(ended: number, level: number): number {
  return Math.min(MOST_PARTS, Math.max(1, Math.round(ended / level)));
}
