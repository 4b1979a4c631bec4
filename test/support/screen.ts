/**
 * A terminal as far as a panel needs one: what was written to it as it stands on the screen and in the scrollback. Knows wrapping, wide
 * characters, scrolling, cursor movement and erasing of ECMA-48, and changes of the window's size, with lines that flow into the new width
 * (as VTE, iTerm and kitty do) or are cut (as xterm does). What it does not know it refuses.
 */
import { columnsOf } from '../../src/report/panel-text.ts';

/** Stands in the second column of a wide character. */
const TAIL = '';

interface Row {
  cells: string[];
  /** It goes on in the next row. */
  isWrapped: boolean;
}

const newRow = (): Row => ({ cells: [], isWrapped: false });
const textOf = (row: Row): string => Array.from(row.cells, (cell) => cell ?? ' ').join('');

export class Screen {
  columns: number;
  rows: number;
  /** All rows, those of the scrollback first. */
  private lines: Row[] = [newRow()];
  /** First row of the screen. */
  private top = 0;
  /** Cursor, row counted from the first of all. */
  private y = 0;
  private x = 0;
  private wraps = true;
  private saved = { row: 0, column: 0 };
  isCursorShown = true;
  /** Rows that ever went into the scrollback. */
  scrolled = 0;
  private readonly isReflowing: boolean;

  constructor(columns: number, rows: number, isReflowing = true) {
    this.columns = columns;
    this.rows = rows;
    this.isReflowing = isReflowing;
  }

  /** Rows of the screen, without blanks at their ends; as many as are not empty at the end. */
  get text(): readonly string[] {
    return trimmed(this.lines.slice(this.top).map(textOf));
  }

  /** Everything, from the beginning of the scrollback. */
  get all(): readonly string[] {
    return trimmed(this.lines.map(textOf));
  }

  /** Lines as they were written, however the window wrapped them; from the beginning of the scrollback. */
  get whole(): readonly string[] {
    const out: string[] = [];
    let line = '';
    for (const row of this.lines) {
      line += textOf(row);
      if (row.isWrapped) continue;
      out.push(line);
      line = '';
    }
    return trimmed(out);
  }

  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.y - this.top, column: this.x };
  }

  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
      const control = /^\u001b\[(\??)([\d;]*)([A-Za-z])/.exec(text.slice(at, at + 20));
      if (control !== null) {
        this.control(
          control[1] === '?',
          control[2] === '' ? null : Number.parseInt(control[2] as string, 10),
          control[3],
        );
        at += control[0].length;
        continue;
      }
      if (text.startsWith('\u001b7', at)) {
        this.saved = this.cursor;
        at += 2;
        continue;
      }
      if (text.startsWith('\u001b8', at)) {
        this.y = Math.min(this.top + this.saved.row, this.lines.length - 1);
        this.x = this.saved.column;
        at += 2;
        continue;
      }
      const char = String.fromCodePoint(text.codePointAt(at) as number);
      this.put(char);
      at += char.length;
    }
  }

  resize(columns: number, rows: number): void {
    if (columns !== this.columns) {
      if (this.isReflowing) this.reflow(columns);
      else for (const row of this.lines.slice(this.top)) row.cells.length = Math.min(row.cells.length, columns);
    }
    this.columns = columns;
    this.x = Math.min(this.x, columns);
    this.rows = rows;
    // Rows below the cursor go first, then those at the top into the scrollback; a taller window gets them back.
    while (this.lines.length - this.top > rows && this.lines.length - 1 > this.y) this.lines.pop();
    this.top = Math.max(this.lines.length - rows, Math.min(this.top, this.y), 0);
    if (this.lines.length - this.top < rows) this.top = Math.max(0, this.lines.length - rows);
  }

  private put(char: string): void {
    if (char === '\r') this.x = 0;
    else if (char === '\n') this.down();
    else if (char < ' ' || (char >= '\u007f' && char < '\u00a0'))
      throw new Error(`control character ${JSON.stringify(char)}`);
    else {
      const width = columnsOf(char);
      if (width === 0) return;
      if (this.x + width > this.columns) {
        if (this.wraps) {
          this.row.isWrapped = true;
          this.x = 0;
          this.down();
        } else this.x = this.columns - width;
      }
      const { cells } = this.row;
      while (cells.length < this.x) cells.push(' ');
      cells[this.x] = char;
      if (width === 2) cells[this.x + 1] = TAIL;
      this.x += width;
    }
  }

  private get row(): Row {
    return this.lines[this.y] as Row;
  }

  private down(): void {
    this.y++;
    if (this.y === this.lines.length) this.lines.push(newRow());
    if (this.y - this.top >= this.rows) {
      this.top++;
      this.scrolled++;
    }
  }

  private control(isPrivate: boolean, n: number | null, letter: string | undefined): void {
    if (isPrivate && n === 7) this.wraps = letter === 'h';
    else if (isPrivate && n === 25) this.isCursorShown = letter === 'h';
    else if (!isPrivate && letter === 'A') this.y = Math.max(this.top, this.y - (n ?? 1));
    else if (!isPrivate && letter === 'K' && n === 2) this.row.cells = [];
    else if (!isPrivate && letter === 'J' && n === null) {
      this.row.cells.length = Math.min(this.row.cells.length, this.x);
      this.row.isWrapped = false;
      this.lines.length = this.y + 1;
    } else if (isPrivate || letter !== 'm') throw new Error(`control sequence ${isPrivate ? '?' : ''}${n}${letter}`);
  }

  /** Lines that were wrapped are put together and wrapped anew; the cursor stays at its character. */
  private reflow(columns: number): void {
    const out: Row[] = [];
    let [y, x] = [0, 0];
    for (let from = 0; from < this.lines.length; ) {
      let to = from;
      while (to + 1 < this.lines.length && (this.lines[to] as Row).isWrapped) to++;
      const whole = this.lines.slice(from, to + 1).flatMap(({ cells }) => cells);
      const hasCursor = this.y >= from && this.y <= to;
      const at = hasCursor ? this.lines.slice(from, this.y).reduce((sum, { cells }) => sum + cells.length, this.x) : -1;
      const first = out.length;
      for (let k = 0; k === 0 || k < whole.length; k += columns) {
        out.push({ cells: whole.slice(k, k + columns), isWrapped: k + columns < whole.length });
      }
      if (hasCursor) {
        y = Math.min(first + Math.floor(at / columns), out.length - 1);
        x = at % columns;
      }
      from = to + 1;
    }
    this.lines = out;
    this.y = y;
    this.x = x;
    this.top = Math.max(0, Math.min(this.top, out.length - 1));
  }
}

function trimmed(rows: readonly string[]): readonly string[] {
  const out = rows.map((row) => row.trimEnd());
  while (out.at(-1) === '') out.pop();
  return out;
}
