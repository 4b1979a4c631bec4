/**
 * Counting tokens on several threads, for batches that would keep one thread busy for seconds. Each thread loads the tokenizer itself
 * (half a second), so that only texts and counts cross over.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Texts given to a thread at a time: long enough to hide the round trip, short enough that the threads end together. */
const TEXTS_PER_TASK = 64;

const MAX_THREADS = 8;

/** What a thread is asked: count these texts. */
export interface CountTask {
  readonly start: number;
  readonly texts: readonly string[];
}

/** What a thread answers. */
export interface CountReply {
  readonly start: number;
  readonly counts: readonly number[];
}

/** What a thread is started with. */
export interface CountThreadData {
  readonly folder: string;
}

/** Running threads. */
export interface ThreadPool {
  readonly size: number;
  countAll(texts: readonly string[]): Promise<readonly number[]>;
  close(): Promise<void>;
}

/** The thread's program beside this one in the built package; absent when run from source. */
function defaultEntry(): URL {
  return new URL('./tokenizer-thread.js', import.meta.url);
}

/**
 * Starts threads for the tokenizer in `folder`. Null when there is nothing to gain (one processor) or the thread's program is not
 * there: the caller then counts itself. `entry` and `size` are for tests.
 */
export async function startCountingThreads(
  folder: string,
  entry: URL = defaultEntry(),
  size = Math.min(MAX_THREADS, availableParallelism()),
): Promise<ThreadPool | null> {
  if (size < 2 || !existsSync(entry)) return null;
  const data: CountThreadData = { folder };
  const workers = Array.from({ length: size }, () => new Worker(entry, { workerData: data }));
  let failure: unknown = null;
  for (const worker of workers) {
    // Also while no task is out: an error event that nobody listens to would end the process.
    worker.on('error', (error: unknown) => {
      failure ??= error;
    });
  }
  return {
    size,
    async countAll(texts) {
      if (failure !== null) throw failure;
      return countOn(workers, texts);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

/** Hands out the texts in small tasks, the next one to whichever thread is free. */
async function countOn(workers: readonly Worker[], texts: readonly string[]): Promise<readonly number[]> {
  const counts = new Array<number>(texts.length);
  let next = 0;
  await Promise.all(
    workers.map(async (worker) => {
      while (next < texts.length) {
        const task: CountTask = { start: next, texts: texts.slice(next, next + TEXTS_PER_TASK) };
        next += task.texts.length;
        const reply = await ask(worker, task);
        for (const [i, count] of reply.counts.entries()) counts[reply.start + i] = count;
      }
    }),
  );
  return counts;
}

function ask(worker: Worker, task: CountTask): Promise<CountReply> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      worker.off('message', onMessage);
      worker.off('error', onError);
      worker.off('exit', onExit);
    };
    const onMessage = (reply: CountReply) => {
      settle();
      resolve(reply);
    };
    const onError = (error: unknown) => {
      settle();
      reject(error);
    };
    const onExit = (code: number) => onError(new Error(`a tokenizer thread ended with code ${code}`));
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', onExit);
    worker.postMessage(task);
  });
}
