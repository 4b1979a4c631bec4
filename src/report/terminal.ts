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

/** Writes one line of result to stdout. */
export function printOut(line: string): void {
  process.stdout.write(`${withoutSecrets(line, secrets)}\n`);
}

/** Writes text to stdout as it is (JSON documents, manifests). */
export function writeOut(text: string): void {
  process.stdout.write(withoutSecrets(text, secrets));
}

/** Writes one line of message to stderr. */
export function printErr(line: string): void {
  process.stderr.write(`${withoutSecrets(line, secrets)}\n`);
}

/** Writes to stderr at once, even when the process is about to leave. */
export function printErrSync(line: string): void {
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
