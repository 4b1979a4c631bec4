import { readLevelRequests, readLevels } from './sweep-levels.ts';

/** Rules between options: each function returns the mistakes it finds, one line each, in vLLM's sense where vLLM has the rule. */

/** The fields that the rules look at; all commands' options have a part of them. */
export interface Checked {
  readonly form: string;
  readonly given: ReadonlySet<string>;
  readonly backend?: string;
  readonly baseUrl?: string;
  readonly endpoint?: string | null;
  readonly datasetName?: string | null;
  readonly datasetPath?: string | null;
  readonly numPrompts?: number;
  readonly requestRate?: number;
  readonly rampUpStrategy?: string | null;
  readonly rampUpStartRps?: number | null;
  readonly rampUpEndRps?: number | null;
  readonly selfTimed?: boolean | null;
  readonly header?: Readonly<Record<string, string>> | null;
  readonly requestIdPrefix?: string;
  readonly gpuHost?: string | null;
  readonly plotTimeline?: boolean;
  readonly plotDatasetStats?: boolean;
  readonly saveResult?: boolean;
  readonly appendResult?: boolean;
  readonly timelineItlThresholds?: readonly number[];
  readonly customOutputLen?: number;
  readonly sweepMaxConcurrency?: readonly string[] | null;
  readonly sweepRequestRate?: readonly string[] | null;
  readonly requestsPerLevel?: string | null;
  readonly goodputTarget?: number | null;
  readonly goodput?: object | null;
  readonly resume?: string | null;
  readonly sweepDir?: string | null;
}

/** Data sets that are made, not read. */
const GENERATED = new Set(['random', 'prefix_repetition']);
/** Data sets that cannot do without a file. */
const NEED_FILE = new Set(['sharegpt', 'custom', 'sonnet', 'burstgpt', 'spec_bench', 'timed_trace', 'hf']);
/** Data sets that take all their rows for --num-prompts <= 0. */
const ALL_ROWS = new Set(['custom', 'spec_bench', 'speed_bench']);

/** All mistakes between the options of a command. */
export function validate(command: string, options: Checked): string[] {
  const rules =
    command === 'run'
      ? [rampRules, datasetRules, traceRules, serverRules, headerRules, plotRules]
      : command === 'samples'
        ? [datasetRules, traceRules, headerRules]
        : command === 'sweep'
          ? [datasetRules, serverRules, headerRules, sweepRules]
          : command === 'report'
            ? [plotRules]
            : [];
  return rules.flatMap((rule) => rule(options));
}

function sweepRules(o: Checked): string[] {
  const problems: string[] = [];
  const { sweepMaxConcurrency: streams = null, sweepRequestRate: rates = null } = o;
  if (streams === null && rates === null) {
    problems.push('which levels? Give --concurrency 1,2,4,8 or --concurrency auto (or --request-rate)');
  }
  if (streams !== null && rates !== null) {
    problems.push('--concurrency and --request-rate: one of them is varied; give only one');
  }
  const read = [
    ...(streams === null ? [] : [['--concurrency', readLevels(streams, 'concurrency')] as const]),
    ...(rates === null ? [] : [['--request-rate', readLevels(rates, 'request_rate')] as const]),
  ];
  for (const [option, levels] of read) if ('problem' in levels) problems.push(`${option}: ${levels.problem}`);
  if (typeof o.requestsPerLevel === 'string' && readLevelRequests(o.requestsPerLevel) === null) {
    problems.push(
      `--requests-per-level ${o.requestsPerLevel.slice(0, 40)}: a number such as 500, or a factor such as 4x`,
    );
  }
  if (typeof o.goodputTarget === 'number' && (o.goodput ?? null) === null) {
    problems.push('--goodput-target: good by what? Add --goodput, such as --goodput ttft:500 tpot:50');
  }
  if (o.given.has('maxLevel') && read.some(([, levels]) => 'levels' in levels && levels.levels !== 'auto')) {
    problems.push('--max-level bounds auto alone; the levels are given');
  }
  if (typeof o.resume === 'string' && typeof o.sweepDir === 'string') {
    problems.push('--resume and --sweep-dir: --resume names the folder already; leave --sweep-dir out');
  }
  if (o.datasetName === 'timed_trace')
    problems.push('--dataset timed_trace: a trace has its own times, which no sweep can vary');
  return problems;
}

function rampRules(o: Checked): string[] {
  if (o.rampUpStrategy === null || o.rampUpStrategy === undefined) {
    const lost = ['rampUpStartRps', 'rampUpEndRps'].some((key) => o.given.has(key));
    return lost ? ['--ramp-up-start-rps and --ramp-up-end-rps need --ramp-up-strategy linear or exponential'] : [];
  }
  const problems: string[] = [];
  const start = o.rampUpStartRps;
  const end = o.rampUpEndRps;
  if (o.requestRate !== Number.POSITIVE_INFINITY) {
    problems.push(
      '--ramp-up-strategy and --request-rate exclude each other: the ramp sets the rate; remove one of them',
    );
  }
  if (typeof start !== 'number' || typeof end !== 'number') {
    return [...problems, '--ramp-up-strategy needs both --ramp-up-start-rps and --ramp-up-end-rps'];
  }
  if (start < 0 || end < 0) problems.push('--ramp-up-start-rps and --ramp-up-end-rps must not be negative');
  else if (start > end)
    problems.push(`--ramp-up-start-rps ${start} is greater than --ramp-up-end-rps ${end}: a ramp goes up`);
  else if (start === 0 && o.rampUpStrategy === 'exponential') {
    problems.push('--ramp-up-start-rps 0: an exponential ramp cannot start at 0; use 1 or more');
  } else if (start === 0) {
    problems.push('--ramp-up-start-rps 0: the first request would never be due; use 1 or more');
  }
  return problems;
}

function datasetRules(o: Checked): string[] {
  const name = o.datasetName ?? null;
  const path = o.datasetPath ?? null;
  const problems: string[] = [];
  if (name === null && path === null) {
    problems.push('which prompts? Give --dataset FILE (ShareGPT, Spec-Bench, ...) or --dataset random');
  }
  if (name !== null && GENERATED.has(name) && path !== null) {
    problems.push(
      `--dataset-path: ${name} makes its prompts and reads no file; name the kind of your file by --dataset-name`,
    );
  }
  if (name !== null && NEED_FILE.has(name) && path === null)
    problems.push(`--dataset-path is needed for ${name}: --dataset FILE takes the file and finds out its kind`);
  const rows = o.numPrompts;
  if (rows !== undefined && rows < 1 && name !== null && !ALL_ROWS.has(name)) {
    problems.push(
      `--num-prompts ${rows}: at least 1 (0 takes all rows, but only of custom, spec_bench and speed_bench)`,
    );
  }
  if (o.customOutputLen === 0) problems.push('--custom-output-len 0: at least 1, or -1 for output_tokens of each row');
  return problems;
}

function traceRules(o: Checked): string[] {
  const problems: string[] = [];
  if (o.datasetName === 'timed_trace' && o.backend !== 'vllm' && o.backend !== 'openai') {
    problems.push('--dataset-name timed_trace needs a completions backend: --backend openai or vllm');
  }
  if (o.given.has('selfTimed') && o.datasetName !== 'timed_trace') {
    problems.push('--self-timed and --no-self-timed are only for --dataset-name timed_trace');
  }
  return problems;
}

function serverRules(o: Checked): string[] {
  const problems: string[] = [];
  if (o.gpuHost?.startsWith('-') === true) problems.push('--gpu-host: a host as ssh takes it, such as user@host');
  const suffix = o.backend === 'openai-chat' ? 'chat/completions' : 'completions';
  const url = `${o.baseUrl}${o.endpoint}`;
  if (!url.endsWith(suffix) && !url.endsWith('profile')) {
    const remedy = o.backend === 'openai-chat' ? '--endpoint /v1/chat/completions' : '--endpoint /v1/completions';
    problems.push(`--endpoint ${o.endpoint}: with --backend ${o.backend} it must end with ${suffix}; give ${remedy}`);
  }
  return problems;
}

/** Headers that belong to the connection (RFC 9110 §7.6.1) or are worked out for each request, and why they are not the user's. */
const OWN_HEADERS: Readonly<Record<string, string>> = {
  connection: 'connections are kept open and used again',
  'keep-alive': 'connections are kept open and used again',
  'proxy-connection': 'connections are kept open and used again',
  'content-length': 'it is the length of each request',
  'transfer-encoding': 'each request is sent whole',
  trailer: 'each request is sent whole',
  te: 'nothing but plain chunks is understood',
  upgrade: 'only HTTP/1.1 is spoken',
  expect: 'requests are sent at once',
};

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Header names and values as RFC 9110 §5 allows them. Values are not shown. */
function headerRules(o: Checked): string[] {
  const problems: string[] = [];
  if (/[^\x21-\x7e]/.test(o.requestIdPrefix ?? '')) {
    problems.push('--request-id-prefix: letters, digits and signs of ASCII only: it is sent in a header');
  }
  for (const [name, value] of Object.entries(o.header ?? {})) {
    const own = OWN_HEADERS[name.toLowerCase()];
    if (!TOKEN.test(name))
      problems.push(`--header: ${JSON.stringify(name.slice(0, 60))} cannot be the name of a header`);
    else if (own !== undefined) problems.push(`--header ${name}: cannot be set: ${own}`);
    else if (/[\r\n\0]/.test(value)) problems.push(`--header ${name}: the value holds a line break`);
    else if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      problems.push(`--header ${name}: the value holds a character that cannot be sent`);
  }
  return problems;
}

function plotRules(o: Checked): string[] {
  const problems: string[] = [];
  const saved = o.saveResult === true || o.appendResult === true || o.plotTimeline === true;
  if (o.plotDatasetStats === true && !saved) {
    problems.push('--plot-dataset-stats is written beside the result file: add --save-result');
  }
  if (o.plotTimeline === true && o.timelineItlThresholds?.length !== 2) {
    problems.push('--timeline-itl-thresholds: two numbers, such as 25,50');
  }
  return problems;
}
