/**
 * From counters to what the panel shows: rates of the last seconds, the last minute second by second, the share that is done and the time
 * that is left. It is given the counters a few times a second, with the moment they stand for; it reads no clock.
 */
import { leftMs } from './live-left.ts';

/** Two percentiles, ms. */
export interface PanelLatency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Counters of a run under way. */
export interface PanelState {
  readonly planned: number;
  readonly completed: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly elapsedMs: number;
  /** Token frames so far, those of them whose request has ended, and the moment that these were counted, ms after the start. */
  readonly tokenFrames: number;
  readonly framesOfEnded: number;
  readonly countedMs: number;
  /** Tokens that a frame holds on average, from usage; null before a request has told. */
  readonly tokensPerFrame: number | null;
  /** Output tokens asked for: in the requests that were begun, and in those that have ended. All of them are 0 where none are asked for. */
  readonly asked: { readonly all: number; readonly begun: number; readonly succeeded: number; readonly failed: number };
  /** Token frames that come for an output token asked for, by the answers that are complete; null before there is one. */
  readonly framesPerAsked: number | null;
  /** `--duration`; null without. */
  readonly durationMs: number | null;
  /** When the last request is due, ms after the start; 0 in a closed loop. */
  readonly lastPlannedMs: number;
  /** No more requests are sent, for a reason that is not the plan's. */
  readonly isEnding: boolean;
  readonly ttft: PanelLatency | null;
  readonly itl: PanelLatency | null;
  /** Failures by kind. */
  readonly errors: ReadonlyMap<string, number>;
  /** Why the client may be the limit, in words; null while it does not look so. */
  readonly clientLimit: string | null;
  /** Longest delay of a worker's event loop so far, ms. */
  readonly loopMaxMs: number;
}

/** What the panel shows. */
export interface PanelSnapshot {
  readonly state: PanelState;
  /** Part of the run that is behind, 0..1; never less than before. */
  readonly share: number;
  readonly leftMs: number | null;
  /** Per second; null before anything is known. */
  readonly requestsNow: number | null;
  readonly requestsMean: number | null;
  readonly tokensNow: number | null;
  readonly tokensMean: number | null;
  /** Tokens of whole seconds, the newest last; `secondsEnd`: number of the second behind it. */
  readonly seconds: readonly number[];
  readonly secondsEnd: number;
}

/** Seconds that are kept. */
export const HISTORY_S = 60;
/** "Now" is the mean over so long, ms: tokens come all the time, requests end now and then. */
const TOKENS_NOW_MS = 3000;
const REQUESTS_NOW_MS = 10_000;
/** Nothing is said of the time left before. */
const LEFT_FROM_MS = 1000;
/** A stream under way is never taken as done. */
const MOST_OF_A_STREAM = 0.99;

interface Mark {
  readonly atMs: number;
  readonly count: number;
}

/** Per second between the newest mark and the one so long before it; the list is cut to what is needed. */
function rateOver(marks: Mark[], newest: Mark, windowMs: number): number | null {
  const last = marks.at(-1);
  if (last === undefined || newest.atMs > last.atMs) marks.push(newest);
  while (marks.length > 2 && newest.atMs - (marks[1] as Mark).atMs >= windowMs) marks.shift();
  const first = marks[0] as Mark;
  const end = marks.at(-1) as Mark;
  return end.atMs > first.atMs ? ((end.count - first.count) * 1000) / (end.atMs - first.atMs) : null;
}

/** How much of the work is done: in output tokens asked for, or in requests where there are none. */
interface Work {
  readonly all: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The part of the streams under way that is there, and the part that is not. */
  readonly there: number;
  readonly missing: number;
  /** Token frames that come for one of it; null when not known. */
  readonly frames: number | null;
}

/** Answers differ much in length, so a run in which half of the requests have ended may be far from its half. */
function workOf(state: PanelState): Work {
  const { planned, completed, failed, inFlight, asked, tokenFrames, framesOfEnded, framesPerAsked } = state;
  if (asked.all <= 0) {
    return { all: planned, succeeded: completed, failed, there: 0, missing: inFlight, frames: null };
  }
  const frames = framesPerAsked ?? 1;
  const underWay = Math.max(0, asked.begun - asked.succeeded - asked.failed);
  const there = Math.min(underWay * MOST_OF_A_STREAM, Math.max(0, tokenFrames - framesOfEnded) / frames);
  return { ...asked, there, missing: underWay - there, frames };
}

/** Milliseconds that are left; null when nothing can be said. Once nothing more is begun, by how fast the streams go that are left. */
function timeLeft(state: PanelState, work: Work, framesNow: number | null): number | null {
  const { planned, completed, failed, inFlight, elapsedMs, durationMs, isEnding } = state;
  if (elapsedMs < LEFT_FROM_MS) return null;
  const isTail = isEnding || completed + failed + inFlight >= planned || elapsedMs >= (durationMs ?? elapsedMs + 1);
  if (isTail && work.frames !== null) {
    return framesNow === null || framesNow <= 0 ? null : (work.missing * work.frames * 1000) / framesNow;
  }
  if (isEnding) return null;
  return leftMs({ ...state, planned: work.all, completed: work.succeeded + work.there, failed: work.failed });
}

/** Remembers what is needed from one look to the next. */
export class PanelHistory {
  private readonly frameMarks: Mark[] = [{ atMs: 0, count: 0 }];
  private readonly requestMarks: Mark[] = [{ atMs: 0, count: 0 }];
  private readonly frameSeconds: number[] = [];
  private secondsEnd = 0;
  private lastMark: Mark = { atMs: 0, count: 0 };
  private framesAtSecond = 0;
  private share = 0;

  /** Takes the counters as they are now. */
  look(state: PanelState): PanelSnapshot {
    const { completed, elapsedMs, durationMs } = state;
    const tokens = state.tokensPerFrame ?? 1;
    const mark = { atMs: state.countedMs, count: state.tokenFrames };
    this.addSeconds(mark);
    const framesNow = rateOver(this.frameMarks, mark, TOKENS_NOW_MS);
    const requestsNow = rateOver(this.requestMarks, { atMs: elapsedMs, count: completed }, REQUESTS_NOW_MS);
    const work = workOf(state);
    const byWork = work.all > 0 ? (work.succeeded + work.failed + work.there) / work.all : 0;
    const byTime = durationMs === null ? 0 : elapsedMs / durationMs;
    // What is still under way is not over, whatever the plan says.
    const most = state.inFlight > 0 ? MOST_OF_A_STREAM : 1;
    this.share = Math.max(this.share, Math.min(most, Math.max(byWork, byTime)));
    return {
      state,
      share: this.share,
      leftMs: timeLeft(state, work, framesNow),
      requestsNow,
      requestsMean: elapsedMs > 0 ? (completed * 1000) / elapsedMs : null,
      tokensNow: framesNow === null ? null : framesNow * tokens,
      tokensMean: mark.atMs > 0 ? (mark.count * tokens * 1000) / mark.atMs : null,
      seconds: this.frameSeconds.map((frames) => frames * tokens),
      secondsEnd: this.secondsEnd,
    };
  }

  /** Frames of each second that is over, by a straight line between two looks. */
  private addSeconds(mark: Mark): void {
    const { lastMark } = this;
    if (mark.atMs <= lastMark.atMs) return;
    const perMs = (mark.count - lastMark.count) / (mark.atMs - lastMark.atMs);
    const end = Math.floor(mark.atMs / 1000);
    const framesAt = (second: number): number => lastMark.count + perMs * Math.max(0, second * 1000 - lastMark.atMs);
    if (end - this.secondsEnd > HISTORY_S) {
      // After a long standstill (the program was stopped) only what is kept is worth the way.
      this.secondsEnd = end - HISTORY_S;
      this.framesAtSecond = framesAt(this.secondsEnd);
    }
    for (; this.secondsEnd < end; this.secondsEnd++) {
      const frames = framesAt(this.secondsEnd + 1);
      this.frameSeconds.push(Math.max(0, frames - this.framesAtSecond));
      if (this.frameSeconds.length > HISTORY_S) this.frameSeconds.shift();
      this.framesAtSecond = frames;
    }
    this.lastMark = mark;
  }
}
