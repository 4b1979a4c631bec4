/**
 * The one place that writes to the terminal: results to stdout, everything else to stderr (clig.dev). Text from outside (server
 * words, model names, file names) goes through {@link printable} so that no control sequence reaches the terminal.
 */
import { writeSync } from 'node:fs';
import { withoutSecrets } from '../secrets.ts';

let secrets: readonly string[] = [];

/** From now on these texts are replaced wherever they would appear on the terminal: a server may repeat a key in its words. */
export function hideOnTerminal(texts: readonly string[]): void {
  secrets = texts;
}

/** Something that is drawn at the end of the terminal again and again, and makes room for lines that are to stay. */
export interface Overlay {
  /** Puts a line above it. */
  above(line: string): void;
  /** Takes it away at once: something else is about to write, or the process to end. */
  leave(): void;
}

let overlay: Overlay | null = null;

/** From now on what is printed makes room for this one; null = there is none any more. */
export function printAbove(next: Overlay | null): void {
  overlay = next;
}

/** Writes one line of result to stdout. */
export function printOut(line: string): void {
  overlay?.leave();
  process.stdout.write(`${withoutSecrets(line, secrets)}\n`);
}

/** Writes text to stdout as it is (JSON documents, manifests). */
export function writeOut(text: string): void {
  overlay?.leave();
  process.stdout.write(withoutSecrets(text, secrets));
}

/** Writes one line of message to stderr. */
export function printErr(line: string): void {
  const shown = withoutSecrets(line, secrets);
  if (overlay === null) process.stderr.write(`${shown}\n`);
  else overlay.above(shown);
}

/** Writes to stderr at once, even when the process is about to leave. */
export function printErrSync(line: string): void {
  overlay?.leave();
  try {
    writeSync(2, `${withoutSecrets(line, secrets)}\n`);
  } catch {
    // A closed or full stderr must not hide the exit code.
  }
}

/** May colour and cursor movement be used on this stream? Not off a terminal, not with NO_COLOR, not on a dumb terminal. */
export function isInteractive(stream: 'stdout' | 'stderr'): boolean {
  const noColor = process.env['NO_COLOR'];
  return process[stream].isTTY === true && (noColor === undefined || noColor === '') && process.env['TERM'] !== 'dumb';
}

/** Texts that must not be shown, replaced. For what does not go through the functions above. */
export function withoutHidden(text: string): string {
  return withoutSecrets(text, secrets);
}

/** Can block characters be shown? By the locale, as other programs go by it; the Linux console has no glyphs for most of them. */
export function hasBlocks(): boolean {
  const { env } = process;
  if (process.platform === 'win32') return env['WT_SESSION'] !== undefined;
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => value !== undefined && value !== '');
  return /utf-?8/i.test(locale ?? '') && env['TERM'] !== 'linux';
}

/** The text on one line with control characters (C0, DEL, C1) and line separators made visible as escapes. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (char) => {
    if (char === '\n') return '\\n';
    if (char === '\r') return '\\r';
    if (char === '\t') return '\\t';
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
