/**
 * `--config FILE`: a YAML mapping of option names to values, as vLLM reads it. Command-line options win over the file. `true`
 * turns a flag on, `false` leaves it off (or gives its `--no-` form), a list gives several words, a mapping a JSON value.
 */
import { readFileSync } from 'node:fs';
import { codeOf, messageOf, usageError } from '../errors.ts';
import { nameIndex, resolveName } from './names.ts';
import type { CommandName, Form } from './spec.ts';
import { OPTIONS } from './table.ts';
import { LISTS, type Occurrence, splitWord } from './tokens.ts';

/** Options of a file and its mistakes. */
export interface ConfigOptions {
  readonly occurrences: readonly Occurrence[];
  readonly problems: readonly string[];
}

/** Reads a file; throws a usage error when it cannot be read or is no YAML mapping. */
export async function readConfigFile(path: string, command: CommandName, form: Form): Promise<ConfigOptions> {
  if (!/\.ya?ml$/i.test(path)) throw usageError(`--config ${path}: not a .yaml or .yml file`);
  const mapping = await parseMapping(path, readText(path));
  const index = nameIndex(command);
  const occurrences: Occurrence[] = [];
  const problems: string[] = [];
  for (const [key, value] of Object.entries(mapping)) {
    const hit = resolveName(splitWord(`--${key}`).typed, index, command, form);
    if (typeof hit === 'string') problems.push(`${path}: ${hit}`);
    else if (!Object.hasOwn(OPTIONS, hit.name)) problems.push(`${path}: "${key}" cannot stand in a config file`);
    else if (typeof value === 'boolean') {
      const boolean = OPTIONS[hit.name]!.type === 'boolean';
      if (!boolean) problems.push(`${path}: "${key}" takes a value, not ${value}`);
      else if (value || OPTIONS[hit.name]!.negatable === true) {
        occurrences.push({ name: hit.name, label: `${path}: ${key}`, negated: hit.negated === value, words: [] });
      }
    } else if (value !== null) {
      const { type } = OPTIONS[hit.name]!;
      if (type === 'boolean') problems.push(`${path}: "${key}" is true or false`);
      else if (Array.isArray(value) && !LISTS.has(type) && !type.startsWith('csv')) {
        problems.push(`${path}: "${key}" takes one value, not a list`);
      } else
        occurrences.push({ name: hit.name, label: `${path}: ${key}`, negated: false, words: wordsOf(hit.name, value) });
    }
  }
  return { occurrences, problems };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = codeOf(error) === 'ENOENT' ? 'no such file' : messageOf(error);
    throw usageError(`--config ${path}: ${why}`, 'Check the path.', error);
  }
}

async function parseMapping(path: string, text: string): Promise<Record<string, unknown>> {
  const { parse } = await import('./yaml.ts');
  let value: unknown;
  try {
    // Python's yaml.safe_load reads YAML 1.1: yes, no, on and off are booleans there.
    value = parse(text, { version: '1.1', prettyErrors: true, logLevel: 'error' });
  } catch (error) {
    throw usageError(`--config ${path}: not valid YAML: ${messageOf(error).split('\n', 1)[0]}`, '', error);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw usageError(`--config ${path}: not a mapping of option names to values`, 'Write one "name: value" per line.');
  }
  return value as Record<string, unknown>;
}

/** The words that a YAML value stands for on the command line. */
function wordsOf(name: string, value: unknown): string[] {
  const type = OPTIONS[name]!.type;
  if (Array.isArray(value)) {
    const words = value.map(scalarText);
    return type.startsWith('csv') ? [words.join(',')] : words;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (type === 'pairs' || type === 'ordered-pairs') return entries.map(([key, item]) => `${key}=${scalarText(item)}`);
    if (type === 'slo') return entries.map(([key, item]) => `${key}:${scalarText(item)}`);
    return [JSON.stringify(value)];
  }
  return [scalarText(value)];
}

function scalarText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
