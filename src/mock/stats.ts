/** Counts for `/__stats`, for the line at the end, and for tests to compare with. */
import { cpuTimeUs } from '../record/clock.ts';
import { LatenessHistogram, type LatenessSummary } from './histogram.ts';

/** What `/__stats` and `stats()` tell. */
export interface MockStatsSnapshot {
  /** Requests of any kind. */
  readonly requests: number;
  readonly requestsByPath: Readonly<Record<string, number>>;
  /** Answers by status (0: none was sent, by a fault or a client that left). */
  readonly responsesByStatus: Readonly<Record<string, number>>;
  /** Requests to /v1/completions and /v1/chat/completions that were well formed. */
  readonly completions: number;
  /** Completion requests answered to the end, aborted by the client, and hit by a fault. */
  readonly completed: number;
  readonly aborted: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Tokens made, the EOS tokens included, in all jobs, finished or not. */
  readonly tokensMade: number;
  /** Token frames sent. */
  readonly frames: number;
  /** Sum over all usage objects sent. */
  readonly usagePromptTokens: number;
  readonly usageCompletionTokens: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
  readonly runningJobs: number;
  readonly queuedJobs: number;
  readonly maxRunningJobs: number;
  readonly connections: number;
  readonly openConnections: number;
  readonly maxOpenConnections: number;
  readonly repeatedPrompts: number;
  /** Distinct request ids, and how many came more than once (with `trackIds`). */
  readonly requestIds: number;
  readonly repeatedRequestIds: number;
  /** Actual minus planned time of token frames. */
  readonly lateness: LatenessSummary;
  /** CPU time of the whole process so far. */
  readonly cpuUs: number;
}

const count = (map: Map<string, number>, key: string): void => {
  map.set(key, (map.get(key) ?? 0) + 1);
};

/** Keeps the counts. Plain fields on purpose: the hot path increments two of them. */
export class MockStats {
  completions = 0;
  private requests = 0;
  private readonly paths = new Map<string, number>();
  private readonly statuses = new Map<string, number>();
  private readonly faultCounts = new Map<string, number>();
  private readonly lateness = new LatenessHistogram();
  private tokensMade = 0;
  private frames = 0;
  private usagePrompt = 0;
  private usageCompletion = 0;
  private completed = 0;
  private aborted = 0;
  private inFlight = 0;
  private maxInFlight = 0;
  private maxRunning = 0;
  private connections = 0;
  private open = 0;
  private maxOpen = 0;
  private repeatedPrompts = 0;
  private repeatedIds = 0;
  readonly ids = new Set<string>();
  private readonly prompts = new Set<string>();

  token(tokens: number, lateMs: number): void {
    this.tokensMade += tokens;
    this.frames++;
    this.lateness.add(lateMs);
  }

  eosToken(): void {
    this.tokensMade++;
  }

  usage(prompt: number, completion: number): void {
    this.usagePrompt += prompt;
    this.usageCompletion += completion;
  }

  request(path: string): void {
    this.requests++;
    // Paths come from outside: the table must not grow without bound.
    count(this.paths, this.paths.size < 256 || this.paths.has(path) ? path : '(other)');
    this.inFlight++;
    if (this.inFlight > this.maxInFlight) this.maxInFlight = this.inFlight;
  }

  response(status: number): void {
    count(this.statuses, String(status));
  }

  requestOver(): void {
    this.inFlight--;
  }

  fault(kind: string): void {
    count(this.faultCounts, kind);
  }

  completionOver(outcome: 'completed' | 'aborted'): void {
    this[outcome]++;
  }

  runningJobs(running: number): void {
    if (running > this.maxRunning) this.maxRunning = running;
  }

  connectionOpened(): void {
    this.connections++;
    this.open++;
    if (this.open > this.maxOpen) this.maxOpen = this.open;
  }

  connectionClosed(): void {
    this.open--;
  }

  /** Remembers an id; at most a million are kept. */
  seenId(id: string): void {
    if (this.ids.has(id)) this.repeatedIds++;
    else if (this.ids.size < 1_000_000) this.ids.add(id);
  }

  /** Remembers the hash of a prompt; true when it has been seen before. At most a million are kept. */
  seenPrompt(hash: string): boolean {
    if (this.prompts.has(hash)) {
      this.repeatedPrompts++;
      return true;
    }
    if (this.prompts.size < 1_000_000) this.prompts.add(hash);
    return false;
  }

  snapshot(load: { running: number; queued: number }): MockStatsSnapshot {
    return {
      requests: this.requests,
      requestsByPath: Object.fromEntries(this.paths),
      responsesByStatus: Object.fromEntries(this.statuses),
      completions: this.completions,
      completed: this.completed,
      aborted: this.aborted,
      faults: Object.fromEntries(this.faultCounts),
      tokensMade: this.tokensMade,
      frames: this.frames,
      usagePromptTokens: this.usagePrompt,
      usageCompletionTokens: this.usageCompletion,
      inFlight: this.inFlight,
      maxInFlight: this.maxInFlight,
      runningJobs: load.running,
      queuedJobs: load.queued,
      maxRunningJobs: this.maxRunning,
      connections: this.connections,
      openConnections: this.open,
      maxOpenConnections: this.maxOpen,
      repeatedPrompts: this.repeatedPrompts,
      requestIds: this.ids.size,
      repeatedRequestIds: this.repeatedIds,
      lateness: this.lateness.summary(),
      cpuUs: cpuTimeUs().totalUs,
    };
  }
}
