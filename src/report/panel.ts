/**
 * The panel of `--ui live`: a few lines at the end of the terminal that renew themselves while a run goes on, and of which nothing is
 * left behind. It reads counters that are there anyway, and draws at most five times a second.
 */
import { PanelHistory, type PanelState } from './panel-history.ts';
import { type PanelTitle, panelLines } from './panel-lines.ts';
import { isForeground, type PanelOut, StderrOut } from './panel-out.ts';
import { aboveIt, drawn, ERASED } from './panel-screen.ts';
import { ASCII, type Glyphs, UNICODE } from './panel-text.ts';
import { hasBlocks, type Overlay, printAbove, withoutHidden } from './terminal.ts';

const DRAW_EVERY_MS = 200;

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
  private isInFront: boolean;

  constructor(plan: PanelPlan) {
    this.plan = { ...plan, title: plan.title.map(withoutHidden) };
    this.isInFront = plan.isForeground();
  }

  draw(): void {
    const { title, out, glyphs, read } = this.plan;
    const snapshot = this.history.look(read());
    if (!this.isInFront) this.isInFront = this.plan.isForeground();
    if (!this.isInFront) return;
    const lines = panelLines(snapshot, title, out.size(), glyphs);
    if (out.offer(drawn(lines))) this.isDrawn = true;
  }

  above(line: string): void {
    this.plan.out.say(this.isDrawn ? aboveIt(line) : `${line}\r\n`);
  }

  leave(): void {
    this.plan.out.finish(this.isDrawn ? ERASED : '');
    this.isDrawn = false;
  }

  /** The process goes on after it was stopped. If that came unexpected, others have written since, maybe not to the end of a line. */
  resume(): void {
    this.isInFront = this.plan.isForeground();
    if (this.isDrawn && this.isInFront) this.plan.out.say('\r\n');
    this.isDrawn = false;
    this.draw();
  }
}

/** A panel at stderr, from its making until {@link stop}. */
export class LivePanel {
  private readonly panel: Panel;
  private readonly out = new StderrOut();
  private readonly timer: NodeJS.Timeout;
  private readonly onExit = (): void => this.panel.leave();
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
    process.off('SIGCONT', this.onContinue);
    process.off('SIGTSTP', this.onStop);
  }

  /** Ctrl-Z. Where the system did not stop the process (nobody could make it go on), it goes on, and this has to be set again. */
  private catchStops(): void {
    if (process.platform === 'win32' || process.listeners('SIGTSTP').includes(this.onStop)) return;
    process.on('SIGTSTP', this.onStop);
  }
}
