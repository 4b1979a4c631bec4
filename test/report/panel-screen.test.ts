/** The panel on an emulated terminal: whatever happens, what is left at the end are the messages, and nothing else. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Panel } from '../../src/report/panel.ts';
import type { PanelOut } from '../../src/report/panel-out.ts';
import { UNICODE } from '../../src/report/panel-text.ts';
import { STATE } from '../support/panel-state.ts';
import { Screen } from '../support/screen.ts';

/** A terminal that takes what it is given, unless it is stopped. */
class ScreenOut implements PanelOut {
  readonly screen: Screen;
  isStopped = false;
  private left = '';
  writes = 0;

  constructor(screen: Screen) {
    this.screen = screen;
  }

  size(): { columns: number; rows: number } {
    return { columns: this.screen.columns, rows: this.screen.rows };
  }

  offer(frame: string): boolean {
    if (this.isStopped) return false;
    this.say(frame);
    return true;
  }

  say(text: string): void {
    this.left += text;
    if (this.isStopped) return;
    this.writes++;
    this.screen.write(this.left);
    this.left = '';
  }

  finish(text: string): void {
    this.isStopped = false;
    this.say(text);
  }

  close(): void {}
}

function started(columns: number, rows: number, isReflowing = true) {
  const screen = new Screen(columns, rows, isReflowing);
  const out = new ScreenOut(screen);
  let ms = 0;
  let isForeground = true;
  const panel = new Panel({
    title: ['run', '日本語モデル'],
    out,
    glyphs: UNICODE,
    read: () => {
      ms += 200;
      return { ...STATE, elapsedMs: ms, countedMs: ms, tokenFrames: ms };
    },
    isForeground: () => isForeground,
  });
  return { screen, out, panel, setForeground: (value: boolean) => (isForeground = value) };
}

describe('the panel on a terminal', () => {
  it('is drawn below what was there, over itself, and is gone at the end', () => {
    const { screen, out, panel } = started(80, 24);
    screen.write('$ tabby-load\r\n');
    for (let k = 0; k < 5; k++) panel.draw();
    expect(out.writes).toBe(5);
    expect(screen.text).toHaveLength(10);
    expect(screen.text[0]).toBe('$ tabby-load');
    expect(screen.text[1]).toBe('run · 日本語モデル');
    expect(screen.text[6]).toContain('TTFT');
    expect(screen.cursor).toEqual({ row: 1, column: 0 });
    expect(screen.isCursorShown).toBe(false);
    panel.leave();
    expect(screen.all).toEqual(['$ tabby-load']);
    expect(screen.cursor).toEqual({ row: 1, column: 0 });
    expect(screen.isCursorShown).toBe(true);
  });

  it('makes room at the bottom of the screen', () => {
    const { screen, panel } = started(80, 12);
    const before = Array.from({ length: 30 }, (_, k) => `line ${k}`);
    screen.write(before.map((line) => `${line}\r\n`).join(''));
    for (let k = 0; k < 5; k++) panel.draw();
    expect(screen.text).toHaveLength(12);
    expect(screen.text.slice(0, 3)).toEqual(['line 27', 'line 28', 'line 29']);
    panel.leave();
    expect(screen.all).toEqual(before);
  });

  it('leaves messages above it, also long ones, in their order', () => {
    const { screen, panel } = started(40, 12);
    const messages = ['first', 'x'.repeat(100), 'third', 'fourth'];
    for (const message of messages) {
      panel.draw();
      panel.above(message);
    }
    panel.above('fifth, with no panel there');
    panel.draw();
    expect(screen.text.at(-1)).toContain('client');
    panel.leave();
    expect(screen.whole).toEqual([...messages, 'fifth, with no panel there']);
  });

  it('takes its place back from keys that are echoed', () => {
    const { screen, panel } = started(80, 24);
    screen.write('$\r\n');
    panel.draw();
    screen.write('^C');
    panel.draw();
    screen.write('\r\nabc\r\n\r\n');
    panel.draw();
    expect(screen.text[1]).toBe('run · 日本語モデル');
    expect(screen.text).toHaveLength(10);
    screen.write('\r\n\r\n');
    panel.leave();
    expect(screen.all).toEqual(['$']);
  });

  it('draws nothing on a terminal that is stopped, and loses no message', () => {
    const { screen, out, panel } = started(80, 24);
    panel.draw();
    out.isStopped = true;
    panel.above('one');
    for (let k = 0; k < 50; k++) panel.draw();
    panel.above('two');
    expect(out.writes).toBe(1);
    out.isStopped = false;
    panel.draw();
    panel.draw();
    expect(screen.text.slice(0, 3)).toEqual(['one', 'two', 'run · 日本語モデル']);
    panel.leave();
    expect(screen.all).toEqual(['one', 'two']);
  });

  it('is not drawn in the background, and comes back', () => {
    const { screen, panel, setForeground } = started(80, 24);
    panel.draw();
    panel.leave();
    setForeground(false);
    screen.write('[1]+ Stopped\r\n$ bg\r\n');
    panel.resume();
    panel.draw();
    panel.above('a message');
    expect(screen.text).toEqual(['[1]+ Stopped', '$ bg', 'a message']);
    setForeground(true);
    panel.resume();
    expect(screen.text).toHaveLength(12);
    panel.leave();
    expect(screen.all).toEqual(['[1]+ Stopped', '$ bg', 'a message']);
  });

  it('does not draw over what others wrote while it was stopped from outside', () => {
    const { screen, panel } = started(80, 24);
    panel.draw();
    screen.write('$ ls\r\nfile\r\n$ fg');
    panel.resume();
    panel.leave();
    // Beside what they wrote stands what was there; below it nothing is left.
    expect(screen.all).toEqual([
      expect.stringMatching(/^\$ ls/),
      expect.stringMatching(/^file/),
      expect.stringMatching(/^\$ fg/),
    ]);
    expect(screen.isCursorShown).toBe(true);
  });
});

const resize = fc.record({ columns: fc.integer({ min: 20, max: 130 }), rows: fc.integer({ min: 3, max: 40 }) });

describe('a window that changes its size while the panel is there', () => {
  it.each([true, false])('ends clean (lines flow: %s)', (isReflowing) => {
    fc.assert(
      fc.property(resize, fc.array(resize, { minLength: 1, maxLength: 12 }), fc.nat(3), (first, sizes, draws) => {
        const { screen, panel } = started(first.columns, first.rows, isReflowing);
        for (let k = 0; k < 30; k++) screen.write(`line ${k}\r\n`);
        panel.draw();
        for (const [k, { columns, rows }] of sizes.entries()) {
          screen.resize(columns, rows);
          panel.resize();
          for (let n = 0; n < draws; n++) panel.draw();
          expect(screen.text.length).toBeLessThanOrEqual(rows);
          if (k % 3 === 2) panel.above('message');
        }
        panel.leave();
        const left = screen.whole;
        expect(left.filter((line) => !/^(line \d+|message)$/.test(line))).toEqual([]);
        expect(left.filter((line) => line === 'message')).toHaveLength(Math.floor(sizes.length / 3));
        expect(screen.isCursorShown).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
