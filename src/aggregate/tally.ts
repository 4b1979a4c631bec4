/** Everything of a run that is a count: fed with each request once, in any order, in constant memory. */
import type { RequestRecord } from '../record/record.ts';
import { RunningStats } from './running.ts';
import type { CategorySummary, ErrorKindSummary, FrameSummary, LengthSummary } from './summary.ts';

/** Distinct words counted by name; what comes after counts as {@link OTHER}. A hostile file must not grow the maps. */
const MAX_WORDS = 1000;
const OTHER = 'other';
/** Failures whose words are kept, as vLLM prints them. */
const FIRST_ERRORS = 10;

/** Failures of one sort and the words of the one that comes first in sample order. */
interface Failures {
  count: number;
  sample: string;
  /** Index of the request that gave the sample. */
  sampleI: number;
}

interface ErrorKind extends Failures {
  readonly statuses: Map<number, Failures>;
}

interface Category {
  completed: number;
  failed: number;
  inputTokens: number;
  outputTokens: number;
  readonly ttft: RunningStats;
  readonly tpot: RunningStats;
  readonly e2el: RunningStats;
}

/** A successful request once its number of output tokens is known. Times in seconds. */
export interface SettledRequest {
  readonly ttft: number;
  readonly latency: number;
  readonly tokens: number;
  readonly category: string | undefined;
}

export class Tally {
  completed = 0;
  failed = 0;
  inputTokens = 0;
  outputTokens = 0;
  inputSequences = 0;
  told = 0;
  failedAfterFirstToken = 0;
  staleReconnects = 0;
  opened = 0;
  trailingGarbage = 0;
  readonly compressed = { answers: 0, encoding: '' };
  readonly retried = { requests: 0, retries: 0, waitS: 0 };
  readonly cached = { requests: 0, tokens: 0, promptTokens: 0 };
  readonly accepted = { requests: 0, tokens: 0, rejected: 0, outputTokens: 0 };
  readonly finishReasons = new Map<string, number>();
  readonly #kinds = new Map<string, ErrorKind>();
  readonly #categories = new Map<string, Category>();
  readonly #firstErrors: { i: number; error: string }[][] = [[]];
  readonly #frames = { token: 0, reasoning: 0, merged: 0, reads: 0, withTokens: 0, tokens: 0 };
  readonly #lengths = { requests: 0, asked: 0, made: 0, exact: 0, short: 0, long: 0, ownEnd: 0 };
  readonly #missing = new Map<number, number>();

  /** From here on requests belong to another file. */
  nextSource(): void {
    this.#firstErrors.push([]);
  }

  /** Everything but what needs the number of output tokens of a success; that is {@link settle}. */
  add(record: RequestRecord): void {
    if (record.connect_s !== undefined) this.opened++;
    if (record.stale_reconnect === true) this.staleReconnects++;
    if (record.trailing_garbage === true) this.trailingGarbage++;
    if (record.content_encoding !== undefined) {
      this.compressed.answers++;
      this.compressed.encoding ||= record.content_encoding;
    }
    if (record.retries !== undefined) {
      this.retried.requests++;
      this.retried.retries += record.retries;
      this.retried.waitS += record.retry_wait_s ?? 0;
    }
    if (!record.success) this.#addFailure(record);
    else this.#addSuccess(record);
  }

  /** A success whose tokens are known, whether the server told them or they were counted. */
  settle(request: SettledRequest): void {
    this.outputTokens += request.tokens;
    const category = request.category === undefined ? undefined : this.#category(request.category);
    if (category === undefined) return;
    category.outputTokens += request.tokens;
    category.ttft.add(request.ttft);
    category.e2el.add(request.latency);
    if (request.tokens > 1) category.tpot.add((request.latency - request.ttft) / (request.tokens - 1));
  }

  /** Prompt tokens that were left out of a request at first. */
  addInputTokens(tokens: number, category: string | undefined): void {
    this.inputTokens += tokens;
    if (category !== undefined) this.#category(category).inputTokens += tokens;
  }

  errorKinds(): readonly ErrorKindSummary[] {
    return [...this.#kinds]
      .map(([kind, { count, sample, statuses }]) => ({
        kind,
        count,
        sample,
        statuses: new Map([...statuses].map(([status, of]) => [status, { count: of.count, sample: of.sample }])),
      }))
      .sort((a, b) => b.count - a.count || (a.kind < b.kind ? -1 : 1));
  }

  /** @param bySource repeats: the failures of the first file come first. Otherwise by index over all files. */
  firstErrors(bySource: boolean): readonly string[] {
    const all = this.#firstErrors.flat();
    if (!bySource) all.sort((a, b) => a.i - b.i);
    return all.slice(0, FIRST_ERRORS).map(({ error }) => error);
  }

  frames(): FrameSummary {
    const { token, reasoning, merged, reads, withTokens, tokens } = this.#frames;
    return {
      tokenFrames: token,
      reasoningFrames: reasoning,
      mergedFrames: merged,
      reads,
      tokensPerFrame: withTokens === 0 ? null : tokens / withTokens,
    };
  }

  lengths(): LengthSummary {
    const { requests, asked, made, exact, short, long, ownEnd } = this.#lengths;
    return {
      requests,
      askedTokens: asked,
      madeTokens: made,
      exact,
      short,
      long,
      missingAtLengthEnd: this.#missing,
      shortByOwnEnd: ownEnd,
    };
  }

  /** Sorted by name. */
  categories(): readonly CategorySummary[] {
    return [...this.#categories]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([category, { completed, failed, inputTokens, outputTokens, ttft, tpot, e2el }]) => ({
        category,
        completed,
        failed,
        inputTokens,
        outputTokens,
        meanTtftMs: ttft.mean * 1000,
        meanTpotMs: tpot.mean * 1000,
        meanE2elMs: e2el.mean * 1000,
      }));
  }

  #addFailure(record: RequestRecord): void {
    this.failed++;
    const given = record.error_kind ?? OTHER;
    const name = this.#kinds.has(given) || this.#kinds.size < MAX_WORDS ? given : OTHER;
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      kind = { ...noFailures(), statuses: new Map() };
      this.#kinds.set(name, kind);
    }
    countFailure(kind, record);
    if (record.status !== undefined && record.error_kind === 'http') {
      const known = kind.statuses.get(record.status);
      const status = known ?? noFailures();
      if (known === undefined && kind.statuses.size < MAX_WORDS) kind.statuses.set(record.status, status);
      countFailure(status, record);
    }
    if ((record.partial?.frames ?? 0) > 0) this.failedAfterFirstToken++;
    if (record.category !== undefined) this.#category(record.category).failed++;
    const first = this.#firstErrors[this.#firstErrors.length - 1] as { i: number; error: string }[];
    if (first.length === FIRST_ERRORS && record.i >= (first[FIRST_ERRORS - 1] as { i: number }).i) return;
    const at = first.findIndex(({ i }) => i > record.i);
    first.splice(at === -1 ? first.length : at, 0, { i: record.i, error: record.error });
    if (first.length > FIRST_ERRORS) first.pop();
  }

  #addSuccess(record: RequestRecord): void {
    this.completed++;
    this.inputTokens += record.prompt_len;
    this.inputSequences += record.num_input_sequences ?? 1;
    if (record.category !== undefined) {
      const category = this.#category(record.category);
      category.completed++;
      category.inputTokens += record.prompt_len;
    }
    if (record.finish_reason !== undefined) bump(this.finishReasons, record.finish_reason ?? 'none');
    if (record.cached_tokens !== undefined) {
      this.cached.requests++;
      this.cached.tokens += record.cached_tokens;
      this.cached.promptTokens += record.prompt_len;
    }
    const frames = record.frames ?? record.itl.length + 1;
    this.#frames.token += frames;
    this.#frames.reasoning += record.reasoning_frames ?? 0;
    this.#frames.merged += record.merged_frames ?? 0;
    this.#frames.reads += record.reads ?? 0;
    if (!record.output_tokens) return;
    this.told++;
    this.#frames.withTokens += frames;
    this.#frames.tokens += record.output_tokens;
    if (record.accepted_tokens !== undefined) {
      this.accepted.requests++;
      this.accepted.tokens += record.accepted_tokens;
      this.accepted.rejected += record.rejected_tokens ?? 0;
      this.accepted.outputTokens += record.output_tokens;
    }
    if (record.output_len !== undefined) this.#addLength(record, record.output_len, record.output_tokens);
  }

  #addLength(record: RequestRecord, asked: number, made: number): void {
    const lengths = this.#lengths;
    lengths.requests++;
    lengths.asked += asked;
    lengths.made += made;
    if (made === asked) lengths.exact++;
    else if (made > asked) lengths.long++;
    else {
      lengths.short++;
      if (record.finish_reason === 'length') bump(this.#missing, asked - made);
      else lengths.ownEnd++;
    }
  }

  #category(name: string): Category {
    const key = this.#categories.has(name) || this.#categories.size < MAX_WORDS ? name : OTHER;
    let category = this.#categories.get(key);
    if (category === undefined) {
      category = {
        completed: 0,
        failed: 0,
        inputTokens: 0,
        outputTokens: 0,
        ttft: new RunningStats(),
        tpot: new RunningStats(),
        e2el: new RunningStats(),
      };
      this.#categories.set(key, category);
    }
    return category;
  }
}

function noFailures(): Failures {
  return { count: 0, sample: '', sampleI: Number.POSITIVE_INFINITY };
}

function countFailure(failures: Failures, record: RequestRecord): void {
  failures.count++;
  if (record.i >= failures.sampleI) return;
  failures.sample = record.error;
  failures.sampleI = record.i;
}

function bump<K extends string | number>(counts: Map<K, number>, key: K): void {
  const known = counts.get(key);
  if (known !== undefined || counts.size < MAX_WORDS) counts.set(key, (known ?? 0) + 1);
}
