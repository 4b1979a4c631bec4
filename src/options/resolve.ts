/** From what was given to what holds: defaults of the form, environment, and what follows from several options together. */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { BadValue, convert } from './convert.ts';
import { type CommandName, type Form, keyOf } from './spec.ts';
import { defaultOf, OPTIONS, optionsOf } from './table.ts';
import { LISTS, type Occurrence } from './tokens.ts';

/** Typed values by camelCase name; `given` holds the names that were not left to their defaults. */
export interface Values {
  readonly values: Record<string, unknown>;
  readonly given: Set<string>;
  readonly problems: string[];
  readonly warnings: string[];
}

/** Environment as the parser sees it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One option's words after repeats have been settled: the raw form that yargs is given. */
export interface RawOption {
  readonly label: string;
  readonly negated: boolean;
  readonly words: readonly string[];
}

/**
 * Settles repeated options. The last one wins, as in argparse, and a repeat is worth a warning there; except that outside
 * `bench serve` lists add up, because `--header A=1 --header B=2` that drops A would surprise everyone who comes from curl.
 */
export function settleRepeats(
  occurrences: readonly Occurrence[],
  form: Form,
): { raw: Map<string, RawOption>; warnings: string[] } {
  const raw = new Map<string, RawOption>();
  const repeated = new Set<string>();
  for (const { name, label, negated, words } of occurrences) {
    const before = raw.get(name);
    const { type, vllm } = OPTIONS[name]!;
    if (before !== undefined && LISTS.has(type) && (form !== 'bench' || vllm !== true))
      raw.set(name, { label, negated, words: [...before.words, ...words] });
    else {
      if (before !== undefined) repeated.add(name);
      raw.set(name, { label, negated, words });
    }
  }
  return { raw, warnings: [...repeated].map((name) => `--${name} was given more than once; the last one counts`) };
}

/** Converts what was given, takes the environment and the defaults for the rest. */
export function resolveValues(
  raw: ReadonlyMap<string, RawOption>,
  env: Environment,
  command: CommandName,
  form: Form,
): Values {
  const result: Values = { values: {}, given: new Set(), problems: [], warnings: [] };
  for (const [name, spec] of optionsOf(command)) {
    const key = keyOf(name, spec);
    const use = raw.get(name);
    if (spec.refused !== undefined) {
      if (use !== undefined) result.problems.push(`${use.label} is not there: ${spec.refused}`);
      continue;
    }
    const variable = (spec.env ?? []).find((candidate) => env[candidate] !== undefined && env[candidate] !== '');
    let value = defaultOf(spec, form);
    try {
      if (use !== undefined) value = spec.type === 'boolean' ? !use.negated : convert(spec, use.words, command);
      else if (variable !== undefined && command !== 'mock') value = convert(spec, [env[variable]!.trim()], command);
      if (use !== undefined || (variable !== undefined && command !== 'mock')) result.given.add(key);
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      const where = use === undefined ? `${variable} (environment)` : use.label;
      result.problems.push(`${where}: ${error.message}`);
    }
    result.values[key] = value;
  }
  return result;
}

/** Works out what follows from several options; adds to problems and warnings. */
export function derive(result: Values, env: Environment, command: CommandName, form: Form): void {
  if (command === 'run' || command === 'samples' || command === 'sweep') {
    deriveDataset(result);
    deriveLengths(result);
    deriveServer(result, form);
    deriveRequests(result, env, form);
  }
  if (command === 'run' || command === 'report' || command === 'sweep') warnAboutMetrics(result, command);
}

/** `--dataset` is a name or a path; a file of that name can be given as ./name. */
function deriveDataset({ values, given, problems }: Values): void {
  const word = values['dataset'];
  delete values['dataset'];
  if (typeof word !== 'string') return;
  const name = word.replaceAll('-', '_');
  const names = OPTIONS['dataset-name']!.choices!;
  const asName = names.find((choice) => choice.replaceAll('-', '_') === name);
  if (asName !== undefined && !(word.includes('.') && existsSync(word))) {
    if (given.has('datasetName') && values['datasetName'] !== asName) {
      problems.push(
        `--dataset ${asName} and --dataset-name ${String(values['datasetName'])} are two data sets; give one`,
      );
    }
    const refused = OPTIONS['dataset-name']!.refusedChoices ?? {};
    if (Object.hasOwn(refused, asName)) problems.push(`--dataset: ${asName} is not there: ${refused[asName]}`);
    values['datasetName'] = asName;
    return;
  }
  if (given.has('datasetPath') && values['datasetPath'] !== word) {
    problems.push('--dataset and --dataset-path are two files; give one');
  }
  values['datasetPath'] = word;
  given.add('datasetPath');
  // Without a name the format is recognised, in bench serve too: there the default would be random, which reads no file.
  if (!given.has('datasetName')) values['datasetName'] = null;
}

/** `--input-len` and `--output-len` stand for the options of the single data sets, and win over them, as in vLLM. */
function deriveLengths({ values }: Values): void {
  const input = values['inputLen'];
  const output = values['outputLen'];
  if (input !== null && input !== undefined) {
    values['randomInputLen'] = input;
    values['sonnetInputLen'] = input;
  }
  if (output === null || output === undefined) return;
  for (const set of ['random', 'sonnet', 'sharegpt', 'custom', 'hf', 'specBench', 'prefixRepetition']) {
    values[`${set}OutputLen`] = output;
  }
}

function deriveServer({ values, problems }: Values, form: Form): void {
  const host = String(values['host']);
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const given = values['baseUrl'];
  let base = typeof given === 'string' ? given : `http://${bracketed}:${String(values['port'])}`;
  // vLLM joins address and endpoint as they are; a slash too many is a path that TabbyAPI does not know.
  if (form !== 'bench') base = base.replace(/\/+$/, '');
  if (typeof given === 'string' || !URL.canParse(base)) problems.push(...urlProblems(base, typeof given === 'string'));
  values['baseUrl'] = base;
  if (typeof values['endpoint'] !== 'string') {
    values['endpoint'] = values['backend'] === 'openai-chat' ? '/v1/chat/completions' : '/v1/completions';
  }
}

function urlProblems(base: string, given: boolean): string[] {
  const option = given ? '--base-url' : '--host';
  if (!URL.canParse(base)) return [`${option}: not an address such as http://127.0.0.1:5000`];
  const url = new URL(base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return [`${option}: not an address that begins with http:// or https://, such as http://127.0.0.1:5000`];
  }
  if (url.username !== '' || url.password !== '') {
    return [`${option}: holds a user name or password; give --header Authorization=... or the key by TABBY_API_KEY`];
  }
  if (url.search !== '' || url.hash !== '') return [`${option}: must not hold ? or #; the endpoint is appended to it`];
  return [];
}

function deriveRequests({ values, given, warnings }: Values, env: Environment, form: Form): void {
  const name = values['datasetName'];
  // vLLM's rule: generated prompts have no natural end, and a trace says how long each answer was.
  if (name === 'random' || name === 'timed_trace') values['ignoreEos'] = true;
  if (name === 'timed_trace') values['selfTimed'] ??= true;
  const forceLen = env['TABBY_FORCE_LEN']?.trim() ?? '';
  if (!['', '0', '1'].includes(forceLen)) warnings.push(`TABBY_FORCE_LEN is neither 0 nor 1: it is not looked at`);
  if (forceLen === '0' && !given.has('forceLength')) values['forceLength'] = false;
  values['stream'] = !(form !== 'bench' && values['noStream'] === true);
  values['requestIdPrefix'] ??= `bench-${randomBytes(4).toString('hex')}-`;
  if (values['saveDetailed'] === true) values['keepText'] = true;
  if (values['disableTqdm'] === true || values['quiet'] === true) values['ui'] = 'none';
}

const METRICS = ['ttft', 'tpot', 'itl', 'e2el', 'client_queue_time', 'e2el_including_client_queue'];

function warnAboutMetrics({ values, warnings }: Values, command: CommandName): void {
  const unknown = ((values['percentileMetrics'] ?? []) as string[]).filter((metric) => !METRICS.includes(metric));
  // A report says it among its findings.
  if (unknown.length > 0 && command !== 'report') {
    warnings.push(
      `--percentile-metrics: no such metric, left out: ${unknown.map((metric) => JSON.stringify(metric)).join(', ')}`,
    );
  }
  // A sweep saves every result.
  const isSaved =
    command === 'sweep' || values['saveResult'] === true || values['appendResult'] === true || values['json'] !== null;
  if (values['saveDetailed'] === true && !isSaved) {
    warnings.push('--save-detailed has no effect on a file without --save-result, --append-result or --json');
  }
}
