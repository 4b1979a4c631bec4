/** The answer of a sweep: where throughput saturates, what bounds it there, and how far the limits are kept. */
import type { SweepAnswer, SweepAxis, SweepBound, SweepBracket, SweepLevel } from '../record/sweep.ts';
import type { JobBound } from '../transport/server.ts';
import { edgeOf, isSaturated, kneeOf, type TriedLevel } from './sweep-plan.ts';

/** What the answer is made from. */
export interface AnswerInput {
  readonly axis: SweepAxis;
  readonly levels: readonly SweepLevel[];
  /** How many jobs the server runs at once, by what it tells of itself; null when it does not. */
  readonly jobs: JobBound | null;
  readonly hasLimits: boolean;
  /** Share of good requests asked for; null = none. */
  readonly goodputTarget: number | null;
}

/** A wait in the server's queue from which requests are said to queue: usage tells hundredths of a second. */
const QUEUE_MS = 20;
/** A knee so near to a number of places is that number. */
const NEAR = 0.25;

/** Works the answer out; partial levels take no part in it. */
export function answerOf(input: AnswerInput): SweepAnswer {
  const levels = input.levels.filter(({ status }) => status !== 'partial');
  const tried = levels.map((level) => triedOf(level, null));
  const knee = kneeOf(tried);
  const saturated = isSaturated(tried);
  const at = levels.find(({ level }) => level === knee);
  const cause = saturated && at !== undefined ? boundOf(input, levels, at) : null;
  const limits = input.hasLimits ? bracketOf(levels.map((level) => triedOf(level, null))) : null;
  const target = input.goodputTarget;
  const goodput = target === null ? null : bracketOf(levels.map((level) => goodputTried(level, target)));
  const answer = {
    knee,
    knee_throughput: at?.output_throughput ?? null,
    is_saturated: saturated,
    bound: cause?.bound ?? null,
    bound_why: cause?.why ?? '',
    limits,
    goodput,
  };
  return { ...answer, words: wordsOf(input, levels, answer) };
}

/** A level as the search sees it: kept when it kept every limit and the goodput target (null = none). */
export function triedOf(level: SweepLevel, target: number | null): TriedLevel {
  const isDone = level.status === 'done';
  const isKept = isDone && level.limits.every(({ kept }) => kept);
  return {
    level: level.level,
    throughput: isDone ? level.output_throughput : 0,
    isKept: isKept && (target === null || goodputTried(level, target).isKept),
  };
}

function goodputTried({ level, status, goodput }: SweepLevel, target: number): Pick<TriedLevel, 'level' | 'isKept'> {
  return { level, isKept: status === 'done' && goodput !== null && goodput.share >= target };
}

function bracketOf(tried: readonly Pick<TriedLevel, 'level' | 'isKept'>[]): SweepBracket {
  const { highestKept, lowestMissed } = edgeOf(tried);
  return { highest_kept: highestKept, lowest_missed: lowestMissed };
}

function boundOf(
  { axis, jobs }: AnswerInput,
  levels: readonly SweepLevel[],
  at: SweepLevel,
): { readonly bound: SweepBound; readonly why: string } {
  const above = levels.filter(({ level, status }) => status === 'done' && level >= at.level);
  if (above.every(({ client_was_limit: was }) => was === true)) {
    return { bound: 'client', why: 'the client was the limit there: the server may carry more' };
  }
  const queued = above.find(({ server_queue: queue }) => (queue?.mean_ms ?? 0) > QUEUE_MS);
  if (queued === undefined) return computeBound(levels, at);
  const wait = `from ${queued.level} on, requests wait ${Math.round(queued.server_queue?.mean_ms ?? 0)} ms on average in the server's queue`;
  // A rate says nothing of how many run at once.
  if (jobs === null || (axis === 'concurrency' && Math.abs(at.level - jobs.jobs) > NEAR * jobs.jobs)) {
    return { bound: 'server_queue', why: wait };
  }
  if (jobs.by === 'max_batch_size') return { bound: 'batch_slots', why: `max_batch_size is ${jobs.jobs}; ${wait}` };
  const cache = `cache_size ${jobs.cacheSize} holds ${jobs.jobs} such jobs at ${jobs.pagesPerJob} pages each`;
  return { bound: 'cache_pages', why: `${cache}; ${wait}` };
}

/** Nobody waits, so all streams run, and each gets slower. */
function computeBound(levels: readonly SweepLevel[], at: SweepLevel): { bound: SweepBound; why: string } {
  const first = levels.find(({ status, tpot }) => status === 'done' && tpot !== null);
  const last = levels.filter(({ status }) => status === 'done').reduce((a, b) => (b.level > a.level ? b : a), at);
  if (!first?.tpot || !last.tpot) return { bound: 'unknown', why: 'the server tells nothing that would explain it' };
  const from = `${shown(first.tpot.mean_ms)} ms at ${first.level}`;
  const to = `${shown(last.tpot.mean_ms)} ms at ${last.level}`;
  if (last.tpot.mean_ms < first.tpot.mean_ms * 1.2) {
    return { bound: 'unknown', why: `tokens come no slower (TPOT ${from}, ${to}), and no queue is told of` };
  }
  return { bound: 'compute', why: `no request waits in a queue, but tokens come slower: TPOT ${from}, ${to}` };
}

const BOUNDS: Readonly<Record<SweepBound, string>> = {
  batch_slots: 'batch slots bound it',
  cache_pages: 'cache pages bound it',
  server_queue: "the server's queue bounds it",
  compute: "the server's computing bounds it",
  client: 'the client bounds it',
  unknown: 'what bounds it is not known',
};

function wordsOf(
  { axis, goodputTarget }: AnswerInput,
  levels: readonly SweepLevel[],
  answer: Omit<SweepAnswer, 'words'>,
): string[] {
  const unit = axis === 'concurrency' ? 'streams' : 'requests/s';
  const { knee, knee_throughput: rate, bound } = answer;
  if (knee === null) return ['No level was measured to its end.'];
  const isOne = levels.filter(({ status }) => status === 'done').length === 1;
  const words = answer.is_saturated
    ? [`Saturates at ${knee} ${unit} with ${shown(rate ?? 0)} tokens/s.`]
    : isOne
      ? [`One level does not show where throughput saturates: ${knee} ${unit} give ${shown(rate ?? 0)} tokens/s.`]
      : [`Not saturated: throughput still grows at ${knee} ${unit} (${shown(rate ?? 0)} tokens/s).`];
  if (bound !== null) words.push(`There, ${BOUNDS[bound]}: ${answer.bound_why}.`);
  if (answer.limits !== null) words.push(edgeWords(answer.limits, unit, 'every limit'));
  if (answer.goodput !== null && goodputTarget !== null) {
    words.push(goodputWords(answer.goodput, levels, unit, goodputTarget));
  }
  const limited = levels.filter(({ client_was_limit: was }) => was === true).map(({ level }) => level);
  if (limited.length > 0) words.push(`The client was the limit at ${limited.join(', ')} ${unit}.`);
  return words;
}

function edgeWords({ highest_kept: kept, lowest_missed: missed }: SweepBracket, unit: string, what: string): string {
  if (kept === null) return `No level keeps ${what}.`;
  const next = missed === null ? 'all levels do' : `${missed} does not`;
  return `${kept} ${unit} is the highest level that keeps ${what} (${next}).`;
}

function goodputWords(bracket: SweepBracket, levels: readonly SweepLevel[], unit: string, target: number): string {
  const text = edgeWords(bracket, unit, `a goodput of ${percent(target)}`);
  const at = levels.find(({ level }) => level === bracket.highest_kept)?.goodput;
  if (!at) return text;
  const interval = `95 % interval ${percent(at.low)} to ${percent(at.high)}`;
  return `${text} There ${percent(at.share)} of ${at.requests} requests were good, ${interval}.`;
}

function shown(value: number): string {
  return `${Number(value.toPrecision(value >= 1000 ? 6 : 4))}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}
