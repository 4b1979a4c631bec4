/** The batching engine: who runs, who waits, and what happens to all of them when one breaks it. */
import { nowMs } from '../record/clock.ts';
import type { Job } from './job.ts';
import type { MockOptions } from './options.ts';
import type { Pump } from './pump.ts';
import type { MockStats } from './stats.ts';

/** Tokens per page of the cache. */
const PAGE = 256;

/** What a job that no longer fits the cache in mid-run is told (and all others with it). */
export function cacheFullMessage(pages: number, total: number): string {
  return (
    `Job requires ${pages} pages (only ${total} available) and cannot be enqueued. Total cache allocated is ${total} * ${PAGE} = ` +
    `${total * PAGE} tokens. The request exceeds the available context size.`
  );
}

/** Slots, cache pages and the queue in front of them. */
export class Engine {
  readonly pump: Pump;
  readonly stats: MockStats;
  private readonly options: MockOptions;
  private readonly running = new Set<Job>();
  private queue: Job[] = [];
  private queueHead = 0;
  private pagesUsed = 0;
  private released: boolean;
  private readonly origin = nowMs();

  constructor(options: MockOptions, pump: Pump, stats: MockStats) {
    this.options = options;
    this.pump = pump;
    this.stats = stats;
    this.released = options.hold === 0;
  }

  /** Pages of the whole cache. */
  get totalPages(): number {
    return Math.floor(this.options.cacheSize / PAGE);
  }

  /** Pages that a job with a sequence of this length needs to be started (output chunking: whatever max_tokens is). */
  pagesFor(sequenceLength: number): number {
    return Math.max(1, Math.ceil((sequenceLength - 1 + this.options.chunkSize) / PAGE));
  }

  /** Jobs running and jobs waiting. */
  get load(): { running: number; queued: number } {
    let queued = 0;
    for (let i = this.queueHead; i < this.queue.length; i++) if (this.queue[i]?.state === 'queued') queued++;
    return { running: this.running.size, queued };
  }

  /** The first step of the batch that is not before `ms`; `ms` itself when streams run independently. */
  onGrid(ms: number): number {
    const step = this.options.itlMs;
    if (!this.options.lockstep || step <= 0) return ms;
    return this.origin + Math.ceil((ms - this.origin) / step - 1e-6) * step;
  }

  /** Takes jobs in; they start at once if there is room, with `arrivedMs` as their start. */
  submit(jobs: readonly Job[], arrivedMs: number): void {
    for (const job of jobs) {
      job.enqueuedMs = arrivedMs;
      this.queue.push(job);
    }
    if (!this.released && this.stats.completions >= this.options.hold) this.released = true;
    this.drain(arrivedMs);
  }

  /** The client has gone: the job's slot is free at once. */
  cancel(job: Job): void {
    if (job.state === 'running') this.release(job, nowMs());
    job.state = 'over';
  }

  /** The job has ended at `atMs`; its slot goes to the next. */
  release(job: Job, atMs: number): void {
    this.remove(job);
    this.drain(atMs);
  }

  /**
   * The job's pages are used up: it gives them back and asks for more, as exllamav3 does. False when the cache cannot hold it:
   * then every job has failed.
   */
  requeue(job: Job): boolean {
    // The sequence at the moment its pages were full, whatever a burst of tokens has added by now.
    const length = job.segmentEnd + 1;
    const pages = this.pagesFor(length);
    if (pages > this.totalPages) {
      this.failAll(cacheFullMessage(pages, this.totalPages));
      return false;
    }
    if (this.options.requeueUsage) {
      // As recorded from exllamav3: the new prompt is the sequence so far, the first part is not counted, later ones lose a token.
      job.usageSkipped =
        job.usagePrompt === job.plan.promptTokens ? length - job.plan.promptTokens : job.usageSkipped + 1;
      job.usagePrompt = length;
    }
    this.pagesUsed += pages - job.pages;
    job.pages = pages;
    job.segmentEnd = pages * PAGE;
    return true;
  }

  /** Ends every job, running or queued, with the same error (null: nobody is told). */
  failAll(message: string | null): void {
    const jobs = [...this.running, ...this.queue.slice(this.queueHead).filter((job) => job.state === 'queued')];
    this.queue = [];
    this.queueHead = 0;
    for (const job of jobs) {
      this.remove(job);
      job.listener.failed(job, message);
    }
  }

  private remove(job: Job): void {
    if (this.running.delete(job)) this.pagesUsed -= job.pages;
    job.state = 'over';
  }

  private drain(from: number): void {
    while (this.released && this.queueHead < this.queue.length) {
      const job = this.queue[this.queueHead] as Job;
      if (job.state === 'queued') {
        const full = this.running.size >= this.options.slots || this.pagesUsed + job.pages > this.totalPages;
        // A job that would fit no cache must not block the queue for ever: it runs alone.
        if (full && !(this.running.size === 0)) return;
        this.running.add(job);
        this.pagesUsed += job.pages;
        this.stats.runningJobs(this.running.size);
        job.start(Math.max(from, job.enqueuedMs));
      }
      this.queueHead++;
      if (this.queueHead > 1024 && this.queueHead * 2 > this.queue.length) {
        this.queue = this.queue.slice(this.queueHead);
        this.queueHead = 0;
      }
    }
  }
}
