/**
 * Text in columns of a terminal: how wide it is, how it is cut, and figures of constant width, so that nothing moves sideways when a
 * number changes. Pure functions; what comes from outside goes through {@link outside} first.
 */
import { printable } from './terminal.ts';

/** How a piece is shown where there is colour. */
export type Tone = 'plain' | 'dim' | 'good' | 'bad';

/** A piece of a line, without any control characters. */
export interface Span {
  readonly text: string;
  readonly tone: Tone;
}

/** A line of the panel. */
export type PanelLine = readonly Span[];

/** Shorthand for a piece. */
export function span(text: string, tone: Tone = 'plain'): Span {
  return { text, tone };
}

/** Drawing characters of a terminal. */
export interface Glyphs {
  readonly isAscii: boolean;
  /** Of the bar: full, the eighths below it, empty. */
  readonly full: string;
  readonly parts: readonly string[];
  readonly empty: string;
  /** Heights of the sparkline: the first stands for nothing at all. */
  readonly heights: readonly string[];
  readonly separator: string;
  readonly cut: string;
}

/** Block elements. */
export const UNICODE: Glyphs = {
  isAscii: false,
  full: '█',
  parts: ['▏', '▎', '▍', '▌', '▋', '▊', '▉'],
  empty: '░',
  heights: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  separator: ' · ',
  cut: '…',
};

/** For locales and terminals without them. */
export const ASCII: Glyphs = {
  isAscii: true,
  full: '#',
  parts: [],
  empty: '.',
  heights: ['_', '.', '-', '=', '+', '*', '%', '#'],
  separator: ' | ',
  cut: '~',
};

/** Text from outside (names of models, words of servers): on one line, without control characters, and ASCII where it must be. */
export function outside(text: string, glyphs: Glyphs): string {
  const clean = printable(text.slice(0, 1000));
  return glyphs.isAscii ? clean.replace(/[^\u0020-\u007e]/gu, '?') : clean;
}

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\u200b-\u200f\u2060-\u2064\ufeff]$/u;
/** East Asian wide and full-width blocks, and what is shown as an emoji. */
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$|^\p{Emoji_Presentation}$/u;

/** Columns of one character. Of those that join others (emoji of several) each counts for itself: too much rather than too little. */
function charWidth(char: string): number {
  if (char <= '~') return 1;
  // It makes an emoji, two columns wide, of the character before.
  if (char === '\ufe0f') return 1;
  if (ZERO_WIDTH.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Columns that a text takes, at most. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text) columns += charWidth(char);
  return columns;
}

/** The text in at most so many columns: what is too long ends in a mark. */
export function cutTo(text: string, columns: number, glyphs: Glyphs): string {
  if (columnsOf(text) <= columns) return text;
  let out = '';
  let left = columns - 1;
  for (const char of text) {
    left -= charWidth(char);
    if (left < 0) break;
    out += char;
  }
  return columns > 0 ? out + glyphs.cut : '';
}

/** A line in at most so many columns. */
export function cutLine(line: PanelLine, columns: number, glyphs: Glyphs): PanelLine {
  const out: Span[] = [];
  let left = columns;
  for (const { text, tone } of line) {
    if (left <= 0) break;
    const shown = cutTo(text, left, glyphs);
    out.push({ text: shown, tone });
    left -= columnsOf(shown);
    if (shown !== text) break;
  }
  return out;
}

/** The line without its tones. */
export function plainText(line: PanelLine): string {
  return line.map(({ text }) => text).join('');
}

/** As many of the pieces as fit whole, in their order. `weights`: which go first where there is no room; higher stays longer. */
export function fittingPieces(
  pieces: readonly { readonly line: PanelLine; readonly weight: number }[],
  columns: number,
  gap: number,
): readonly PanelLine[] {
  const kept = [...pieces];
  const width = (): number =>
    kept.reduce((sum, { line }) => sum + columnsOf(plainText(line)), 0) + gap * Math.max(0, kept.length - 1);
  while (kept.length > 0 && width() > columns) {
    const least = Math.min(...kept.map(({ weight }) => weight));
    kept.splice(
      kept.findLastIndex(({ weight }) => weight === least),
      1,
    );
  }
  return kept.map(({ line }) => line);
}

/** Three significant digits in 4 columns: `0.87`, `98.7`, ` 987`. */
function threeDigits(value: number): string {
  const text = value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0);
  return text.padStart(4);
}

/** A latency in 7 columns: `9.87 ms`, ` 987 ms`, `1.23 s `; from 1000 s on in hours, `0.28 h `. */
export function latencyText(ms: number | null): string {
  if (ms === null || !Number.isFinite(ms)) return '   -   ';
  if (ms < 999.5) return `${threeDigits(ms)} ms`;
  return ms < 999_500 ? `${threeDigits(ms / 1000)} s ` : `${threeDigits(ms / 3_600_000)} h `;
}

/** `12,345`. Loading a locale's rules for it would take longer than drawing the panel a hundred times. */
function grouped(whole: number): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A rate in 7 columns: `   0.87`, `   98.7`, ` 12,345`, `  1.23M`. */
export function rateText(perSecond: number | null): string {
  if (perSecond === null || !Number.isFinite(perSecond)) return '-'.padStart(7);
  const text =
    perSecond < 99.95
      ? threeDigits(perSecond)
      : perSecond < 999_999.5
        ? grouped(Math.round(perSecond))
        : `${threeDigits(perSecond / 1e6).trim()}M`;
  return text.padStart(7);
}

/** A time span in 5 columns or more: ` 0:25`, `12:34`, `1:02:03`. */
export function clockText(ms: number, round: 'up' | 'down'): string {
  const whole = Math.max(0, round === 'up' ? Math.ceil(ms / 1000) : Math.floor(ms / 1000));
  const two = (n: number): string => String(n).padStart(2, '0');
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return (hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`).padStart(5);
}

/** A bar of exactly so many columns. @param share 0..1 */
export function barSpans(share: number, columns: number, glyphs: Glyphs): PanelLine {
  const steps = glyphs.parts.length + 1;
  const filled = Math.floor(Math.min(1, Math.max(0, share)) * columns * steps);
  const [whole, part] = [Math.floor(filled / steps), filled % steps];
  const done = glyphs.full.repeat(whole) + (part > 0 ? glyphs.parts[part - 1] : '');
  const rest = glyphs.empty.repeat(columns - whole - (part > 0 ? 1 : 0));
  return [span(done, 'good'), span(rest, 'dim')];
}

/**
 * Values as heights between 0 and the largest of them, the newest at the right end.
 * @param values null where nothing is known; 0 has a height of its own, that of a standstill
 */
export function sparkText(values: readonly (number | null)[], glyphs: Glyphs): string {
  const { heights } = glyphs;
  const most = Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
  return values
    .map((value) => {
      if (value === null) return ' ';
      if (value <= 0) return heights[0];
      return heights[Math.max(1, Math.min(heights.length - 1, Math.ceil((value / most) * (heights.length - 1))))];
    })
    .join('');
}
