/**
 * The panel on a terminal, as text to be written: drawn over itself, taken away for a message, and gone at the end.
 *
 * Between two writes the cursor stands at the panel's first column and first line. So everything from there to the end of the screen is
 * the panel, whatever a terminal did to its lines when the window was made wider or narrower, and one code erases it. Lines are drawn with
 * automatic wrapping off: a line that turns out too wide (other ideas of the width of a character, a window that just became
 * narrower) is cut by the terminal instead of pushing everything down.
 *
 * Keys that are pressed meanwhile are echoed and move the cursor. So its place is saved as well, and taken from there as long as the window
 * has not changed: what was saved is a place of the screen, and lines move on it when its size changes.
 *
 * Control sequences: ECMA-48, and DEC's private ones (modes 7 wrapping, 25 cursor; 7 and 8 for saving) as every terminal since the VT220
 * knows them.
 */
import type { PanelLine, Tone } from './panel-text.ts';

const HIDE_CURSOR = '\u001b[?25l';
/** What hiding it is to be followed by. */
export const SHOW_CURSOR = '\u001b[?25h';
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';
const ERASE_LINE = '\u001b[2K';
const ERASE_BELOW = '\u001b[J';
const SAVE = '\u001b7';
const RESTORE = '\u001b8';
const TONES: Readonly<Record<Tone, readonly [on: string, off: string]>> = {
  plain: ['', ''],
  dim: ['\u001b[2m', '\u001b[22m'],
  good: ['\u001b[32m', '\u001b[39m'],
  bad: ['\u001b[31m', '\u001b[39m'],
};

/**
 * The panel over itself, or in a new place. The cursor is hidden and stands at its beginning afterwards.
 * @param isSaved the place that was saved last is that of the panel
 */
export function drawn(lines: readonly PanelLine[], isSaved: boolean): string {
  const body = lines.map((line) => `${ERASE_LINE}${line.map(toned).join('')}`).join('\r\n');
  const up = lines.length > 1 ? `\u001b[${lines.length - 1}A` : '';
  return `${toBegin(isSaved)}${HIDE_CURSOR}${NO_WRAP}${body}${ERASE_BELOW}${up}\r${WRAP}${SAVE}`;
}

function toBegin(isSaved: boolean): string {
  return isSaved ? `${RESTORE}\r` : '\r';
}

function toned({ text, tone }: { readonly text: string; readonly tone: Tone }): string {
  const [on, off] = TONES[tone];
  return text === '' ? '' : on + text + off;
}

/** Takes the panel away; the cursor is shown where it began. */
export function erased(isSaved: boolean): string {
  return `${toBegin(isSaved)}${ERASE_BELOW}${SHOW_CURSOR}`;
}

/** A message in the panel's place, which goes below it when it is drawn again. @param line one line, without its end */
export function aboveIt(line: string, isSaved: boolean): string {
  return `${toBegin(isSaved)}${ERASE_BELOW}${line.replaceAll('\n', '\r\n')}\r\n`;
}
