/**
 * From words to options, by the rules of Python's argparse and of vLLM's parser on top of it: `--flag value`, `--flag=value`,
 * underscores for dashes, unique prefixes, lists that end at the next option, negative numbers as values, and nested JSON fields
 * (`--extra-body.a.b 1`, `--extra-body.list+ x,y`). Which words are values has to be known before any library sees them, because
 * all mistakes are to be reported at once and none of them may show a key.
 */
import { parseCount } from '../units.ts';
import { type NameHit, type NameIndex, nameIndex, resolveName } from './names.ts';
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
const LISTS: ReadonlySet<string> = new Set(['words', 'pairs', 'slo']);

/** Does this word begin an option, so that it cannot be a value unless written `--flag=value`? */
function looksLikeOption(word: string): boolean {
  return word.length > 1 && word.startsWith('-') && !NEGATIVE_NUMBER.test(word) && !/\s/.test(word.split('=', 1)[0]!);
}

/** The number of words that may follow an option. */
function arity(spec: OptionSpec | undefined): 'none' | 'one' | 'list' {
  if (spec === undefined) return 'one';
  return spec.type === 'boolean' ? 'none' : LISTS.has(spec.type) ? 'list' : 'one';
}

/** Reads the words that follow the command's name. Never throws: mistakes are collected. */
export function tokenize(args: readonly string[], command: CommandName, form: Form): Tokens {
  const index = nameIndex(command);
  const state = {
    occurrences: [] as Occurrence[],
    positionals: [] as string[],
    problems: [] as string[],
    configFiles: [] as string[],
    nested: new Map<string, Record<string, unknown>>(),
    help: undefined as string | undefined,
    version: false,
  };
  let at = 0;
  const takeValues = (most: number): string[] => {
    const words: string[] = [];
    while (words.length < most && at < args.length && !looksLikeOption(args[at]!)) words.push(args[at++]!);
    return words;
  };
  while (at < args.length) {
    const word = args[at++]!;
    if (word === '--') {
      state.positionals.push(...args.slice(at));
      break;
    }
    if (!looksLikeOption(word)) {
      state.positionals.push(word);
      continue;
    }
    const { typed, path, inline } = splitWord(word);
    const hit =
      word === '-h' ? { name: 'help', spelling: 'help', negated: false } : resolveName(typed, index, command, form);
    if (typeof hit === 'string' || (!word.startsWith('--') && word !== '-h')) {
      state.problems.push(typeof hit === 'string' && word.startsWith('--') ? hit : unknownShort(word));
      // The words after an unknown option are most likely its values. They are dropped unseen: one may be a key.
      takeValues(Number.POSITIVE_INFINITY);
      continue;
    }
    if (hit.name === 'help') state.help = inline ?? '';
    else if (hit.name === 'version') state.version = true;
    else if (path !== undefined) takeNested(hit, path, inline ?? takeValues(1)[0], state.nested, state.problems);
    else takeOption(hit, inline, takeValues, state, () => secretWord(args, at, index, command, form, () => at++));
  }
  const nested = [...state.nested].map(([name, value]) => ({
    name,
    label: `--${name}`,
    negated: false,
    words: [JSON.stringify(value)],
  }));
  return { ...state, occurrences: [...state.occurrences, ...nested] };
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

function takeOption(
  hit: NameHit,
  inline: string | undefined,
  takeValues: (most: number) => string[],
  state: { occurrences: Occurrence[]; problems: string[]; configFiles: string[] },
  takeSecret: () => string | undefined,
): void {
  const spec = OPTIONS[hit.name];
  const shape = arity(spec);
  const label = `--${hit.spelling}`;
  let words: string[];
  if (shape === 'none') {
    if (inline !== undefined && !/^(true|false)$/i.test(inline)) {
      state.problems.push(`${label}: takes no value`);
      return;
    }
    const negated = hit.negated !== (inline?.toLowerCase() === 'false');
    state.occurrences.push({ name: hit.name, label, negated, words: [] });
    return;
  }
  if (inline !== undefined) words = [inline];
  else words = takeValues(shape === 'one' ? 1 : Number.POSITIVE_INFINITY);
  if (words.length === 0 && spec?.secret === true) words = [takeSecret()].filter((word) => word !== undefined);
  if (words.length === 0 && (shape === 'one' || spec?.nonEmpty === true)) {
    const example = spec?.metavar ?? 'FILE';
    state.problems.push(
      `${label}: a value is missing: ${label} ${example} (${label}=VALUE when it begins with a dash)`,
    );
    return;
  }
  if (hit.name === 'config') state.configFiles.push(words[0]!);
  else state.occurrences.push({ name: hit.name, label, negated: false, words });
}

/** The next word as the value of a secret even when it begins with a dash, unless it is an option: it must not be reported as one. */
function secretWord(
  args: readonly string[],
  at: number,
  index: NameIndex,
  command: CommandName,
  form: Form,
  advance: () => void,
): string | undefined {
  const word = args[at];
  if (word === undefined || word === '--') return undefined;
  if (word.startsWith('--') && typeof resolveName(splitWord(word).typed, index, command, form) !== 'string')
    return undefined;
  advance();
  return word;
}

function takeNested(
  hit: NameHit,
  path: string,
  text: string | undefined,
  nested: Map<string, Record<string, unknown>>,
  problems: string[],
): void {
  const label = `--${hit.name}.${path}`;
  const append = path.endsWith('+');
  const keys = (append ? path.slice(0, -1) : path).split('.');
  if (OPTIONS[hit.name]?.type !== 'json')
    problems.push(`${label}: only options with a JSON value have fields, not --${hit.name}`);
  else if (keys.includes('')) problems.push(`${label}: a field name is empty`);
  else if (text === undefined) problems.push(`${label}: a value is missing: ${label}=VALUE`);
  else {
    const target = nested.get(hit.name) ?? emptyObject();
    nested.set(hit.name, target);
    setField(target, keys, append ? text.split(',') : nestedValue(text));
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
