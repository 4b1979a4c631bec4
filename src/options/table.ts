/**
 * The one table of options, put together from its parts, and the types of what the program gets.
 * Types: {@link RunOptions}, {@link SweepOptions}, {@link ReportOptions}, {@link SamplesOptions}, {@link MockOptions}, {@link OverheadOptions}.
 */
import type { CommandName, Form, OptionSpec, OptionsOf, OptionTable } from './spec.ts';
import { COMPARE_OPTIONS } from './table-compare.ts';
import { DATA_OPTIONS } from './table-data.ts';
import { HOST_OPTIONS } from './table-host.ts';
import { HTML_OPTIONS } from './table-html.ts';
import { LENGTH_OPTIONS } from './table-lengths.ts';
import { LIMIT_OPTIONS } from './table-limits.ts';
import { LOAD_OPTIONS } from './table-load.ts';
import { MOCK_OPTIONS } from './table-mock.ts';
import { OVERHEAD_OPTIONS } from './table-overhead.ts';
import { REQUEST_OPTIONS } from './table-requests.ts';
import { RESULT_OPTIONS } from './table-results.ts';
import { SERVER_OPTIONS } from './table-server.ts';
import { NOT_IN_SWEEPS, SWEEP_OPTIONS } from './table-sweep.ts';

const TABLE = {
  ...SERVER_OPTIONS,
  ...HOST_OPTIONS,
  ...SWEEP_OPTIONS,
  ...LOAD_OPTIONS,
  ...DATA_OPTIONS,
  ...LENGTH_OPTIONS,
  ...REQUEST_OPTIONS,
  ...RESULT_OPTIONS,
  ...HTML_OPTIONS,
  ...LIMIT_OPTIONS,
  ...MOCK_OPTIONS,
  ...COMPARE_OPTIONS,
  ...OVERHEAD_OPTIONS,
} as const satisfies OptionTable;

/** Every option by its name in dash form, in the order of `--help`. */
export const OPTIONS: Readonly<Record<string, OptionSpec>> = TABLE;

/** What every command knows about how it was called. */
interface CallFacts {
  /** Whose defaults hold: `bench` for `bench serve`. */
  readonly form: Form;
  /** camelCase names of the options that were given (command line, --config or environment), as opposed to defaults. */
  readonly given: ReadonlySet<string>;
  /** Remarks on the options for the user: lines to be printed before the run. */
  readonly warnings: readonly string[];
  /** The words of the command line as they were typed, without secrets. */
  readonly typed: readonly string[];
}

/** What `run` and `samples` work out from several options. */
interface ServerFacts {
  /** Address of the server, always set; the endpoint is appended to it. */
  readonly baseUrl: string;
  /** Path of the API, always set. */
  readonly endpoint: string;
  /** Ask for streams? */
  readonly stream: boolean;
  /** `--request-id-prefix`, always set: the default is drawn anew for each call. */
  readonly requestIdPrefix: string;
}

type Base<C extends CommandName> = Omit<OptionsOf<typeof TABLE, C>, 'dataset' | keyof ServerFacts>;

/** Options of `tabby-load [run]` and `tabby-load bench serve`. `--dataset` is resolved into datasetName and datasetPath. */
export type RunOptions = Base<'run'> & CallFacts & ServerFacts;

type NotInSweeps = (typeof NOT_IN_SWEEPS)[number];

/** Options of `tabby-load sweep`: its own, and those of a run that it does not set by itself. */
export type SweepOptions = Omit<RunOptions, keyof OptionsOf<Pick<typeof TABLE, NotInSweeps>, 'run'>> &
  OptionsOf<typeof TABLE, 'sweep'>;

/** Options of `tabby-load samples`: every field is one of {@link RunOptions} too. */
export type SamplesOptions = Base<'samples'> & CallFacts & ServerFacts;

/** Options of `tabby-load report`. Those not in `given` yield to what the record files say. */
export type ReportOptions = OptionsOf<typeof TABLE, 'report'> & CallFacts & { readonly files: readonly string[] };

/** Options of `tabby-load compare`; the first file is the one to compare with. */
export type CompareOptions = OptionsOf<typeof TABLE, 'compare'> & CallFacts & { readonly files: readonly string[] };

/** Options of `tabby-load mock`. */
export type MockOptions = OptionsOf<typeof TABLE, 'mock'> & CallFacts;

/** Options of `tabby-load overhead`. */
export type OverheadOptions = OptionsOf<typeof TABLE, 'overhead'> & CallFacts;

/** The options that a command takes, refused ones included; `sweep` takes those of a run, but for {@link NOT_IN_SWEEPS}. */
export function optionsOf(command: CommandName): [name: string, spec: OptionSpec][] {
  return Object.entries(OPTIONS).filter(
    ([name, spec]) =>
      spec.commands.includes(command) ||
      (command === 'sweep' && spec.commands.includes('run') && !(NOT_IN_SWEEPS as readonly string[]).includes(name)),
  );
}

/** Default of an option under a form. */
export function defaultOf(spec: OptionSpec, form: Form): unknown {
  if (spec.defaults !== undefined && Object.hasOwn(spec.defaults, form)) return spec.defaults[form];
  return form === 'sweep' ? defaultOf(spec, 'run') : spec.default;
}

/**
 * Options of vLLM's Rust client (`vllm-rs bench serve`) whose feature is not here, with the reason. Those that are here stand in
 * the table under the same name.
 */
export const NOT_HERE: Readonly<Record<string, string>> = {
  'prompt-token-ids': 'prompts are sent as text: TabbyAPI takes no token ids',
  'per-turn-input-len': 'multi-turn runs are not in this version',
  'multi-turn': 'multi-turn runs are not in this version',
  'multi-turn-num-turns': 'multi-turn runs are not in this version',
  'multi-turn-min-turns': 'multi-turn runs are not in this version',
  'multi-turn-max-turns': 'multi-turn runs are not in this version',
  'multi-turn-concurrency': 'multi-turn runs are not in this version',
  'multi-turn-delay-ms': 'multi-turn runs are not in this version',
  'multi-turn-prefix-global-ratio': 'multi-turn runs are not in this version',
  'multi-turn-prefix-conversation-ratio': 'multi-turn runs are not in this version',
  'random-cache-hit-fraction':
    'the cached share of random prompts cannot be set in this version; --random-prefix-len shares a prefix',
  'random-cache-ratio':
    'the cached share of random prompts cannot be set in this version; --random-prefix-len shares a prefix',
  'max-model-len': 'requests are not filtered by the context length in this version',
  'speed-bench-max-input-len': 'prompts are not cut in this version; choose a shorter --speed-bench-dataset-subset',
  'hf-text-column': 'the column is found by the rules of the data set',
  'profile-batch-threshold': "vLLM's profiler is not switched from here",
  'profile-duration': "vLLM's profiler is not switched from here",
  compare: 'results are compared by a command of its own: tabby-load compare A B',
  'sweep-max-concurrency': 'a sweep is a command of its own here: tabby-load sweep --concurrency 1,2,4,8',
  'sweep-request-rate': 'a sweep is a command of its own here: tabby-load sweep --request-rate 1,2,4',
  'sweep-num-prompts-factor': 'it is --requests-per-level of "tabby-load sweep", as in --requests-per-level 4x',
  'sweep-summary-percentiles': 'a sweep ("tabby-load sweep") tells p90, p95 and p99 of each level',
  'reset-prefix-cache': 'it needs a development mode of vLLM; --unique-prompts keeps the cache out',
};
