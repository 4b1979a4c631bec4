/**
 * The options of the built-in server: the type, the defaults, the ranges. The command line's names and help stand in
 * options/table-mock.ts; commands/mock.ts joins the two. Times are milliseconds, shares and rates are 0..1.
 */
import { usageError } from '../errors.ts';

/** A kind of misbehaviour and how often it happens (`--fault kind:rate`). */
export interface FaultRate {
  /** One of the names in faults.ts. */
  readonly kind: string;
  /** Share of the completion requests that get it, 0..1. */
  readonly rate: number;
}

/** Everything that can be set on the built-in server. */
export interface MockOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Key of the API endpoints; '' switches authentication off (everyone is admin, as with `disable_auth`). */
  readonly apiKey: string;
  /** Key of the admin endpoints; '' with an API key set: nobody is admin. */
  readonly adminKey: string;
  /** Name of the model it claims to serve. */
  readonly model: string;
  /** Start with no model loaded. */
  readonly noModel: boolean;
  /** Start of prefill to first token. */
  readonly ttftMs: number;
  /** Between two steps of a running job. */
  readonly itlMs: number;
  /** Seeded spread of ttft and itl: each is multiplied by 1 ± jitter. */
  readonly jitter: number;
  /** Visible tokens until the model ends by itself; 0: it never does. */
  readonly tokens: number;
  /** Share of the tokens that is reasoning. */
  readonly reasoningShare: number;
  /** Does the server parse reasoning (`reasoning: true`), or pass the tags on as content? */
  readonly reasoningParsed: boolean;
  /** All streams emit in the same instant, on a global step of `itlMs`. */
  readonly lockstep: boolean;
  /** Tokens per frame; the token rate stays the same. */
  readonly mergeTokens: number;
  /** Tokens the draft model proposes per step; 0: no draft model. */
  readonly draftTokens: number;
  /** `max_batch_size`: jobs that run at once; others queue in order. */
  readonly slots: number;
  /** `cache_size` in tokens; limits the running jobs together with `slots`. */
  readonly cacheSize: number;
  readonly maxSeqLen: number;
  readonly chunkSize: number;
  /** Seconds between two SSE comments, counted from the start of the response; 0: none. */
  readonly pingIntervalS: number;
  readonly lineEnd: 'crlf' | 'lf' | 'auto';
  readonly style: 'tabbyapi' | 'openai';
  /** Idle time after which a kept connection is closed; 0: never. */
  readonly keepAliveMs: number;
  /** Newer TabbyAPI: cached and accepted tokens in usage. */
  readonly usageDetails: boolean;
  /** `developer.disable_request_streaming`: every answer is one JSON body. */
  readonly noStreaming: boolean;
  /** Usage as exllamav3 tells it after a requeue (wrong for outputs longer than about `chunkSize`). */
  readonly requeueUsage: boolean;
  readonly faults: readonly FaultRate[];
  /** Token frames before a fault in mid-stream strikes. */
  readonly faultAt: number;
  /** Hold all answers until this many completion requests have been seen. */
  readonly hold: number;
  /** Keep the time of arrival and of each frame written, for `/__truth`. */
  readonly stamp: boolean;
  /** Keep the request ids and count repeated prompts, for `/__stats?ids=1`. */
  readonly trackIds: boolean;
  readonly seed: number;
  /** Wait below a millisecond with a blocking wait instead of Node's timers; for a process of its own only. */
  readonly precise: boolean;
  /** One line per request through the `log` hook. */
  readonly verbose: boolean;
}

/** What applies where nothing is said. Large enough that the main job at concurrency 1,000 waits for nothing. */
export const MOCK_DEFAULTS: MockOptions = {
  host: '127.0.0.1',
  port: 5000,
  apiKey: '',
  adminKey: '',
  model: 'Mock-8B-exl3',
  noModel: false,
  ttftMs: 50,
  itlMs: 10,
  jitter: 0,
  tokens: 200,
  reasoningShare: 0,
  reasoningParsed: true,
  lockstep: false,
  mergeTokens: 1,
  draftTokens: 0,
  slots: 4096,
  cacheSize: 16_777_216,
  maxSeqLen: 131_072,
  chunkSize: 2048,
  pingIntervalS: 15,
  lineEnd: 'auto',
  style: 'tabbyapi',
  keepAliveMs: 5000,
  usageDetails: false,
  noStreaming: false,
  requeueUsage: true,
  faults: [],
  faultAt: 5,
  hold: 0,
  stamp: false,
  trackIds: false,
  seed: 0,
  precise: false,
  verbose: false,
};

/** The table of the options of `tabby-load mock`: what options/table-mock.ts is compared with. */
export interface MockOptionInfo {
  /** Flag without dashes. */
  readonly name: string;
  readonly field: keyof MockOptions;
  readonly type: 'string' | 'number' | 'boolean' | 'fault';
  readonly default: string | number | boolean | undefined;
  readonly unit: string;
  readonly help: string;
  /** Range of a number. */
  readonly range?: readonly [low: number, high: number];
}

type Row = readonly [name: string, field: keyof MockOptions, unit: string, help: string, low?: number, high?: number];

const ROWS: readonly Row[] = [
  ['host', 'host', '', 'address to listen on'],
  ['port', 'port', '', 'port to listen on; 0 takes any free one', 0, 65535],
  ['api-key', 'apiKey', '', 'key asked of every client; empty: no authentication'],
  ['admin-key', 'adminKey', '', 'key of the admin endpoints'],
  ['model', 'model', '', 'name of the model served'],
  ['no-model', 'noModel', '', 'start with no model loaded'],
  ['ttft', 'ttftMs', 'ms', 'time to the first token', 0, 3_600_000],
  ['itl', 'itlMs', 'ms', 'time between two tokens', 0, 3_600_000],
  ['jitter', 'jitter', '0..1', 'seeded spread of both times', 0, 1],
  ['tokens', 'tokens', 'tokens', 'length at which the model ends by itself; 0: never', 0, 1e9],
  ['reasoning', 'reasoningShare', '0..1', 'share of the tokens that is reasoning', 0, 1],
  ['reasoning-parsed', 'reasoningParsed', '', 'send reasoning as reasoning_content, not as tags in the content'],
  ['lockstep', 'lockstep', '', 'all streams emit in the same instant, as a batching engine does'],
  ['merge-tokens', 'mergeTokens', 'tokens', 'tokens per frame at the same token rate', 1, 4096],
  ['draft-tokens', 'draftTokens', 'tokens', 'tokens that a draft model proposes per step', 0, 64],
  ['slots', 'slots', 'jobs', 'max_batch_size: jobs that run at once, others queue', 1, 1e6],
  ['cache-size', 'cacheSize', 'tokens', 'cache_size; pages of 256 tokens limit the running jobs', 256, 1e12],
  ['max-seq-len', 'maxSeqLen', 'tokens', 'context length', 256, 1e12],
  ['chunk-size', 'chunkSize', 'tokens', 'chunk_size', 256, 1e9],
  ['ping-interval', 'pingIntervalS', 's', 'time between two SSE pings; 0: none', 0, 86_400],
  ['line-end', 'lineEnd', '', 'line ends of the event stream (auto: crlf for tabbyapi, lf for openai)'],
  ['style', 'style', '', 'whose wire format to speak'],
  ['keep-alive', 'keepAliveMs', 'ms', 'idle time after which a connection is closed; 0: never', 0, 86_400_000],
  ['usage-details', 'usageDetails', '', 'tell cached and accepted draft tokens in usage, as newer TabbyAPI does'],
  ['no-streaming', 'noStreaming', '', 'answer streaming requests with one JSON body'],
  ['requeue-usage', 'requeueUsage', '', 'distort usage of long outputs as exllamav3 does'],
  ['fault', 'faults', 'kind:rate', 'misbehave at this rate; may be repeated'],
  ['fault-at', 'faultAt', 'tokens', 'token frames before a fault in mid-stream', 0, 1e9],
  ['hold', 'hold', 'requests', 'hold all answers until this many requests have been seen', 0, 1e6],
  ['stamp', 'stamp', '', 'keep the true time of each frame for /__truth'],
  ['track-ids', 'trackIds', '', 'keep request ids and count repeated prompts for /__stats?ids=1'],
  ['seed', 'seed', '', 'seed of texts, jitter and faults', 0, 2 ** 32 - 1],
  ['verbose', 'verbose', '', 'log one line per request on stderr'],
];

/** All options of the server with their flags, in the order of the help. */
export const MOCK_OPTION_LIST: readonly MockOptionInfo[] = ROWS.map(([name, field, unit, help, low, high]) => {
  const value = MOCK_DEFAULTS[field];
  const base = {
    name,
    field,
    unit,
    help,
    ...(low === undefined || high === undefined ? {} : { range: [low, high] as const }),
  };
  if (typeof value === 'object') return { ...base, type: 'fault', default: undefined };
  return { ...base, type: typeof value as 'string' | 'number' | 'boolean', default: value };
});

/** Defaults filled in and ranges checked; a wrong value is a usage error that names the flag. */
export function resolveMockOptions(given: Partial<MockOptions>): MockOptions {
  const options: MockOptions = { ...MOCK_DEFAULTS, ...given };
  for (const { name, field, range } of MOCK_OPTION_LIST) {
    const value = options[field];
    if (range !== undefined && (typeof value !== 'number' || !(value >= range[0] && value <= range[1]))) {
      throw usageError(`--${name} must be a number from ${range[0]} to ${range[1]}, not ${String(value)}.`);
    }
  }
  return options;
}
