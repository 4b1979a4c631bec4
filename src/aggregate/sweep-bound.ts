/** What sets the knee of a sweep, as far as the measured levels and the server's own words show it. */
import type { SweepAxis, SweepBound, SweepLatency, SweepLevel } from '../record/sweep.ts';
import type { JobBound } from '../transport/server.ts';
import { shown } from './sweep-words.ts';

/** A wait in the server's queue from which requests are said to queue: usage tells hundredths of a second. */
const QUEUE_MS = 20;
/** A knee so near to a number of places is that number. */
const NEAR = 0.25;
/** A latency that grew by this factor has grown. */
const GROWN = 1.2;
/** A level so far above the knee shows what bounds it; nearer ones are hardly beyond it. */
const BEYOND = 1.5;

/** What bounds it, and why that is said. */
export interface Cause {
  readonly bound: SweepBound;
  readonly why: string;
}

/**
 * Reads the cause off the lowest level that lies well beyond the knee: higher ones may run into a second bound.
 * @param levels those that were measured
 * @param jobs how many jobs the server runs at once, by what it tells of itself; null when it does not
 */
export function boundOf(
  axis: SweepAxis,
  jobs: JobBound | null,
  levels: readonly SweepLevel[],
  knee: SweepLevel,
): Cause {
  const sorted = levels.filter(({ status }) => status === 'done').toSorted((a, b) => a.level - b.level);
  const above = sorted.filter(({ level }) => level > knee.level);
  const beyond = above.find(({ level }) => level >= knee.level * BEYOND) ?? above.at(-1);
  const first = sorted[0];
  if (beyond === undefined || first === undefined) return { bound: 'unknown', why: 'no level above was measured' };
  // Who queues at the server has been sent: the client is not what holds it up.
  const queueMs = beyond.server_queue?.mean_ms ?? null;
  if (queueMs !== null && queueMs > QUEUE_MS) return queueCause(axis, jobs, knee, beyond, queueMs);
  if (above.every(({ client_was_limit: was }) => was === true)) {
    const where = above.map(({ level }) => level).join(', ');
    return { bound: 'client', why: `the client was the limit at ${where}: the server may carry more` };
  }
  return withoutQueue(first, beyond, queueMs !== null);
}

function queueCause(
  axis: SweepAxis,
  jobs: JobBound | null,
  knee: SweepLevel,
  beyond: SweepLevel,
  queueMs: number,
): Cause {
  const wait = `at ${beyond.level}, requests wait ${Math.round(queueMs)} ms on average in the server's queue`;
  if (jobs === null) return { bound: 'server_queue', why: wait };
  // A rate says nothing of how many run at once: what was in flight and did not queue does.
  const running = axis === 'concurrency' ? knee.level : runningAt(beyond, queueMs);
  const places =
    jobs.by === 'max_batch_size'
      ? `max_batch_size is ${jobs.jobs}`
      : `cache_size ${jobs.cacheSize} holds ${jobs.jobs} such jobs at ${jobs.pagesPerJob} pages each`;
  if (running === null || Math.abs(running - jobs.jobs) > NEAR * jobs.jobs) {
    return { bound: 'server_queue', why: `${wait}; ${places}, which does not explain it` };
  }
  return { bound: jobs.by === 'max_batch_size' ? 'batch_slots' : 'cache_pages', why: `${places}; ${wait}` };
}

/** Requests that the server worked on at once, on average (J. Little, Operations Research 9, 1961). */
function runningAt({ in_flight_mean: inFlight, e2el }: SweepLevel, queueMs: number): number | null {
  if (inFlight == null || e2el === null || !(e2el.mean_ms > 0)) return null;
  return inFlight * Math.max(0, 1 - queueMs / e2el.mean_ms);
}

/** Nobody is known to wait: do all streams run, and each gets slower? */
function withoutQueue(first: SweepLevel, beyond: SweepLevel, isToldNone: boolean): Cause {
  const tpot = grown(first, beyond, 'tpot');
  const ttft = grown(first, beyond, 'ttft');
  if (tpot?.isGrown === true) {
    const queue = isToldNone ? 'no request waits in a queue, but tokens' : 'tokens';
    return { bound: 'compute', why: `${queue} come slower: TPOT ${tpot.words}` };
  }
  if (ttft?.isGrown === true && tpot !== null) {
    const queue = isToldNone ? 'though the server tells of no queue' : 'and the server tells nothing of a queue';
    const why = `first tokens wait longer (TTFT ${ttft.words}) while tokens come no slower (TPOT ${tpot.words})`;
    return { bound: 'unknown', why: `${why}, as in a queue, ${queue}` };
  }
  if (tpot === null) return { bound: 'unknown', why: 'the server tells nothing that would explain it' };
  const queue = isToldNone ? 'no request waits in a queue' : 'no queue is told of';
  return { bound: 'unknown', why: `tokens come no slower (TPOT ${tpot.words}), and ${queue}` };
}

function grown(first: SweepLevel, last: SweepLevel, key: 'tpot' | 'ttft'): { isGrown: boolean; words: string } | null {
  const [from, to]: readonly (SweepLatency | null)[] = [first[key], last[key]];
  if (!from || !to) return null;
  const words = `${shown(from.mean_ms)} ms at ${first.level}, ${shown(to.mean_ms)} ms at ${last.level}`;
  return { isGrown: to.mean_ms >= from.mean_ms * GROWN, words };
}
