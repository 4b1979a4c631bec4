/** The command line as it was typed, for reports: quoted for a shell, without secrets. */
import { withoutSecrets } from '../secrets.ts';
import { isSensitiveName } from './redact.ts';
import { OPTIONS } from './table.ts';

const MASK = '***';
const PLAIN = /^[\w@%+=:,./*-]+$/;
const SECRET_OPTIONS: ReadonlySet<string> = new Set(
  Object.entries(OPTIONS).flatMap(([name, spec]) => ('secret' in spec && spec.secret ? [`--${name}`] : [])),
);

/** A word as a POSIX shell reads it back. */
export function shellQuoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * @param argv words behind the program's name
 * @param secrets what must not be in it, wherever it came from
 */
export function typedCommand(argv: readonly string[], secrets: readonly string[]): string {
  const words: string[] = ['tabby-load'];
  let isSecretNext = false;
  for (const word of argv) {
    const [option = '', ...value] = word.split('=');
    const isSecret = SECRET_OPTIONS.has(option.replaceAll('_', '-'));
    if (isSecretNext && !word.startsWith('--')) words.push(MASK);
    else if (isSecret && value.length > 0) words.push(`${option}=${MASK}`);
    else words.push(shellQuoted(masked(word)));
    isSecretNext = isSecret && value.length === 0;
  }
  // Each option on a line of its own, as far as it is long.
  const line = withoutSecrets(words.join(' '), secrets);
  return line.length <= 100 ? line : line.replaceAll(/ (?=--[a-z])/g, ' \\\n  ');
}

/** KEY=VALUE of a sensitive name, credentials in an address, and sensitive members of JSON. */
function masked(word: string): string {
  const pair = /^(--[\w-]+=)?([\w.-]+)([=:]\s*)(.+)$/s.exec(word);
  if (pair !== null && isSensitiveName(pair[2] as string) && !pair[2]?.startsWith('-')) {
    return `${pair[1] ?? ''}${pair[2]}${pair[3]}${MASK}`;
  }
  return word
    .replace(/(\w+:\/\/)[^/@\s]+@/g, `$1${MASK}@`)
    .replace(/("(?:[^"\\]|\\.)*"\s*:\s*)("(?:[^"\\]|\\.)*")/g, (all, key: string) =>
      isSensitiveName(key.slice(0, key.lastIndexOf('"'))) ? `${key}"${MASK}"` : all,
    );
}
