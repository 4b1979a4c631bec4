/** The command of a run: as it was typed, or as its records tell it (the options that are not the defaults; secrets are in no record). */
import { recordName } from '../options/redact.ts';
import type { OptionSpec } from '../options/spec.ts';
import { OPTIONS } from '../options/table.ts';

const PLAIN = /^[\w@%+=:,./-]+$/;

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Words of an option's value. */
function wordsOf(value: unknown, { type }: OptionSpec): string[] {
  if (Array.isArray(value)) return type === 'csv' || type === 'csv-numbers' ? [value.join(',')] : value.map(String);
  if (typeof value === 'object' && value !== null) {
    if (type === 'json' || type === 'range-ratio') return [JSON.stringify(value)];
    return Object.entries(value).map(([key, item]) => `${key}${type === 'slo' ? ':' : '='}${String(item)}`);
  }
  if (type === 'duration') return [value === null ? 'off' : `${String(value)}ms`];
  return [value === Number.POSITIVE_INFINITY ? 'inf' : String(value)];
}

/** Longest command that stands on one line. */
const LINE = 100;

/** The command that made a report. */
export interface CommandShown {
  /** For a shell. */
  readonly line: string;
  /** What the line is: typed, or worked out. */
  readonly words: string;
}

/**
 * The command line as it was typed, quoted for a shell; a long one is continued before each option.
 * @param typed its words, without secrets
 */
export function typedLine(typed: readonly string[]): CommandShown {
  const words = ['tabby-load', ...typed.map(quoted)];
  const line = words.join(' ');
  const broken = words.map((word) => (word.startsWith('--') ? ` \\\n  ${word}` : ` ${word}`)).join('');
  return {
    line: line.length <= LINE ? line : broken.trimStart(),
    words: 'The command as it was typed; credentials are masked.',
  };
}

/** The command of records, which hold options, not words. */
export function rebuiltLine(command: string, options: Readonly<Record<string, unknown>>): CommandShown {
  return {
    line: commandLine(command, options),
    words:
      'A command that asks for the same, rebuilt from the recorded options that are not defaults; credentials are left out.',
  };
}

/**
 * A command line that asks for the same.
 * @param words the command itself: `run`, `sweep`
 * @param options as records and results hold them, by vLLM's names
 */
export function commandLine(words: string, options: Readonly<Record<string, unknown>>): string {
  const parts = [`tabby-load ${words}`];
  for (const [name, spec] of Object.entries(OPTIONS)) {
    const key = recordName(name, spec);
    const value = options[key];
    if (value === undefined || value === null || name === 'request-id-prefix') continue;
    const usual = [spec.default, spec.defaults?.run].map((one) => JSON.stringify(one));
    if (usual.includes(JSON.stringify(value)) || value === Number.POSITIVE_INFINITY) continue;
    if (spec.type === 'boolean') {
      if (value === true) parts.push(`--${name}`);
      else if (spec.negatable === true) parts.push(`--no-${name}`);
      continue;
    }
    parts.push(`--${name} ${wordsOf(value, spec).map(quoted).join(' ')}`);
  }
  return parts.join(' \\\n  ');
}
