/**
 * The shape of one row of the options table, and what TypeScript infers from it. The table is the only place where an option's
 * name, type, default, range and help text stand; the parser, `--help`, the README section and the types all come from it.
 */

/** Commands that take options. `run` is also `bench serve`. */
export type CommandName = 'run' | 'sweep' | 'report' | 'compare' | 'samples' | 'mock' | 'overhead';

/**
 * Whose defaults hold. `bench` is `tabby-load bench serve`: vLLM's. All other commands use TabbyAPI's world where the two differ.
 */
export type Form = 'run' | 'bench' | 'sweep' | 'report' | 'compare' | 'samples' | 'mock' | 'overhead';

/** Headings of `--help`, in order. */
export const GROUPS = {
  server: 'Server',
  sweep: 'Levels of a sweep',
  load: 'Load',
  arrivals: 'Arrival times (open loop)',
  data: 'Data set',
  lengths: 'Data set details',
  requests: 'Requests',
  sampling: 'Sampling parameters (sent only when given)',
  limits: 'Timeouts and limits',
  metrics: 'Metrics',
  files: 'Results and files',
  terminal: 'Terminal',
  answers: 'Answers of the built-in server',
  faults: 'Faults of the built-in server',
  compare: 'Comparison',
  overhead: 'Self-benchmark',
} as const;

/** Key of a heading in {@link GROUPS}. */
export type GroupId = keyof typeof GROUPS;

/**
 * How the words after an option become a value:
 * `boolean` flag · `int` and `float` as Python's · `count` 20M · `share` 5% · `duration` 1m30s → ms, `off` → null · `size` 16MB → bytes ·
 * `string` · `choice` · `json` object · `csv` and `csv-numbers` comma lists · `words` list of words · `pairs` list of KEY=VALUE,
 * `ordered-pairs` the same where the order counts, kept as words ·
 * `slo` list of METRIC:MS · `limits` list of "METRIC STAT < VALUE" · `range-ratio` a number or JSON {input, output}.
 */
export type OptionType =
  | 'boolean'
  | 'int'
  | 'float'
  | 'count'
  | 'share'
  | 'duration'
  | 'size'
  | 'string'
  | 'choice'
  | 'json'
  | 'csv'
  | 'csv-numbers'
  | 'words'
  | 'pairs'
  | 'ordered-pairs'
  | 'slo'
  | 'limits'
  | 'range-ratio';

/** One row of the table; its key is the option's name in dash form. */
export interface OptionSpec {
  readonly type: OptionType;
  readonly group: GroupId;
  /** Commands that take it. */
  readonly commands: readonly CommandName[];
  /** vLLM's default, which `bench serve` uses; null = not set. Durations in ms, sizes in bytes. */
  readonly default: unknown;
  /** Default where it is another one, by form. */
  readonly defaults?: Readonly<Partial<Record<Form, unknown>>>;
  /** One or two sentences, without the default and the unit: those are added. */
  readonly help: string;
  /** Help text where a form means something else by the option. */
  readonly helpFor?: Readonly<Partial<Record<Form, string>>>;
  /** Where the default is not a plain value: its description. */
  readonly defaultText?: string;
  /** Placeholder of the value in `--help`. */
  readonly metavar?: string;
  /** Other names, dash form. */
  readonly aliases?: readonly string[];
  readonly choices?: readonly string[];
  /** Choices that are known but not served, with the reason. */
  readonly refusedChoices?: Readonly<Record<string, string>>;
  /** Smallest and largest allowed value (inclusive). */
  readonly min?: number;
  readonly max?: number;
  /** The value must be greater than this. */
  readonly above?: number;
  /** `inf` is allowed. */
  readonly infinite?: true;
  /** Words for the unit of a bare number, shown in `--help`. */
  readonly unit?: string;
  /** Durations: unit of a bare number (default s). */
  readonly bareUnit?: 'ms' | 's';
  /** Durations: `off` is allowed, and is null. */
  readonly off?: true;
  /** Lists: at least one word must follow. */
  readonly nonEmpty?: true;
  /** `--no-NAME` exists too. */
  readonly negatable?: true;
  /** A flag of `vllm bench serve` 0.30.0. */
  readonly vllm?: true;
  /** Known, but not there: why, in one line. Such options never reach the program. */
  readonly refused?: string;
  /** Says only where results go or what the terminal shows: no part of what was measured, so not in records and results. */
  readonly place?: true;
  /** A place that may be stdout, written as `-`. */
  readonly stdout?: true;
  /** The value is never printed or saved. */
  readonly secret?: true;
  /** Environment variables that give the value, in order of precedence. */
  readonly env?: readonly string[];
}

/** A table of options, or a part of one. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** Input and output share of `--random-range-ratio`. */
export interface RangeRatio {
  readonly input: number;
  readonly output: number;
}

/** Limits in milliseconds by metric name, in the order given. */
export type GoodputLimits = Readonly<Partial<Record<'ttft' | 'tpot' | 'e2el', number>>>;

interface TypeMap {
  boolean: boolean;
  int: number;
  float: number;
  count: number;
  share: number;
  duration: number;
  size: number;
  string: string;
  json: Readonly<Record<string, unknown>>;
  csv: readonly string[];
  'csv-numbers': readonly number[];
  words: readonly string[];
  pairs: Readonly<Record<string, string>>;
  'ordered-pairs': readonly string[];
  slo: GoodputLimits;
  'range-ratio': RangeRatio;
}

type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;

/** Name of an option in the resolved options: camelCase, durations with `Ms`, sizes with `Bytes` at the end. */
export type KeyOf<N extends string, S extends OptionSpec> = S['type'] extends 'duration'
  ? `${Camel<N>}Ms`
  : S['type'] extends 'size'
    ? `${Camel<N>}Bytes`
    : Camel<N>;

type BaseValue<S extends OptionSpec> = S extends { readonly type: 'choice'; readonly choices: readonly (infer C)[] }
  ? C
  : S['type'] extends keyof TypeMap
    ? TypeMap[S['type']]
    : never;

type DefaultsOf<S extends OptionSpec> =
  | S['default']
  | (S extends { readonly defaults: infer D } ? D[keyof D] : never)
  | (S extends { readonly off: true } ? null : never);

/** Type of an option's value: null is part of it when a default is null or the option can be `off`. */
export type ValueOf<S extends OptionSpec> = BaseValue<S> | (null extends DefaultsOf<S> ? null : never);

/** All options of a table that a command takes, as the program sees them. */
export type OptionsOf<T extends OptionTable, C extends CommandName> = {
  readonly [N in keyof T & string as T[N] extends { readonly refused: string }
    ? never
    : C extends T[N]['commands'][number]
      ? KeyOf<N, T[N]>
      : never]: ValueOf<T[N]>;
};

/** Runtime twin of {@link KeyOf}. */
export function keyOf(name: string, spec: Pick<OptionSpec, 'type'>): string {
  const camel = name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return `${camel}${spec.type === 'duration' ? 'Ms' : spec.type === 'size' ? 'Bytes' : ''}`;
}
