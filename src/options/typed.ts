/**
 * The command line as it was typed, without secrets, for reports that tell how they came about. Words are shared out to options by the
 * rules of `tokens.ts`, so that a value is known for what it is however it was given.
 */
import { nameIndex, resolveName } from './names.ts';
import { isSensitiveName, MASK, maskedValue } from './redact.ts';
import type { CommandName, Form, OptionSpec } from './spec.ts';
import { OPTIONS } from './table.ts';
import { looksLikeOption, splitWord } from './tokens.ts';

/** The option whose values the words are, until the next one. */
interface Owner {
  readonly name: string;
  readonly spec: OptionSpec | undefined;
  /** Field of a JSON option (`--extra-body.a.b`). */
  readonly path: string | undefined;
  /** A secret still lacks its value, which may begin with a dash. */
  isWaiting: boolean;
}

/**
 * The words, those in front of the options (`bench serve`) included. Credentials are replaced by `***`: keys, headers and fields with
 * telling names, and what stands before the @ of an address. Values of unknown options are credentials until shown otherwise.
 */
export function typedWords(argv: readonly string[], command: CommandName, form: Form): string[] {
  const index = nameIndex(command);
  let owner: Owner | null = null;
  return argv.map((word) => {
    const isOption = looksLikeOption(word);
    if (owner?.isWaiting === true && !(isOption && isKnown(word))) {
      owner.isWaiting = false;
      return MASK;
    }
    if (!isOption) return owner === null ? withoutCredentials(word) : maskedWord(word, owner);
    const { typed, path, inline } = splitWord(word);
    const hit = resolveName(typed, index, command, form);
    const name = typeof hit === 'string' ? '' : hit.name;
    owner = { name, spec: OPTIONS[name], path, isWaiting: OPTIONS[name]?.secret === true && inline === undefined };
    if (inline === undefined) return word;
    const kept = owner;
    owner = { ...kept, isWaiting: false };
    return `${word.slice(0, word.length - inline.length)}${maskedWord(inline, kept)}`;
  });

  function isKnown(word: string): boolean {
    return word.startsWith('--') && typeof resolveName(splitWord(word).typed, index, command, form) !== 'string';
  }
}

function withoutCredentials(word: string): string {
  return maskedValue(word) as string;
}

function maskedWord(word: string, { name, spec, path }: Owner): string {
  if (spec?.secret === true) return MASK;
  // What the user wants in the result stands there as given.
  if (name === 'metadata') return word;
  if (path !== undefined) return isSensitiveName(path) && /[^\d.]/.test(word) ? MASK : withoutCredentials(word);
  if (spec?.type === 'json') return maskedJson(word);
  if (spec?.type !== 'pairs') return withoutCredentials(word);
  const [, key, sign] = /^([^=:]*)(\s*[=:]\s*)/.exec(word) ?? [];
  return key !== undefined && isSensitiveName(key) ? `${key}${sign}${MASK}` : withoutCredentials(word);
}

function maskedJson(word: string): string {
  try {
    const value: unknown = JSON.parse(word);
    const masked = JSON.stringify(maskedValue(value));
    return masked === JSON.stringify(value) ? word : masked;
  } catch {
    return withoutCredentials(word);
  }
}
