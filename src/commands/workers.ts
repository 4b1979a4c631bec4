/** How many worker threads a run gets. */
import { availableParallelism } from 'node:os';

/**
 * Streams that one worker carries without being late: 1,000 streams of 100 tokens a second fill about 70 % of a core, and an arrival
 * waits the longer the fuller the core is, so a worker gets a quarter of that where there are cores to spare.
 */
const STREAMS_PER_WORKER = 250;

/** The asked number, or one by cores and slots; never more than slots. One core is left to the coordinator and the system. */
export function chooseWorkers(asked: number | null, slots: number): number {
  if (asked !== null) return Math.max(1, Math.min(asked, slots));
  const spare = Math.max(1, availableParallelism() - 1);
  return Math.max(1, Math.min(spare, Math.ceil(slots / STREAMS_PER_WORKER)));
}
