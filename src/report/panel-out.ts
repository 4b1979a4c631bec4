/**
 * Where the panel is written to. A terminal can be slow, or stopped by Ctrl-S; Node writes to terminals so that the whole thread waits, and
 * with it would wait the records of the run and Ctrl-C. So the terminal is opened once more, not blocking, for the panel alone: what does not
 * go out at once is kept, and no further frame is drawn behind it.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import { codeOf } from '../errors.ts';
import type { PanelSize } from './panel-lines.ts';

/** Takes what is drawn. */
export interface PanelOut {
  size(): PanelSize;
  /** Writes a frame whole, or not at all: false when earlier text is still on its way. */
  offer(frame: string): boolean;
  /** Writes text that must not be lost, as soon as there is room. */
  say(text: string): void;
  /** Writes everything that is left, and this, before it returns. */
  finish(text: string): void;
  close(): void;
}

/** Window of a terminal that does not tell its own. */
const USUAL = { columns: 80, rows: 24 };
/** Opening this is opening the terminal anew on Linux, with flags of its own; elsewhere it is not there, or the same open file. */
const STDERR_ANEW = '/proc/self/fd/2';

/** The terminal at stderr. */
export class StderrOut implements PanelOut {
  private readonly fd: number | null = openAnew();
  private left = Buffer.alloc(0);

  size(): PanelSize {
    const { columns, rows } = process.stderr;
    return { columns: columns > 0 ? columns : USUAL.columns, rows: rows > 0 ? rows : USUAL.rows };
  }

  offer(frame: string): boolean {
    if (this.fd === null) {
      if (process.stderr.writableNeedDrain || process.stderr.destroyed) return false;
      process.stderr.write(frame);
      return true;
    }
    this.flush(this.fd);
    if (this.left.length > 0) return false;
    this.say(frame);
    return true;
  }

  say(text: string): void {
    if (this.fd === null) {
      process.stderr.write(text);
      return;
    }
    this.left = Buffer.concat([this.left, Buffer.from(text)]);
    this.flush(this.fd);
  }

  finish(text: string): void {
    const all = Buffer.concat([this.left, Buffer.from(text)]);
    this.left = Buffer.alloc(0);
    if (all.length === 0) return;
    try {
      // Blocking, as everything else that is printed.
      for (let at = 0; at < all.length; ) at += writeSync(2, all, at);
    } catch {
      // A terminal that has gone shows nothing any more.
    }
  }

  close(): void {
    if (this.fd !== null) closeSync(this.fd);
  }

  private flush(fd: number): void {
    while (this.left.length > 0) {
      try {
        const written = writeSync(fd, this.left);
        this.left = this.left.subarray(written);
      } catch (error) {
        // No room at present. Any other trouble is for good: the rest is given up.
        if (codeOf(error) !== 'EAGAIN') this.left = Buffer.alloc(0);
        return;
      }
    }
  }
}

function openAnew(): number | null {
  if (process.platform !== 'linux') return null;
  try {
    return openSync(STDERR_ANEW, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // E.g. the terminal of another user, after su.
    return null;
  }
}

/**
 * Is this process in the foreground of the terminal at stderr? In the background (`&`, or `bg` after Ctrl-Z) the screen belongs to others.
 * True where the system does not tell.
 */
export function isForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // pid (name) state parent group session terminal group-in-foreground …; a name may hold spaces and brackets.
    const [, , group, , terminal, foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(foreground) <= 0 || fstatSync(2).rdev !== Number(terminal)) return true;
    return group === foreground;
  } catch {
    return true;
  }
}
