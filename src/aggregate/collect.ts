/**
 * Collects the requests of a run as they end and yields every figure of it. Requests come in any order; statistics are taken in
 * sample order, so that they equal vLLM's bit for bit and do not depend on who finished first.
 *
 * Memory: about 140 bytes per request and 8 per gap between token frames while values are kept (`maxExactValues` per series), twice
 * the gaps' while they are sorted. A series with more values goes over to a HDR histogram: first the gaps, then, when there are
 * more requests than that, all the others. What is a plain count is always exact.
 */
import { type GoodputKey, OWN_SERIES_KEYS } from '../metrics.ts';
import type { RequestRecord } from '../record/record.ts';
import { believed, type CountRules, type CountSource, isProvenByText, seenTokens } from './believed.ts';
import { HistogramSet } from './histogram.ts';
import { PeakCounter, PeakEstimate, type Peaks } from './peaks.ts';
import { delaysOf, PlanTally } from './plan.ts';
import { RunningSeries } from './running.ts';
import { runningSeries, runSeries, storedSeries } from './series.ts';
import { SteadyRunning, type TokensOf } from './steady-running.ts';
import { steadyStored } from './steady-stored.ts';
import { isUnsent, OWN_SERIES, positionOf, RequestStore, type SampleOrder, takenS } from './store.ts';
import type { PlanSummary, RunSummary, SourceSpan, SteadySummary } from './summary.ts';
import { Tally } from './tally.ts';

/** Limits of `--goodput`, in milliseconds. */
export type GoodputLimits = Readonly<Partial<Record<GoodputKey, number>>>;

export interface RunAggregateOptions {
  /** `--max-exact-values`: values kept per series before it goes over to a histogram. Default {@link DEFAULT_MAX_EXACT}. */
  readonly maxExactValues?: number;
  /** Limits of `--goodput` in milliseconds. */
  readonly goodput?: GoodputLimits;
  /** Keep texts and errors of every request for `--save-detailed`. */
  readonly keepDetail?: boolean;
  /** `--exact-length` was on: an answer that ended at its limit has the full length. */
  readonly exactLength?: boolean;
}

/** Default of `--max-exact-values`: 160 MB of gaps. */
export const DEFAULT_MAX_EXACT = 20_000_000;

/** Counts tokens of texts without special tokens; same length and order as `texts`. */
export type CountTokens = (texts: readonly string[]) => Promise<readonly number[]>;

export interface SummarizeOptions {
  /** Percentiles wanted, 0..100. */
  readonly percentiles: readonly number[];
  /** Duration of the run in seconds. */
  readonly durationS: number;
  /** For successful requests whose server told no token count; without it each of them counts as 1 token. */
  readonly countTokens?: CountTokens;
  /** `--max-concurrency` of one source; null when there was no such limit. */
  readonly maxConcurrency?: number | null;
  /** Share of the concurrency from which on the run counts as steady; absent: no steady state is looked for. */
  readonly steadyShare?: number;
  /** The requests had times at which they were due: compare them with when they were sent. */
  readonly isOpenLoop?: boolean;
}

/** A successful request whose tokens are still to be counted. */
interface Pending {
  /** Position in the store, −1 when it is no longer kept. */
  readonly at: number;
  readonly text: string;
  readonly start: number;
  readonly ttft: number;
  readonly latency: number;
  readonly category: string | undefined;
  /** Index of the request and number of its source. */
  readonly i: number;
  readonly source: number;
  /** Usage that is believed unless the text proves it wrong. */
  readonly doubted: { readonly tokens: number; readonly promptExcess: number } | null;
}

/**
 * Tokens that no usage told, or told wrong, by index of the request: `tokens[k]` are those of request `i[k]`, counted by `by[k]` (`usage`
 * where the count of the text bore out what usage told).
 */
export interface CountedTokens {
  readonly i: readonly number[];
  readonly tokens: readonly number[];
  readonly by?: readonly (CountSource | 'usage')[];
}

/** Texts handed to the tokenizer at once. */
const COUNT_BATCH = 512;

export class RunAggregate {
  readonly #max: number;
  readonly #goodput: GoodputLimits;
  readonly #tally = new Tally();
  readonly #plan = new PlanTally();
  #rules: CountRules;
  #pending: Pending[] = [];
  #counted = 0;
  #assumedOne = 0;
  /** Told by the server: those that the text proved right, less those that were corrected. */
  #toldAfterAll = 0;
  readonly #corrected: Record<CountSource, number> = { logprobs: 0, text: 0, limit: 0, frames: 0 };
  /** No usage, and no text that was to be counted. */
  readonly #missing = { logprobs: 0, frames: 0 };
  /** See {@link countedOtherwise}. */
  readonly #otherwise: { i: number[]; tokens: number[]; by: (CountSource | 'usage')[] } = { i: [], tokens: [], by: [] };
  #doubted = 0;
  readonly #spans: { requests: number; firstStart: number; lastEnd: number }[] = [emptySpan()];
  /** Null once there are more requests than may be kept. */
  #store: RequestStore | null;
  /** Series that are no longer kept: the gaps, or all of them. */
  #running: RunningSeries | null = null;
  /** Set with {@link #running}: peaks without gaps. */
  #estimate: PeakEstimate | null = null;
  /** Set with {@link #running}: what the steady-state window is made from. */
  #steady: SteadyRunning | null = null;
  /** Goodput of requests that are not kept. */
  #good = 0;
  #audio = 0;
  #order: SampleOrder | null = null;

  constructor(options: RunAggregateOptions = {}) {
    this.#max = options.maxExactValues ?? DEFAULT_MAX_EXACT;
    this.#goodput = options.goodput ?? {};
    this.#rules = { exactLength: options.exactLength ?? false, chunkSize: null };
    this.#store = new RequestStore(options.keepDetail ?? false);
  }

  /** What usage is to be judged by from here on; to be told before the first request, where it is known. */
  judgeUsageBy(rules: CountRules): void {
    this.#rules = rules;
  }

  /** Starts another record file: its requests may repeat indices of the former. */
  nextSource(): void {
    this.#spans.push(emptySpan());
    this.#store?.nextSource();
    this.#tally.nextSource();
    this.#plan.nextSource();
  }

  /**
   * Takes one finished request. Its arrays are copied, so its buffers may be reused.
   * @returns the request with prompt and output tokens as far as they are believed; output tokens null when they are still to be counted
   */
  add(raw: RequestRecord): RequestRecord {
    const view = believed(raw, this.#rules.exactLength, this.#rules.chunkSize);
    const { record } = view;
    if (view.isDoubted) this.#doubted++;
    this.#tally.add(record);
    this.#plan.add(record);
    stretch(this.#spans[this.#spans.length - 1] as Span, record);
    this.#makeRoom(record.itl.length);
    const at = this.#store === null ? -1 : this.#store.add(record);
    if (at === -1) this.#runOwn(record);
    if (at === -1) {
      const over = record.start_time + (isUnsent(record) ? 0 : takenS(record));
      this.#steady?.addRequest(timesOf(record), over, record.success, record.prompt_len);
    }
    if (!record.success) return record;
    this.#estimate?.add({ start: record.start_time, ttft: record.ttft, latency: record.latency }, record.itl);
    this.#running?.addAll('itl', record.itl);
    this.#steady?.addGaps(record.start_time, record.itl);
    if (at === -1) this.#runMetrics(record);
    this.#takeTokens(at, raw, record, view.countedBy);
    return record;
  }

  /** The output tokens of a success, or a place among those that are to be counted. */
  #takeTokens(at: number, raw: RequestRecord, record: RequestRecord, countedBy: CountSource | null): void {
    const request = { ...timesOf(record), category: record.category };
    if (record.output_tokens) {
      if (countedBy !== null) this.#noteSource(raw, record.output_tokens, countedBy);
      this.#settle(at, { ...request, tokens: record.output_tokens });
      return;
    }
    // Without usage and text the frames are what is known of the tokens.
    const seen = record.generated_text === undefined ? seenTokens(record) : 0;
    if (seen > 0) {
      this.#missing.frames++;
      this.#note(raw.i, seen, 'frames');
      if (at !== -1) this.#store?.setTokens(at, seen);
      this.#settle(at, { ...request, tokens: seen });
      return;
    }
    const isDoubted = countedBy === 'text';
    this.#pending.push({
      at,
      ...request,
      i: raw.i,
      source: this.#spans.length - 1,
      text: raw.generated_text ?? '',
      doubted: isDoubted ? { tokens: raw.output_tokens ?? 0, promptExcess: raw.prompt_len - record.prompt_len } : null,
    });
  }

  /** The tally took the tokens for told ones. */
  #noteSource(raw: RequestRecord, tokens: number, by: CountSource): void {
    this.#toldAfterAll--;
    if (raw.output_tokens) this.#corrected[by]++;
    else this.#missing.logprobs++;
    this.#note(raw.i, tokens, by);
  }

  #note(i: number, tokens: number, by: CountSource | 'usage'): void {
    this.#otherwise.i.push(i);
    this.#otherwise.tokens.push(tokens);
    this.#otherwise.by.push(by);
  }

  /**
   * Counts over their texts the tokens that no server told, or told wrong, ahead of {@link summarize}. Throws what `countTokens` throws;
   * what is left stays to be counted.
   */
  async countNow(countTokens: CountTokens): Promise<void> {
    const pending = this.#pending;
    let done = 0;
    try {
      while (done < pending.length) {
        const batch = pending.slice(done, done + COUNT_BATCH);
        const counts = await countTokens(batch.map(({ text }) => text));
        for (const [k, request] of batch.entries()) this.#settlePending(request, counts[k] ?? 0);
        done += batch.length;
      }
    } finally {
      this.#pending = pending.slice(done);
    }
  }

  /**
   * All that was counted otherwise than by usage, so far, and by what. It belongs into the records of a run: a report of them then needs no
   * tokenizer, and says the same.
   */
  get countedOtherwise(): Required<CountedTokens> {
    return this.#otherwise;
  }

  /** Takes counts that were made after the run of the present source; those that fit no request are passed over. */
  applyCounts({ i, tokens }: CountedTokens): void {
    const known = new Map(i.map((index, k) => [index, tokens[k]]));
    const source = this.#spans.length - 1;
    const left: Pending[] = [];
    for (const request of this.#pending) {
      const count = request.source === source ? known.get(request.i) : undefined;
      if (count === undefined) left.push(request);
      else this.#settlePending(request, count);
    }
    this.#pending = left;
  }

  /** Requests that succeeded so far. */
  get completed(): number {
    return this.#tally.completed;
  }

  /** Requests that failed so far. */
  get failed(): number {
    return this.#tally.failed;
  }

  /** Successful requests whose server told no token count: {@link SummarizeOptions.countTokens} is needed for them. */
  get uncounted(): number {
    return this.#pending.length;
  }

  /** The time that each source spans, in order. */
  get sources(): readonly SourceSpan[] {
    return this.#spans;
  }

  /**
   * Indices that occur more than once: with several sources these are repeats of a run, not shards of it. Call after the last request;
   * 0 when requests are no longer kept.
   */
  get repeatedIndices(): number {
    return this.#sampleOrder().repeated;
  }

  /** Histograms of the metrics of everything so far, for `--save-hdr`. The caller destroys the set. */
  histograms(): HistogramSet {
    const set = new HistogramSet();
    if (this.#running !== null) set.add(this.#running.histograms);
    const store = this.#store;
    for (let at = 0; store !== null && at < store.size; at++) {
      if (!store.isSuccess(at)) continue;
      const { ttft, latency, start, arrival, tokens } = store.row(at);
      set.record('ttft', ttft);
      if (tokens > 1) set.record('tpot', (latency - ttft) / (tokens - 1));
      if (tokens > 0) set.record('ntpot', latency / tokens);
      if (store.gapsKept) set.recordAll('itl', store.gapsOf(at));
      set.record('e2el', latency);
      set.record('client_queue_time', start - arrival);
      set.record('e2el_including_client_queue', latency + (start - arrival));
    }
    return set;
  }

  /** All figures. Call once, after the last request. Throws what `countTokens` throws. */
  async summarize(options: SummarizeOptions): Promise<RunSummary> {
    if (options.countTokens !== undefined) await this.countNow(options.countTokens);
    else this.#assumeOne();
    const tally = this.#tally;
    const store = this.#store;
    const order = this.#sampleOrder();
    if (store !== null) this.#judgeStored(store, order);
    const peaks = this.#peaks(order);
    const series =
      store === null
        ? runSeries(this.#running as RunningSeries, options.percentiles)
        : storedSeries(store, order, this.#running, options.percentiles);
    return {
      durationS: options.durationS,
      completed: tally.completed,
      failed: tally.failed,
      inputTokens: tally.inputTokens,
      outputTokens: tally.outputTokens,
      goodRequests: this.#good,
      inputAudioS: this.#audio,
      inputSequences: tally.inputSequences,
      maxOutputTokensPerS: peaks.tokensPerS,
      maxConcurrentRequests: peaks.concurrentRequests,
      ...series,
      steady: this.#steadyState(options, order),
      plan: options.isOpenLoop === true ? this.#planSummary(options, order) : null,
      detail: store?.detail(order) ?? null,
      firstErrors: tally.firstErrors(order.repeated > 0),
      tokenCounts: {
        told: tally.told + this.#toldAfterAll,
        counted: this.#counted,
        assumedOne: this.#assumedOne,
        byLogprobs: this.#missing.logprobs,
        byFrames: this.#missing.frames,
        corrected: this.#corrected,
        doubted: this.#doubted,
      },
      errorKinds: tally.errorKinds(),
      failedAfterFirstToken: tally.failedAfterFirstToken,
      finishReasons: tally.finishReasons,
      frames: tally.frames(),
      lengths: tally.lengths(),
      categories: tally.categories(),
      connections: { opened: tally.opened, staleReconnects: tally.staleReconnects },
      trailingGarbage: tally.trailingGarbage,
      compressed: tally.compressed,
      retried: tally.retried,
      cached: tally.cached,
      accepted: tally.accepted,
      sources: this.#spans,
      repeatedIndices: order.repeated,
    };
  }

  /** Gives up keeping gaps, and then requests, when the next request would exceed what may be kept. */
  #makeRoom(gaps: number): void {
    const store = this.#store;
    if (store === null) return;
    const tooManyRequests = store.size >= this.#max;
    if (store.gapsKept && (tooManyRequests || store.gaps.length + gaps > this.#max)) this.#spillGaps(store);
    if (tooManyRequests) this.#spillRequests(store);
  }

  #spillGaps(store: RequestStore): void {
    this.#running = new RunningSeries(new HistogramSet());
    this.#steady = new SteadyRunning();
    this.#estimate = new PeakEstimate(store.size === 0 ? 0 : store.row(0).start);
    for (let at = 0; at < store.size; at++) {
      if (!store.isSuccess(at)) continue;
      const gaps = store.gapsOf(at);
      this.#running.addAll('itl', gaps);
      this.#steady.addGaps(store.row(at).start, gaps);
      this.#estimate.add(store.row(at), gaps);
    }
    store.dropGaps();
  }

  #spillRequests(store: RequestStore): void {
    const running = this.#running as RunningSeries;
    for (let at = 0; at < store.size; at++) {
      for (const key of OWN_SERIES_KEYS) {
        const value = store.own(key, at);
        if (!Number.isNaN(value) && (store.isSuccess(at) || key === 'connect')) running.add(key, value);
      }
      const row = store.row(at);
      this.#steady?.addRequest(row, store.overAt(at), store.isSuccess(at), store.promptLen(at));
      if (!store.isSuccess(at)) continue;
      this.#runTimes(row.ttft, row.latency, row.start - row.arrival);
      this.#audio += store.audio(at);
      if (row.tokens > 0) this.#judge(row);
    }
    // Requests whose tokens are still to be counted lose their row as well.
    this.#pending.forEach((entry, k) => {
      this.#pending[k] = { ...entry, at: -1 };
    });
    this.#store = null;
  }

  #runOwn(record: RequestRecord): void {
    for (const key of OWN_SERIES_KEYS) {
      const value = OWN_SERIES[key](record);
      if (!Number.isNaN(value) && (record.success || key === 'connect'))
        (this.#running as RunningSeries).add(key, value);
    }
  }

  #runMetrics(record: RequestRecord): void {
    this.#runTimes(record.ttft, record.latency, record.start_time - record.arrival_time);
    this.#audio += record.input_audio_duration ?? 0;
  }

  #runTimes(ttft: number, latency: number, queued: number): void {
    const running = this.#running as RunningSeries;
    running.add('ttft', ttft);
    running.add('e2el', latency);
    running.add('client_queue_time', queued);
    running.add('e2el_including_client_queue', latency + queued);
  }

  /** A success whose tokens are known. What is stored is judged at the end, in sample order. */
  #settle(
    at: number,
    request: Omit<Pending, 'at' | 'text' | 'i' | 'source' | 'doubted'> & { readonly tokens: number },
  ): void {
    this.#tally.settle(request);
    if (at === -1) this.#judge(request);
  }

  /** Goodput, and what hangs on the number of tokens, of a request that is not kept. */
  #judge(request: TokensOf): void {
    const { ttft, latency, tokens } = request;
    const tpot = tokens > 1 ? (latency - ttft) / (tokens - 1) : 0;
    if (tokens > 1) this.#running?.add('tpot', tpot);
    if (tokens > 0) this.#running?.add('ntpot', latency / tokens);
    this.#steady?.addTokens(request);
    if (isGood(this.#goodput, ttft, tpot, latency)) this.#good++;
  }

  #judgeStored(store: RequestStore, order: SampleOrder): void {
    for (let k = 0; k < store.size; k++) {
      const at = positionOf(order, k);
      if (!store.isSuccess(at)) continue;
      const { ttft, latency, tokens } = store.row(at);
      const tpot = tokens > 1 ? (latency - ttft) / (tokens - 1) : 0;
      if (isGood(this.#goodput, ttft, tpot, latency)) this.#good++;
      this.#audio += store.audio(at);
    }
  }

  /** `count`: tokens of its text. */
  #settlePending({ at, text: _, doubted, ...request }: Pending, count: number): void {
    const isUsageRight = doubted !== null && !isProvenByText(count, doubted.tokens);
    const tokens = isUsageRight ? doubted.tokens : count;
    if (isUsageRight) {
      this.#toldAfterAll++;
      this.#tally.addInputTokens(doubted.promptExcess, request.category);
      if (at !== -1) this.#store?.addPromptLen(at, doubted.promptExcess);
    } else if (doubted !== null) this.#corrected.text++;
    if (doubted === null) this.#counted++;
    this.#note(request.i, count, isUsageRight ? 'usage' : 'text');
    if (at !== -1) this.#store?.setTokens(at, tokens);
    this.#settle(at, { ...request, tokens });
  }

  /** No tokenizer: what usage told, wrong as it may be, or one token as in vLLM. */
  #assumeOne(): void {
    for (const { at, text: _, doubted, ...request } of this.#pending) {
      const tokens = doubted?.tokens ?? 1;
      if (doubted === null) this.#assumedOne++;
      else {
        this.#doubted++;
        this.#toldAfterAll++;
      }
      if (at !== -1) this.#store?.setTokens(at, tokens);
      this.#settle(at, { ...request, tokens });
    }
    this.#pending = [];
  }

  #sampleOrder(): SampleOrder {
    this.#order ??= this.#store?.sampleOrder() ?? { positions: null, repeated: 0 };
    return this.#order;
  }

  #steadyState(options: SummarizeOptions, order: SampleOrder): SteadySummary | null {
    const { steadyShare: share, percentiles } = options;
    if (share === undefined) return null;
    const level = { share, of: this.#places(options, order) };
    const store = this.#store;
    if (store !== null) {
      return steadyStored(store, rangesOf(store, order), level, this.#steady?.segments ?? null, percentiles);
    }
    const originS = Math.min(...this.#spans.map(({ firstStart }) => firstStart));
    return (this.#steady as SteadyRunning).summary(level, originS, percentiles);
  }

  #planSummary(options: SummarizeOptions, order: SampleOrder): PlanSummary {
    const { percentiles } = options;
    const { requests, late } = this.#plan;
    const counts = { requests, late, ...this.#plan.rates(order.repeated > 0) };
    const store = this.#store;
    if (store !== null) {
      return { ...counts, ...delaysOf(store, rangesOf(store, order), this.#places(options, order), percentiles) };
    }
    // Of the successful ones, whose delays are a metric of vLLM's.
    const lateBy = runningSeries('client_queue_time', this.#running as RunningSeries, percentiles);
    return { ...counts, lateBy, slotWait: null, clientLate: null };
  }

  /** Requests that were allowed in flight at once: shards of one run, each with its own limit, count together. */
  #places({ maxConcurrency }: SummarizeOptions, order: SampleOrder): number | null {
    if (maxConcurrency === undefined || maxConcurrency === null) return null;
    const shards = order.repeated > 0 ? 1 : this.#spans.filter(({ requests }) => requests > 0).length;
    return maxConcurrency * Math.max(1, shards);
  }

  /** Repeats are looked at one by one, since nothing says that their clocks can be compared. */
  #peaks(order: SampleOrder): Peaks {
    if (this.#estimate !== null) return this.#estimate.peaks();
    const store = this.#store as RequestStore;
    const peaks = rangesOf(store, order).map(([from, to]) => storedPeaks(store, from, to));
    return {
      tokensPerS: Math.max(...peaks.map(({ tokensPerS }) => tokensPerS)),
      concurrentRequests: Math.max(...peaks.map(({ concurrentRequests }) => concurrentRequests)),
    };
  }
}

/** The run as one, or each of its repeats. */
function rangesOf(store: RequestStore, order: SampleOrder): readonly (readonly [from: number, to: number])[] {
  return order.repeated > 0 ? store.sourceRanges() : [[0, store.size]];
}

function timesOf({ start_time, ttft, latency }: RequestRecord): Omit<TokensOf, 'tokens'> {
  return { start: start_time, ttft, latency };
}

function storedPeaks(store: RequestStore, from: number, to: number): Peaks {
  let origin = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (let at = from; at < to; at++) {
    if (!store.isSuccess(at)) continue;
    const { start, latency } = store.row(at);
    origin = Math.min(origin, start);
    end = Math.max(end, start + latency);
  }
  const counter = new PeakCounter(origin, end);
  for (let at = from; at < to; at++) if (store.isSuccess(at)) counter.add(store.row(at), store.gapsOf(at));
  return counter.peaks();
}

type Span = { requests: number; firstStart: number; lastEnd: number };

function emptySpan(): Span {
  return { requests: 0, firstStart: Number.POSITIVE_INFINITY, lastEnd: Number.NEGATIVE_INFINITY };
}

function stretch(span: Span, record: RequestRecord): void {
  span.requests++;
  span.firstStart = Math.min(span.firstStart, record.start_time);
  span.lastEnd = Math.max(span.lastEnd, record.start_time + Math.max(record.latency, record.end ?? 0));
}

/** Within every limit given, as vLLM judges: limit / 1000 >= value in seconds; no limits, no good requests. */
function isGood(limits: GoodputLimits, ttft: number, tpot: number, e2el: number): boolean {
  const within = (limit: number | undefined, value: number) => limit === undefined || limit / 1000 >= value;
  const any = limits.ttft !== undefined || limits.tpot !== undefined || limits.e2el !== undefined;
  return any && within(limits.ttft, ttft) && within(limits.tpot, tpot) && within(limits.e2el, e2el);
}
