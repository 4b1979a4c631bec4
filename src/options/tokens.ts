/**
 * From words to options, by the rules of Python's argparse and of vLLM's parser on top of it: `--flag value`, `--flag=value`,
 * underscores for dashes, unique prefixes, lists that end at the next option, negative numbers as values, and nested JSON fields
 * (`--extra-body.a.b 1`, `--extra-body.list+ x,y`). Which words are values has to be known before any library sees them, because
 * all mistakes are to be reported at once and none of them may show a key.
 */
import { parseCount } from '../units.ts';
import { type NameHit, nameIndex, resolveName } from './names.ts';
import type { CommandName, Form, OptionSpec } from './spec.ts';
import { OPTIONS } from './table.ts';

/** One use of an option. */
export interface Occurrence {
  /** Name in the table. */
  readonly name: string;
  /** The spelling that was used, in full and with dashes, for messages. */
  readonly label: string;
  readonly negated: boolean;
  /** The words that belong to it: none for a flag, one for a value, any number for a list. */
  readonly words: readonly string[];
}

/** What the words of a command line say, before any value is looked at. */
export interface Tokens {
  readonly occurrences: readonly Occurrence[];
  readonly positionals: readonly string[];
  /** Mistakes, each one line that names the option and the remedy. */
  readonly problems: readonly string[];
  /** `--config` as given, not yet read. */
  readonly configFiles: readonly string[];
  /** Word of `--help=WORD`, '' for a plain `--help`, undefined without. */
  readonly help: string | undefined;
  readonly version: boolean;
}

const NEGATIVE_NUMBER = /^-(\d+|\d*\.\d+|(\d+\.?\d*|\.\d+)e[+-]?\d+|inf)$/i;
/** Types of options that take any number of words. */
export const LISTS: ReadonlySet<string> = new Set(['words', 'pairs', 'ordered-pairs', 'slo', 'limits']);

/** Does this word begin an option, so that it cannot be a value unless written `--flag=value`? */
export function looksLikeOption(word: string): boolean {
  return word.length > 1 && word.startsWith('-') && !NEGATIVE_NUMBER.test(word) && !/\s/.test(word.split('=', 1)[0]!);
}

/** The number of words that may follow an option. */
function arity(spec: OptionSpec | undefined): 'none' | 'one' | 'list' {
  if (spec === undefined) return 'one';
  return spec.type === 'boolean' ? 'none' : LISTS.has(spec.type) ? 'list' : 'one';
}

/** Where the reader stands, and what it has collected. */
interface Reader {
  readonly args: readonly string[];
  at: number;
  /** Finds the option of a typed name, or says what is wrong with the name. */
  readonly resolve: (typed: string) => NameHit | string;
  readonly occurrences: Occurrence[];
  readonly positionals: string[];
  readonly problems: string[];
  readonly configFiles: string[];
  /** JSON options that were given field by field. */
  readonly nested: Map<string, Record<string, unknown>>;
  help: string | undefined;
  version: boolean;
}

/** Reads the words that follow the command's name. Never throws: mistakes are collected. */
export function tokenize(args: readonly string[], command: CommandName, form: Form): Tokens {
  const index = nameIndex(command);
  const reader: Reader = {
    args,
    at: 0,
    resolve: (typed) => resolveName(typed, index, command, form),
    occurrences: [],
    positionals: [],
    problems: [],
    configFiles: [],
    nested: new Map(),
    help: undefined,
    version: false,
  };
  while (reader.at < args.length) {
    const word = args[reader.at++]!;
    if (word === '--') takeRest(reader);
    else if (word === '-h') reader.help = '';
    else if (looksLikeOption(word)) takeNamed(reader, word);
    else reader.positionals.push(word);
  }
  for (const [name, value] of reader.nested) {
    // As vLLM does: the fields stand for one more use of the option at the end of the line, and the last use counts.
    reader.occurrences.push({ name, label: `--${name}`, negated: false, words: [JSON.stringify(value)] });
  }
  return reader;
}

/** Takes all that follows `--`. */
function takeRest(reader: Reader): void {
  reader.positionals.push(...reader.args.slice(reader.at));
  reader.at = reader.args.length;
}

/** Takes a word that begins with dashes, and the values that follow it. */
function takeNamed(reader: Reader, word: string): void {
  const { typed, path, inline } = splitWord(word);
  const hit = word.startsWith('--') ? reader.resolve(typed) : unknownShort(word);
  if (typeof hit === 'string') {
    reader.problems.push(hit);
    // The words after an unknown option are most likely its values. They are dropped unseen: one may be a key.
    takeValues(reader, Number.POSITIVE_INFINITY);
  } else if (hit.name === 'help') reader.help = inline ?? '';
  else if (hit.name === 'version') reader.version = true;
  else if (path !== undefined) takeNested(reader, hit, path, inline ?? takeValues(reader, 1)[0]);
  else takeOption(reader, hit, inline);
}

/** Takes up to `most` words that are values. */
function takeValues(reader: Reader, most: number): string[] {
  const words: string[] = [];
  while (words.length < most && reader.at < reader.args.length && !looksLikeOption(reader.args[reader.at]!)) {
    words.push(reader.args[reader.at++]!);
  }
  return words;
}

/** A word that begins with dashes, in its parts: `--a_b.c.d=x` → a-b, c.d, x. Only the part before the first dot has its underscores replaced. */
export function splitWord(word: string): { typed: string; path: string | undefined; inline: string | undefined } {
  const equals = word.indexOf('=');
  const name = (equals < 0 ? word : word.slice(0, equals)).replace(/^-+/, '');
  const dot = name.indexOf('.');
  return {
    typed: (dot < 0 ? name : name.slice(0, dot)).replaceAll('_', '-'),
    path: dot < 0 ? undefined : name.slice(dot + 1),
    inline: equals < 0 ? undefined : word.slice(equals + 1),
  };
}

function unknownShort(word: string): string {
  return `${word.split('=', 1)[0]}: unknown option; options begin with two dashes, see tabby-load --help`;
}

function takeOption(reader: Reader, hit: NameHit, inline: string | undefined): void {
  const spec = OPTIONS[hit.name];
  const label = `--${hit.spelling}`;
  const shape = arity(spec);
  if (shape === 'none') {
    if (inline !== undefined && !/^(true|false)$/i.test(inline)) reader.problems.push(`${label}: takes no value`);
    else {
      const negated = hit.negated !== (inline?.toLowerCase() === 'false');
      reader.occurrences.push({ name: hit.name, label, negated, words: [] });
    }
    return;
  }
  let words = inline === undefined ? takeValues(reader, shape === 'one' ? 1 : Number.POSITIVE_INFINITY) : [inline];
  if (words.length === 0 && spec?.secret === true) words = takeSecret(reader);
  if (words.length === 0 && (shape === 'one' || spec?.nonEmpty === true)) {
    const example = spec?.metavar ?? 'FILE';
    reader.problems.push(
      `${label}: a value is missing: ${label} ${example} (${label}=VALUE when it begins with a dash)`,
    );
  } else if (hit.name === 'config') reader.configFiles.push(words[0]!);
  else reader.occurrences.push({ name: hit.name, label, negated: false, words });
}

/**
 * The next word as the value of a secret even when it begins with a dash, unless it is an option: a key such as -Ab3 must not be
 * reported as an unknown option.
 */
function takeSecret(reader: Reader): string[] {
  const word = reader.args[reader.at];
  if (word === undefined || word === '--') return [];
  if (word.startsWith('--') && typeof reader.resolve(splitWord(word).typed) !== 'string') return [];
  reader.at++;
  return [word];
}

function takeNested(reader: Reader, hit: NameHit, path: string, text: string | undefined): void {
  const label = `--${hit.name}.${path}`;
  const isAppended = path.endsWith('+');
  const keys = (isAppended ? path.slice(0, -1) : path).split('.');
  if (OPTIONS[hit.name]?.type !== 'json') {
    reader.problems.push(`${label}: only options with a JSON value have fields, not --${hit.name}`);
  } else if (keys.includes('')) reader.problems.push(`${label}: a field name is empty`);
  else if (text === undefined) reader.problems.push(`${label}: a value is missing: ${label}=VALUE`);
  else {
    const target = reader.nested.get(hit.name) ?? emptyObject();
    reader.nested.set(hit.name, target);
    setField(target, keys, isAppended ? text.split(',') : nestedValue(text));
  }
}

/** A nested value as vLLM reads it: JSON where it is JSON, a number with a suffix (`1k`), else the text itself. */
function nestedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return /^\d+(\.\d+)?[kmg]$/.test(text) ? (parseCount(text) ?? text) : text;
  }
}

/** Objects without a prototype, so that a field named `__proto__` is a field. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

/** Sets a field below an object, making what is missing; lists are appended to, anything else is replaced. */
function setField(target: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  let at = target;
  for (const key of keys.slice(0, -1)) {
    const next = at[key];
    if (typeof next !== 'object' || next === null || Array.isArray(next)) at[key] = emptyObject();
    at = at[key] as Record<string, unknown>;
  }
  const last = keys.at(-1)!;
  const old = at[last];
  at[last] = Array.isArray(old) && Array.isArray(value) ? [...old, ...value] : value;
}
