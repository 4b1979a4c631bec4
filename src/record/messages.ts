/**
 * Everything that crosses threads. Work goes out once, in shared memory that no worker copies; encoded records, histograms and
 * health figures come back a few times a second. Counters and the stop flag are shared memory too: no message per event.
 */
import type { MessagePort } from 'node:worker_threads';

/** Int32 cells of the shared control block. */
export const CONTROL = {
  /** Index of the next sample to be started by whichever slot is free. */
  cursor: 0,
  /** One of {@link STOP}. */
  stop: 1,
  /** Requests in flight over all workers. */
  inFlight: 2,
  /** Highest number in flight that was seen. */
  maxInFlight: 3,
  /** Requests that ended well. */
  completed: 4,
  /** Requests that ended otherwise. */
  failed: 5,
  /** 1: a worker that sees signs of the server's absence stops the sending by itself (see {@link STOP.pause}). */
  mayPause: 6,
  /**
   * When the server was last found to be without a model or gone, ms since the start of the run; 0 = never. What was under way then gets
   * no more tokens.
   */
  absentMs: 7,
  /** So many failures end the run (`--max-errors`): no worker sends any more then, before the coordinator has heard of it. 0 = no limit. */
  mostFailed: 8,
  /** Failures that count for it: what we gave up ourselves does not. */
  spoilt: 9,
  cells: 10,
} as const;

/** Values of the stop cell. */
export const STOP = {
  /** Go on. */
  run: 0,
  /** Start no more requests; those in flight may end. */
  drain: 1,
  /** Give up what is in flight. */
  abort: 2,
  /** Start no requests until it is {@link STOP.run} again: the server may be gone. */
  pause: 3,
} as const;

/** Float64 cells of one worker's progress block. The worker writes, the coordinator reads. */
export const PROGRESS = {
  /** Token frames seen so far, requests in flight included. */
  tokenFrames: 0,
  /** Request that the worker has in hand but has given to no slot yet, plus 1; 0 = none. */
  inHand: 1,
  /** Of the streams under way: how many have a token, their times to it in all (ms), their gaps, and the time of those in all (ms). */
  firstTokens: 2,
  ttftMs: 3,
  gaps: 4,
  gapsMs: 5,
  /** Token frames of requests that have ended. */
  framesOfEnded: 6,
  /** Only where {@link WorkOrder.live} is set. Delays of the event loop (ms) and the share of time that it was busy, so far. */
  loopMaxMs: 7,
  loopP99Ms: 8,
  utilisation: 9,
  /** When these were written, ms on the run's clock. */
  writtenMs: 10,
  cells: 11,
} as const;

/** How long to wait for what, in ms; 0 = no limit. */
export interface Timeouts {
  readonly connectMs: number;
  /** Send to first token frame. */
  readonly firstTokenMs: number;
  /** Between events that are not pings, after the first token. */
  readonly tokenMs: number;
  /** Send to end. */
  readonly requestMs: number;
}

/** An HTTP proxy on the way. */
export interface ProxyPlace {
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`; null when the address holds no user. */
  readonly authorization: string | null;
  /** Its address without user and password, to be shown. */
  readonly shown: string;
  /** Option or variable that named it. */
  readonly source: string;
}

/** Where and how requests are sent. */
export interface Target {
  /** `http://127.0.0.1:5000`, without path. */
  readonly origin: string;
  /** Path and query; through a proxy for plain HTTP the whole address. */
  readonly path: string;
  /** Headers of every request, names and values in turns; the request id comes on top. */
  readonly headers: readonly string[];
  /** Unix socket to connect to in place of the origin's host. */
  readonly unixSocket: string | null;
  readonly proxy: ProxyPlace | null;
  /** No verification of the server's certificate. */
  readonly isInsecure: boolean;
  readonly form: 'chat' | 'completions';
  /** Answers come whole, as one JSON body, instead of a stream. */
  readonly isWhole: boolean;
  /** TabbyAPI's rule for a complete answer: a finish reason for every choice and `[DONE]`. Elsewhere one of them is enough. */
  readonly needsFinishAndDone: boolean;
  /** Choices per request (`n`). */
  readonly choices: number;
  readonly maxEventBytes: number;
  /** Keep the generated text: always, never, or until the server has shown that it tells usage. */
  readonly keepText: 'always' | 'never' | 'until-usage';
  /** How often a request is sent again after a 429 or 503 (`--retries`). */
  readonly retries: number;
  /** Keys and passwords, which a server may repeat in its words: they are cut out of records. */
  readonly secrets: readonly string[];
}

/** The requests of a run in shared memory. */
export interface SharedWork {
  readonly count: number;
  /** All bodies, one after another. */
  readonly bodies: SharedArrayBuffer;
  /** Float64: where body i begins; count + 1 entries. */
  readonly offsets: SharedArrayBuffer;
  /** Float64: planned start of request i, ms after the start of the run. */
  readonly plannedMs: SharedArrayBuffer;
  /** Float64: prompt tokens by the client's count, and output tokens asked for, in turns. */
  readonly lengths: SharedArrayBuffer;
  /** UTF-8: request ids and categories in turns, one after another; empty when there are none. */
  readonly labels: SharedArrayBuffer;
  /** Float64: where label k begins; 2 × count + 1 entries. */
  readonly labelOffsets: SharedArrayBuffer;
}

/** Who has which request; see `transport/claims.ts`. */
export interface SharedClaims {
  /** Int32 per request. */
  readonly cells: SharedArrayBuffer;
  /** Float64 per request: when it was handed to its socket, ms. */
  readonly startMs: SharedArrayBuffer;
}

/** What a worker is told when it is started. One long task per worker. */
export interface WorkOrder {
  readonly worker: number;
  readonly slots: number;
  /** Open loop without a bound on concurrency: slots are added when all are busy. */
  readonly canGrow: boolean;
  readonly target: Target;
  readonly timeouts: Timeouts;
  readonly work: SharedWork;
  readonly control: SharedArrayBuffer;
  readonly progress: SharedArrayBuffer;
  /** Latencies so far (`live-counts.ts`); null when nobody looks at them. */
  readonly live: SharedArrayBuffer | null;
  readonly claims: SharedClaims;
  /** A request that a lost worker had in hand and had not sent; −1 = none. */
  readonly firstIndex: number;
  /** Stop sending at signs that the server is gone, until the coordinator says that it is back (`--reconnect-wait`). */
  readonly pausesWhenGone: boolean;
  /** Shift from the run's clock to the system's monotonic clock, ms. */
  readonly clockOffsetMs: number;
  readonly port: MessagePort;
}

/** What the coordinator tells a worker. */
export type CoordinatorMessage = { readonly type: 'start'; readonly startMs: number };

/** Figures of one worker for the health block. Times in ms. */
export interface WorkerHealth {
  readonly worker: number;
  readonly slots: number;
  readonly requests: number;
  readonly tokenFrames: number;
  readonly mergedFrames: number;
  readonly reads: number;
  readonly connectionsOpened: number;
  readonly connectMs: { readonly count: number; readonly mean: number; readonly max: number };
  /** Those of them that a request had to wait for, after the clock had started. */
  readonly connectInRunMs: { readonly count: number; readonly mean: number; readonly max: number };
  readonly staleReconnects: number;
  /**
   * How long something that becomes due at a random moment waits for the event loop: probes at equal distances, those that fell
   * into a block included. `maxAtMs`: when the longest delay ended, after the start; `maxCpu`: CPU time of the process in it, as a share;
   * `blocks`: delays of 50 ms and more.
   */
  readonly loopDelayMs: {
    readonly mean: number;
    readonly p99: number;
    readonly max: number;
    readonly maxAtMs: number;
    readonly maxCpu: number;
    readonly blocks: number;
  };
  /** Share of time the loop was busy, 0..1. */
  readonly utilisation: number;
  readonly gcMs: { readonly count: number; readonly total: number; readonly max: number };
  /** Sent later than planned. */
  readonly sendLatenessMs: {
    readonly count: number;
    readonly mean: number;
    readonly p99: number;
    readonly max: number;
  };
  /** CPU time of the thread in the run, where Node tells it (24 and newer). */
  readonly cpuMs: number | null;
}

/** What a worker tells the coordinator. */
export type WorkerMessage =
  | {
      readonly type: 'ready';
      readonly worker: number;
      readonly failedConnections: number;
      readonly connectError: string | null;
    }
  /** Where records that were not shipped yet lie, to be looked into should the thread die. */
  | { readonly type: 'outbox'; readonly memory: SharedArrayBuffer }
  /** Encoded request records, one after another. */
  | { readonly type: 'records'; readonly worker: number; readonly bytes: Uint8Array; readonly lastEndMs: number }
  | { readonly type: 'end'; readonly worker: number; readonly health: WorkerHealth; readonly histograms: Uint8Array };
