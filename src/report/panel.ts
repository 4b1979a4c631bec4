/**
 * The panel of `--ui live`: a few lines at the end of the terminal that renew themselves while a run goes on, and of which nothing is
 * left behind. It reads counters that are there anyway, and draws at most five times a second.
 */
import { PanelHistory, type PanelState } from './panel-history.ts';
import { type PanelTitle, panelLines } from './panel-lines.ts';
import { isForeground, type PanelOut, StderrOut } from './panel-out.ts';
import { aboveIt, drawn, erased, SHOW_CURSOR } from './panel-screen.ts';
import { ASCII, type Glyphs, UNICODE } from './panel-text.ts';
import { hasBlocks, type Overlay, printAbove, withoutHidden } from './terminal.ts';

const DRAW_EVERY_MS = 200;
/** So many times after a change of the window the saved place is not gone by: more changes may be on their way. */
const DRAWS_TO_SETTLE = 5;

/** What it shows and where. */
export interface PanelPlan {
  readonly title: PanelTitle;
  readonly out: PanelOut;
  readonly glyphs: Glyphs;
  read(): PanelState;
  /** May it draw on the screen? */
  isForeground(): boolean;
}

/** Draws when it is told to; {@link LivePanel} tells it. */
export class Panel implements Overlay {
  private readonly plan: PanelPlan;
  private readonly history = new PanelHistory();
  private isDrawn = false;
  private isCursorHidden = false;
  /** The place that the terminal has saved is the panel's. */
  private isSaved = false;
  private unsettled = 0;

  constructor(plan: PanelPlan) {
    this.plan = { ...plan, title: plan.title.map(withoutHidden) };
  }

  draw(): void {
    const { title, out, glyphs, read } = this.plan;
    const snapshot = this.history.look(read());
    if (!this.plan.isForeground()) return;
    const lines = panelLines(snapshot, title, out.size(), glyphs);
    if (!out.offer(drawn(lines, this.isSaved))) return;
    this.isDrawn = true;
    this.isCursorHidden = true;
    this.unsettled = Math.max(0, this.unsettled - 1);
    this.isSaved = this.unsettled === 0;
  }

  /** The window has another size. */
  resize(): void {
    this.isSaved = false;
    this.unsettled = DRAWS_TO_SETTLE;
  }

  above(line: string): void {
    this.plan.out.say(this.isDrawn ? aboveIt(line, this.isSaved) : `${line}\r\n`);
    // The cursor is below the message, on an empty line.
    this.isDrawn = false;
    this.isSaved = false;
  }

  leave(): void {
    this.plan.out.finish(this.isDrawn ? erased(this.isSaved) : this.isCursorHidden ? SHOW_CURSOR : '');
    this.isDrawn = false;
    this.isCursorHidden = false;
    this.isSaved = false;
  }

  /** The process goes on after it was stopped. If that came unexpected, others have written since, maybe not to the end of a line. */
  resume(): void {
    if (this.isDrawn && this.plan.isForeground()) this.plan.out.say('\r\n');
    this.isDrawn = false;
    this.isSaved = false;
    this.draw();
  }
}

/** A panel at stderr, from its making until {@link stop}. */
export class LivePanel {
  private readonly panel: Panel;
  private readonly out = new StderrOut();
  private readonly timer: NodeJS.Timeout;
  private readonly onExit = (): void => this.panel.leave();
  private readonly onResize = (): void => this.panel.resize();
  private readonly onContinue = (): void => {
    this.catchStops();
    this.panel.resume();
  };
  private readonly onStop = (): void => {
    this.panel.leave();
    // The same signal again, now for the system, which stops the process as it would have done.
    process.off('SIGTSTP', this.onStop);
    process.kill(process.pid, 'SIGTSTP');
  };

  constructor(title: PanelTitle, read: () => PanelState) {
    this.panel = new Panel({ title, read, out: this.out, glyphs: hasBlocks() ? UNICODE : ASCII, isForeground });
    printAbove(this.panel);
    process.on('exit', this.onExit);
    process.stderr.on('resize', this.onResize);
    if (process.platform !== 'win32') process.on('SIGCONT', this.onContinue);
    this.timer = setInterval(() => {
      this.catchStops();
      this.panel.draw();
    }, DRAW_EVERY_MS);
    this.timer.unref();
    this.catchStops();
    this.panel.draw();
  }

  /** Takes the panel away for good. */
  stop(): void {
    clearInterval(this.timer);
    printAbove(null);
    this.panel.leave();
    this.out.close();
    process.off('exit', this.onExit);
    process.stderr.off('resize', this.onResize);
    process.off('SIGCONT', this.onContinue);
    process.off('SIGTSTP', this.onStop);
  }

  /** Ctrl-Z. Where the system did not stop the process (nobody could make it go on), it goes on, and this has to be set again. */
  private catchStops(): void {
    if (process.platform === 'win32' || process.listeners('SIGTSTP').includes(this.onStop)) return;
    process.on('SIGTSTP', this.onStop);
  }
}
