/** What the display of a run under way is fed with: counters of the workers, and what their records told so far. */
import { judgeClient } from '../aggregate/quality.ts';
import type { RunOptions } from '../options/table.ts';
import type { SharedWork } from '../record/messages.ts';
import type { RequestRecord } from '../record/record.ts';
import type { PanelState } from '../report/panel-history.ts';
import type { PanelTitle } from '../report/panel-lines.ts';
import { reasonText } from '../report/warnings.ts';
import type { LoadProgress, LoadRun } from '../transport/coordinator.ts';
import type { CrewLive } from '../transport/crew.ts';
import type { ServerFound } from '../transport/server.ts';

/** Looked at from outside of the load. */
export interface Watched {
  readonly run: Pick<LoadRun, 'progress' | 'live'>;
  readonly ending: { readonly reason: string | null };
}

/** Collects what records tell, and puts the panel's figures together. */
export class RunWatch {
  private readonly planned: number;
  /** Output tokens asked for in the first requests: entry k is the sum over the first k. */
  private readonly askedUpTo: Float64Array;
  private readonly lastPlannedMs: number;
  private readonly durationMs: number | null;
  private readonly errors = new Map<string, number>();
  private readonly lostWorkers: string[] = [];
  private askedOfSuccesses = 0;
  private askedOfFailures = 0;
  private framesOfSuccesses = 0;
  private framesTold = 0;
  private tokensTold = 0;

  /** Answers come whole, in one frame each, which says nothing of their tokens. */
  private readonly isWhole: boolean;

  constructor(options: Pick<RunOptions, 'durationMs' | 'stream'>, work: SharedWork) {
    this.isWhole = !options.stream;
    // Prompt and output tokens, in turns.
    const lengths = new Float64Array(work.lengths);
    this.planned = work.count;
    this.askedUpTo = new Float64Array(work.count + 1);
    for (let k = 0; k < work.count; k++) {
      this.askedUpTo[k + 1] = (this.askedUpTo[k] as number) + (lengths[2 * k + 1] as number);
    }
    this.lastPlannedMs = new Float64Array(work.plannedMs).at(-1) ?? 0;
    this.durationMs = options.durationMs;
  }

  add(record: RequestRecord): void {
    const asked = this.asked(record.i + 1) - this.asked(record.i);
    if (!record.success) {
      const kind = record.error_kind ?? 'failed';
      this.errors.set(kind, (this.errors.get(kind) ?? 0) + 1);
      this.askedOfFailures += asked;
      return;
    }
    this.askedOfSuccesses += asked;
    this.framesOfSuccesses += record.frames ?? 0;
    if (record.output_tokens !== null && record.frames !== undefined && record.frames > 0) {
      this.framesTold += record.frames;
      this.tokensTold += record.output_tokens;
    }
  }

  lose(reason: string): void {
    this.lostWorkers.push(reason);
  }

  /** The figures at this moment. */
  state({ run, ending }: Watched): PanelState {
    const { progress, live } = run;
    // Requests are begun in their order.
    const begun = this.asked(progress.completed + progress.failed + progress.inFlight);
    return {
      ...progress,
      planned: this.planned,
      asked: {
        all: this.asked(this.planned),
        begun,
        succeeded: this.askedOfSuccesses,
        failed: this.askedOfFailures,
      },
      ...this.frameFigures(progress),
      durationMs: this.durationMs,
      lastPlannedMs: this.lastPlannedMs,
      isEnding: ending.reason !== null,
      ttft: live.ttft,
      itl: live.itl,
      errors: this.errors,
      clientLimit: this.clientLimit(progress, live, ending.reason !== null),
      loopMaxMs: Math.max(0, ...live.workers.map(({ loopMaxMs }) => loopMaxMs)),
    };
  }

  private frameFigures(
    progress: LoadProgress,
  ): Pick<PanelState, 'tokenFrames' | 'framesOfEnded' | 'tokensPerFrame' | 'framesPerAsked'> {
    const perAsked = (frames: number): number | null => (frames > 0 ? frames / this.askedOfSuccesses : null);
    const { tokensTold, framesTold } = this;
    if (this.isWhole) {
      const told = { tokenFrames: tokensTold, framesOfEnded: tokensTold };
      return { ...told, tokensPerFrame: null, framesPerAsked: perAsked(tokensTold) };
    }
    return {
      tokenFrames: progress.tokenFrames,
      framesOfEnded: progress.framesOfEnded,
      tokensPerFrame: tokensTold > 0 ? tokensTold / framesTold : null,
      framesPerAsked: perAsked(this.framesOfSuccesses),
    };
  }

  private asked(requests: number): number {
    return this.askedUpTo[Math.min(requests, this.planned)] as number;
  }

  /** The verdict of the report, as far as it can be told in mid-run: not yet whether as many are in flight, and sent in time, as was asked. */
  private clientLimit(progress: LoadProgress, live: CrewLive, interrupted: boolean): string | null {
    const block = {
      workers: live.workers.map(({ worker, loopMaxMs, loopP99Ms, utilisation }) => ({
        worker,
        loop_delay_ms: { max: loopMaxMs, p99: loopP99Ms },
        utilisation,
      })),
    };
    const series = (latency: PanelState['ttft']) => ({ medianMs: latency?.p50Ms ?? 0, p99Ms: latency?.p99Ms ?? 0 });
    const verdict = judgeClient(block, this.lostWorkers, {
      durationS: progress.elapsedMs / 1000,
      completed: progress.completed,
      failed: progress.failed,
      interrupted,
      ttft: series(live.ttft),
      gaps: series(live.itl),
    });
    const [first] = verdict?.reasons ?? [];
    return first === undefined ? null : reasonText(first);
  }
}

/** What the panel is about: which of several runs or levels, the load, the model. */
export function liveTitle(options: RunOptions, server: ServerFound, label: string | null): PanelTitle {
  const { maxConcurrency, requestRate } = options;
  const model = options.servedModelName ?? options.model ?? server.model;
  return [
    label ?? 'run',
    ...(maxConcurrency === null ? [] : [`concurrency ${maxConcurrency}`]),
    ...(Number.isFinite(requestRate) ? [`${requestRate} requests/s`] : []),
    ...(model === null ? [] : [model]),
  ];
}
