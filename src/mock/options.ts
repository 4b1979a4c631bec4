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
  /** Between two SSE comments, counted from the start of the response; 0: none. */
  readonly pingIntervalMs: number;
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
  pingIntervalMs: 15_000,
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

/** Field, its flag on the command line (options/table-mock.ts has them all), and its range. */
const RANGES: readonly (readonly [field: keyof MockOptions, flag: string, low: number, high: number])[] = [
  ['port', 'port', 0, 65535],
  ['ttftMs', 'ttft', 0, 3_600_000],
  ['itlMs', 'itl', 0, 3_600_000],
  ['jitter', 'jitter', 0, 1],
  ['tokens', 'tokens', 0, 1e9],
  ['reasoningShare', 'reasoning', 0, 1],
  ['mergeTokens', 'merge-tokens', 1, 4096],
  ['draftTokens', 'draft-tokens', 0, 64],
  ['slots', 'slots', 1, 1e6],
  ['cacheSize', 'cache-size', 256, 1e12],
  ['maxSeqLen', 'max-seq-len', 256, 1e12],
  ['chunkSize', 'chunk-size', 256, 1e9],
  ['pingIntervalMs', 'ping-interval', 0, 86_400_000],
  ['keepAliveMs', 'keep-alive', 0, 86_400_000],
  ['faultAt', 'fault-at', 0, 1e9],
  ['hold', 'hold', 0, 1e6],
  ['seed', 'seed', 0, 2 ** 32 - 1],
];

/** Defaults filled in and ranges checked; a wrong value is a usage error that names the flag. */
export function resolveMockOptions(given: Partial<MockOptions>): MockOptions {
  const options: MockOptions = { ...MOCK_DEFAULTS, ...given };
  for (const [field, flag, low, high] of RANGES) {
    const value = options[field];
    if (typeof value !== 'number' || !(value >= low && value <= high)) {
      throw usageError(`--${flag} must be a number from ${low} to ${high}, not ${String(value)}.`);
    }
  }
  return options;
}
