/** Memory of a process and its threads over time, seen from inside by a file that every thread loads first. */

/** A CommonJS file for `--require`: five times a second each thread writes `thread ms rss heapUsed external`. */
export const MEMORY_HOOK = `
const { appendFileSync } = require('node:fs');
const { threadId } = require('node:worker_threads');
const note = () => {
  const { rss, heapUsed, external } = process.memoryUsage();
  appendFileSync(process.env.SOAK_MEMORY, [threadId, performance.timeOrigin + performance.now(), rss, heapUsed, external].join(' ') + '\\n');
};
setInterval(note, 200).unref();
`;

/** One row of the table. */
export interface MemoryRow {
  readonly name: string;
  readonly detail: string;
  readonly isFlat: boolean;
}

const MB = 1e6;
/** Parts of the run that stand for its start, middle and end. Before the first everything is set up and compiled. */
const PARTS = [
  ['start', 0.2, 0.35],
  ['middle', 0.45, 0.6],
  ['end', 0.85, 1],
] as const;
/** What noise and the collector's moods may add from the middle to the end: less of a heap than of the whole process. */
const SLACK_SHARE = 0.1;
const HEAP_SLACK = 16 * MB;
const PROCESS_SLACK = 48 * MB;

interface Sample {
  readonly at: number;
  readonly rss: number;
  readonly heap: number;
}

/** Rows for the process and for each thread's heap. Threads that lived shorter than most of the run are left out. */
export function memoryRows(text: string): MemoryRow[] {
  const threads = new Map<number, Sample[]>();
  for (const line of text.trim().split('\n')) {
    const [thread = 0, at = 0, rss = 0, heap = 0] = line.split(' ').map(Number);
    const samples = threads.get(thread) ?? [];
    threads.set(thread, samples);
    samples.push({ at, rss, heap });
  }
  const workers = [...threads].filter(([thread]) => thread > 0);
  // The workers' time is that of the load; main also has the time before and after it.
  const from = Math.min(...workers.map(([, samples]) => (samples[0] as Sample).at));
  const to = Math.max(...workers.map(([, samples]) => (samples.at(-1) as Sample).at));
  const main = threads.get(0) ?? [];
  const rows = [rowOf('process, resident', main, from, to, ({ rss }) => rss, PROCESS_SLACK)];
  for (const [thread, samples] of [...threads].sort(([a], [b]) => a - b)) {
    const name = thread === 0 ? 'heap of main' : `heap of worker ${thread}`;
    rows.push(rowOf(name, samples, from, to, ({ heap }) => heap, HEAP_SLACK));
  }
  return rows;
}

function rowOf(
  name: string,
  samples: readonly Sample[],
  from: number,
  to: number,
  value: (sample: Sample) => number,
  slack: number,
): MemoryRow {
  // The lowest of each part: what is left after a collection.
  const floors = PARTS.map(([part, begin, end]) => {
    const within = samples.filter(({ at }) => at >= from + begin * (to - from) && at <= from + end * (to - from));
    return [part, Math.min(...within.map(value))] as const;
  });
  const [, middle, last] = floors.map(([, bytes]) => bytes) as [number, number, number];
  return {
    name,
    detail: floors
      .map(([part, bytes]) => `${part} ${Number.isFinite(bytes) ? `${(bytes / MB).toFixed(0)} MB` : '-'}`)
      .join(', '),
    isFlat: last <= middle * (1 + SLACK_SHARE) + slack,
  };
}
