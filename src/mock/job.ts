/**
 * One generation: when its tokens are due and how it ends. A job knows counts and times only; what the tokens say and how they
 * are sent is its listener's business.
 */
import { nowMs } from '../record/clock.ts';
import type { Engine } from './engine.ts';
import type { Due } from './heap.ts';
import type { Rng } from './rng.ts';

/** Why a job ended, in exllamav3's words. */
export type EosReason = 'stop_token' | 'stop_string' | 'max_new_tokens';

/** What is decided about a job before it runs. */
export interface JobPlan {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Tokens that are sent (or held back as part of a tool call or tag). */
  readonly visibleTokens: number;
  /** A last token that is counted but not sent: the EOS token. */
  readonly eosTokens: 0 | 1;
  readonly eosReason: EosReason;
  readonly ttftMs: number;
  readonly itlMs: number;
  readonly jitter: number;
  /** Tokens per step of `itlMs` (speculation, `[[burst=4]]`). */
  readonly burst: number;
  /** Tokens per frame at an unchanged token rate. */
  readonly merge: number;
  readonly draftTokens: number;
  /** After this many tokens nothing comes for `stallMs`; -1: never. */
  readonly stallAt: number;
  readonly stallMs: number;
  /** After this many tokens `broken` is called instead of the next token; -1: never. */
  readonly breakAt: number;
}

/** Who sends what a job makes. */
export interface JobListener {
  /** `count` more tokens exist. `atMs` is a fresh clock reading. */
  tokens(job: Job, count: number, atMs: number): void;
  /** The job is over; its figures are final. */
  finished(job: Job, atMs: number): void;
  /** The planned fault strikes. The engine has let go of the job. */
  broken(job: Job): void;
  /** The engine gave up: `message` is the error each client is told, null when nobody is told anything. */
  failed(job: Job, message: string | null): void;
}

/** Chance that a token of the draft model is accepted. */
const DRAFT_ACCEPTANCE = 0.7;

/** A generation in the engine. */
export class Job implements Due {
  due = 0;
  readonly plan: JobPlan;
  readonly index: number;
  readonly listener: JobListener;
  /** Pages of the cache it holds while it runs. */
  pages: number;
  /** Tokens made so far, without the EOS token. */
  made = 0;
  acceptedTokens = 0;
  proposedTokens = 0;
  state: 'queued' | 'running' | 'over' = 'queued';
  enqueuedMs = 0;
  /** Planned times, not those of writing: usage tells what the engine did, and is the same in each run. */
  startedMs = 0;
  firstMs = 0;
  finishedMs = 0;
  /** Sequence length at which the cache pages are used up and the job is queued anew; and what its usage then says. */
  segmentEnd: number;
  usagePrompt: number;
  usageSkipped = 0;
  private readonly engine: Engine;
  private readonly rng: Rng;
  /** Tokens of the next frame, fixed when its time was. */
  private nextCount = 1;

  constructor(engine: Engine, plan: JobPlan, index: number, listener: JobListener, rng: Rng) {
    this.engine = engine;
    this.plan = plan;
    this.index = index;
    this.listener = listener;
    this.rng = rng;
    this.pages = engine.pagesFor(plan.promptTokens);
    this.segmentEnd = this.pages * 256;
    this.usagePrompt = plan.promptTokens;
  }

  /** Starts prefill; `from` is when the job could run (its arrival when nothing kept it waiting). */
  start(from: number): void {
    this.state = 'running';
    this.startedMs = from;
    this.nextCount = this.drawCount();
    const due = from + this.spread(this.plan.ttftMs);
    this.schedule(due);
  }

  /** Length of the output as usage tells it. */
  get completionTokens(): number {
    return this.made + this.plan.eosTokens - this.usageSkipped;
  }

  /** What comes next, at its time. */
  fire(): void {
    if (this.state !== 'running') return;
    const atMs = nowMs();
    const { plan } = this;
    if (this.made === plan.breakAt) {
      this.engine.release(this, this.due);
      this.listener.broken(this);
      return;
    }
    if (this.made === plan.visibleTokens) {
      this.finish(atMs);
      return;
    }
    if (this.made === 0) this.firstMs = this.due;
    const count = this.nextCount;
    this.made += count;
    this.engine.stats.token(count, atMs - this.due);
    this.listener.tokens(this, count, atMs);
    // Sending may have found the client gone.
    if (this.state === 'running') this.advance(count, atMs);
  }

  private advance(sent: number, atMs: number): void {
    const { plan } = this;
    if (plan.promptTokens + this.made > this.segmentEnd && !this.engine.requeue(this)) return;
    const over = this.made === plan.visibleTokens;
    if (over && plan.eosTokens === 0) {
      this.finish(atMs);
      return;
    }
    this.nextCount = over ? 0 : this.drawCount();
    const steps = plan.merge > 1 ? Math.max(1, this.nextCount) : 1;
    const stall = this.made >= plan.stallAt && this.made - sent < plan.stallAt ? plan.stallMs : 0;
    this.schedule(this.due + stall + this.spread(plan.itlMs) * steps);
  }

  private finish(atMs: number): void {
    this.finishedMs = this.due;
    if (this.made === 0) this.firstMs = this.due;
    this.engine.release(this, this.due);
    this.listener.finished(this, atMs);
  }

  private schedule(due: number): void {
    this.due = this.engine.onGrid(due);
    this.engine.pump.add(this);
  }

  /** Tokens in the next frame: never past the end or a planned fault. */
  private drawCount(): number {
    const { plan } = this;
    let count = plan.burst * plan.merge;
    if (plan.draftTokens > 0 && this.made > 0) {
      let accepted = 0;
      while (accepted < plan.draftTokens && this.rng.next() < DRAFT_ACCEPTANCE) accepted++;
      this.proposedTokens += plan.draftTokens;
      this.acceptedTokens += accepted;
      count += accepted;
    }
    const end = plan.breakAt > this.made ? Math.min(plan.breakAt, plan.visibleTokens) : plan.visibleTokens;
    return Math.min(count, end - this.made);
  }

  private spread(ms: number): number {
    const { jitter } = this.plan;
    return jitter === 0 ? ms : ms * (1 + jitter * (2 * this.rng.next() - 1));
  }
}
