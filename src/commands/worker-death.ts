/**
 * For tests of what a dead worker costs: `TABBY_LOAD_TEST_WORKER_DEATH="throw 0 20"` ends worker 0 after its 20th success by an error that
 * nothing catches; `exit` ends the thread, `heap` fills its memory until V8 gives up. `all` in place of the number means every worker,
 * those that replace others too.
 */

/** What is to happen to this worker after a number of successes. */
export interface WorkerDeath {
  readonly after: number;
  strike(): void;
}

/** The death of this worker; null when none is ordered, as always outside of tests. */
export function workerDeath(worker: number): WorkerDeath | null {
  const order = process.env['TABBY_LOAD_TEST_WORKER_DEATH'];
  const [, how = '', who = '', after = ''] = /^(throw|exit|heap) (\d+|all) (\d+)$/.exec(order ?? '') ?? [];
  if (how === '' || (who !== 'all' && Number(who) !== worker)) return null;
  return { after: Number(after), strike: () => setImmediate(DEATHS[how as keyof typeof DEATHS]) };
}

const DEATHS = {
  throw(): void {
    throw new Error('ordered to die');
  },
  exit(): void {
    process.exit(3);
  },
  heap(): void {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, (_, i) => ({ i })));
  },
} as const;
