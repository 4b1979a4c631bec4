/**
 * Progress on stderr while a run goes on: a panel that renews itself on a terminal, else a plain line every few seconds. It only
 * reads numbers that are there anyway, a few times a second.
 */
import { TimeLeft } from './live-left.ts';
import { LivePanel } from './panel.ts';
import type { PanelState } from './panel-history.ts';
import type { PanelTitle } from './panel-lines.ts';
import { isInteractive, printErr } from './terminal.ts';

/** What is known of a run under way. */
export interface LiveState {
  readonly planned: number;
  readonly completed: number;
  readonly failed: number;
  readonly inFlight: number;
  readonly tokenFrames: number;
  readonly elapsedMs: number;
  /** Time to first token and gap: medians of what has ended, before that means of what is under way; null before there are any. */
  readonly ttftMs: number | null;
  readonly itlMs: number | null;
  /** `--duration`; null or absent without. */
  readonly durationMs?: number | null;
  /** When the last request is due, ms after the start; 0 in a closed loop. */
  readonly lastPlannedMs?: number;
}

/** How to show it: `--ui`. */
export type LiveMode = 'auto' | 'live' | 'plain' | 'none';

/** What is shown in the end: a panel only where the terminal can have one. */
export type LiveKind = 'panel' | 'plain' | 'none';

/** Where the figures come from; only those of the kind that is shown are asked for. */
export interface LiveSource {
  readonly title: PanelTitle;
  line(): LiveState;
  panel(): PanelState;
}

const PLAIN_EVERY_MS = 5000;
/** Tokens per second are those of the last so many milliseconds. */
const RATE_WINDOW_MS = 3000;

/** What a mode comes to on this terminal. Cursor movement in a file or a pipe helps nobody, whatever was asked for. */
export function liveKind(mode: LiveMode): LiveKind {
  if (mode === 'none' || mode === 'plain') return mode;
  return isInteractive('stderr') ? 'panel' : 'plain';
}

/** Shows progress until `stop` is called. */
export class LiveView {
  private readonly source: LiveSource;
  private readonly panel: LivePanel | null;
  private readonly timer: NodeJS.Timeout | null;
  private readonly marks: { readonly atMs: number; readonly tokenFrames: number }[] = [{ atMs: 0, tokenFrames: 0 }];
  private readonly left = new TimeLeft();

  constructor(mode: LiveMode, source: LiveSource) {
    this.source = source;
    const kind = liveKind(mode);
    if (mode === 'live' && kind !== 'panel') {
      printErr(
        'tabby-load: note: --ui live needs a terminal on stderr, without NO_COLOR and TERM=dumb: plain lines instead',
      );
    }
    this.panel = kind === 'panel' ? new LivePanel(source.title, () => source.panel()) : null;
    this.timer = kind === 'plain' ? setInterval(() => this.show(), PLAIN_EVERY_MS) : null;
    this.timer?.unref();
  }

  /** Ends the display and leaves the terminal clean. */
  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.panel?.stop();
  }

  private show(): void {
    const state = this.source.line();
    process.stderr.write(`tabby-load: ${progressLine(state, this.rate(state), this.left.next(state))}\n`);
  }

  private rate(state: LiveState): number {
    const { marks } = this;
    marks.push({ atMs: state.elapsedMs, tokenFrames: state.tokenFrames });
    while (marks.length > 2 && state.elapsedMs - (marks[1] as { atMs: number }).atMs >= RATE_WINDOW_MS) marks.shift();
    const first = marks[0] as { atMs: number; tokenFrames: number };
    const spanMs = state.elapsedMs - first.atMs;
    return spanMs > 0 ? ((state.tokenFrames - first.tokenFrames) * 1000) / spanMs : 0;
  }
}

const SEPARATOR = ' · ';

/** The line itself: fields in order of their weight, without colour. @param rate token frames per second @param leftMs see TimeLeft */
export function progressLine(state: LiveState, rate: number, leftMs: number | null): string {
  const { planned, completed, failed, inFlight } = state;
  const fields = [
    `${completed + failed}/${planned} done`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    `${inFlight} in flight`,
    `${Math.round(rate)} tok/s`,
    ...(state.ttftMs === null ? [] : [`TTFT ${state.ttftMs.toFixed(1)} ms`]),
    ...(state.itlMs === null ? [] : [`ITL ${state.itlMs.toFixed(2)} ms`]),
    ...(leftMs === null ? [] : [`${seconds(leftMs)} left`]),
  ];
  return fields.join(SEPARATOR);
}

function seconds(ms: number): string {
  const whole = Math.ceil(ms / 1000);
  return whole < 120 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
