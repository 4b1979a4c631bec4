/** From the words of one option to its typed value, or to the one line that says what is wrong and how to write it. */
import { BadLimit, LIMIT_METRICS, parseLimit, UnknownMetric } from '../limits.ts';
import {
  formatCount,
  formatDuration,
  formatShare,
  formatSize,
  parseCount,
  parseDuration,
  parseFloating,
  parseInteger,
  parseShare,
  parseSize,
} from '../units.ts';
import type { CommandName, GoodputLimits, OptionSpec, RangeRatio } from './spec.ts';
import { suggest } from './suggest.ts';

/** Timers of JavaScript count to 2³¹ − 1 ms and would fire at once beyond. */
const LONGEST_MS = 24 * 24 * 3600 * 1000;

/** A mistake in the value of an option: the text after the option's name. */
export class BadValue extends Error {}

/**
 * Converts the words given to an option.
 * @throws BadValue with a message that shows the word, unless the option may hold a secret.
 */
export function convert(spec: OptionSpec, words: readonly string[], command: CommandName): unknown {
  const word = words[0] ?? '';
  switch (spec.type) {
    case 'boolean':
      return true;
    case 'string':
      return checkedString(word, spec);
    case 'choice':
      return chosen(word, spec, command);
    case 'json':
      return jsonObject(word);
    case 'csv':
      return word.split(',');
    case 'csv-numbers':
      return word.split(',').map((part) => number(part, spec));
    case 'words':
      return words;
    case 'pairs':
      return Object.fromEntries(pairs(words));
    case 'ordered-pairs':
      // An object would move names such as "7" to the front.
      return [...pairs(words)].map(([key, value]) => `${key}=${value}`);
    case 'slo':
      return goodputLimits(words);
    case 'limits':
      return words.map(limitText);
    case 'range-ratio':
      return rangeRatio(word);
    default:
      return number(word, spec);
  }
}

type NumberType = 'int' | 'float' | 'count' | 'share' | 'duration' | 'size';

const NUMBER_WORDS: Readonly<Record<NumberType, string>> = {
  int: 'a whole number',
  float: 'a number',
  count: 'a whole number such as 5000 or 20M',
  share: 'a share such as 5% or 0.05',
  duration: 'a time such as 500ms, 30s or 1m30s',
  size: 'a size such as 16MB',
};

function number(text: string, spec: OptionSpec): number | null {
  const type = (spec.type === 'csv-numbers' ? 'float' : spec.type) as NumberType;
  const value = parseNumber(text, type, spec);
  if (value === null && spec.off === true) return null;
  if (type === 'duration' && typeof value === 'number' && value > LONGEST_MS) {
    const off = spec.off === true ? '; off is no limit' : '';
    throw new BadValue(
      `${shown(text)} is longer than ${formatDuration(LONGEST_MS)}, the longest time that can be waited for${off}`,
    );
  }
  const good =
    typeof value === 'number' &&
    (spec.infinite === true || Number.isFinite(value)) &&
    value >= (spec.min ?? Number.NEGATIVE_INFINITY) &&
    value <= (spec.max ?? Number.POSITIVE_INFINITY) &&
    value > (spec.above ?? Number.NEGATIVE_INFINITY);
  if (good) return value;
  throw new BadValue(`${shown(text)} is not ${NUMBER_WORDS[type]}${rangeText(spec, type)}`);
}

function parseNumber(text: string, type: NumberType, spec: OptionSpec): number | null | undefined {
  switch (type) {
    case 'int':
      return parseInteger(text);
    case 'float':
      return parseFloating(text);
    case 'count':
      return parseCount(text);
    case 'share':
      return parseShare(text);
    case 'size':
      return parseSize(text);
    case 'duration':
      return parseDuration(text, spec.bareUnit);
  }
}

function rangeText(spec: OptionSpec, type: NumberType): string {
  const show = (value: number) =>
    type === 'duration'
      ? formatDuration(value)
      : type === 'size'
        ? formatSize(value)
        : type === 'share'
          ? formatShare(value)
          : type === 'count'
            ? formatCount(value)
            : String(value);
  const parts: string[] = [];
  if (spec.above !== undefined) parts.push(`> ${show(spec.above)}`);
  if (spec.min !== undefined && spec.max !== undefined) parts.push(`from ${show(spec.min)} to ${show(spec.max)}`);
  else if (spec.min !== undefined) parts.push(`>= ${show(spec.min)}`);
  else if (spec.max !== undefined) parts.push(`<= ${show(spec.max)}`);
  if (spec.infinite === true) parts.push('or inf');
  if (spec.off === true) parts.push('or off');
  return parts.length === 0 ? '' : ` ${parts.join(' ')}`;
}

function chosen(word: string, spec: OptionSpec, command: CommandName): string {
  const choices = spec.choices ?? [];
  const refused = spec.refusedChoices ?? {};
  const served = choices.filter((choice) => !Object.hasOwn(refused, choice));
  if (!choices.includes(word)) {
    const near = suggest(word, choices);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw new BadValue(`${shown(word)} is not one of ${served.join(', ')}${hint}`);
  }
  // A record file or a manifest of a backend that cannot be driven here can still be read.
  if (command === 'run' && Object.hasOwn(refused, word)) throw new BadValue(`${word} is not there: ${refused[word]}`);
  return word;
}

function checkedString(word: string, spec: OptionSpec): string {
  if (spec.place === true && word.trim() === '') throw new BadValue('the name is empty');
  if (spec.place === true && word === '-' && spec.stdout !== true)
    throw new BadValue('- is no file: this one cannot go to stdout; give a file name (./- for a file of that name)');
  if (/[\0\r\n]/.test(word)) throw new BadValue('must not hold line breaks or NUL');
  if (spec.secret === true && /[^\x20-\x7e]/.test(word))
    throw new BadValue('holds characters that cannot stand in a header');
  return word;
}

function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadValue('not valid JSON; quote it for the shell: \'{"key": "value"}\'');
  }
  if (value === null) return null;
  if (typeof value !== 'object' || Array.isArray(value)) throw new BadValue('not a JSON object: \'{"key": "value"}\'');
  return value as Readonly<Record<string, unknown>>;
}

/** KEY=VALUE words, both sides trimmed as vLLM does. The words are never shown: a header may be a key. */
function pairs(words: readonly string[]): ReadonlyMap<string, string> {
  const result = new Map<string, string>();
  words.forEach((word, i) => {
    const equals = word.indexOf('=');
    if (equals < 1) throw new BadValue(`item ${i + 1} is not KEY=VALUE; quote values with spaces`);
    const key = word.slice(0, equals).trim();
    if (key === '') throw new BadValue(`item ${i + 1} has no name before the =`);
    result.set(key, word.slice(equals + 1).trim());
  });
  return result;
}

const SLO_METRICS = ['ttft', 'tpot', 'e2el'] as const;

/** METRIC:MS words, with vLLM's refusals (format, name, negative). */
function goodputLimits(words: readonly string[]): GoodputLimits {
  const limits: Partial<Record<string, number>> = {};
  for (const word of words) {
    const parts = word.split(':');
    const value = parts.length === 2 ? parseFloating(parts[1]!) : undefined;
    if (value === undefined) throw new BadValue(`${shown(word)} is not METRIC:MS, such as ttft:300`);
    const name = parts[0]!;
    if (!SLO_METRICS.some((metric) => metric === name)) {
      throw new BadValue(`${shown(name)} is no metric for a limit; there are ${SLO_METRICS.join(', ')}`);
    }
    if (value < 0) throw new BadValue(`${shown(word)}: the limit must not be negative`);
    limits[name] = value;
  }
  return limits;
}

/** The limit as it is recorded: in its own words, once they can be read. */
function limitText(word: string): string {
  try {
    return parseLimit(word).text;
  } catch (error) {
    if (!(error instanceof BadLimit)) throw error;
    const near = error instanceof UnknownMetric ? suggest(error.metric, LIMIT_METRICS) : undefined;
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw new BadValue(
      `${shown(word)} ${error.message.startsWith('is ') ? '' : ': '}${error.message}${hint}`.replace(' : ', ': '),
    );
  }
}

function rangeRatio(text: string): RangeRatio {
  const single = parseFloating(text);
  let ratio: { input?: unknown; output?: unknown } = { input: single, output: single };
  if (single === undefined) {
    try {
      ratio = JSON.parse(text) as typeof ratio;
    } catch {
      ratio = {};
    }
  }
  const { input, output } = ratio ?? {};
  const good = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1;
  if (!good(input) || !good(output)) {
    throw new BadValue(`${shown(text)} is not a number R with 0 <= R < 1, nor JSON {"input": R, "output": R}`);
  }
  return { input, output };
}

/** A word from outside in a message: in quotes, on one line, cut when long. */
function shown(word: string): string {
  const short = word.length > 60 ? `${word.slice(0, 57)}...` : word;
  return JSON.stringify(short);
}
