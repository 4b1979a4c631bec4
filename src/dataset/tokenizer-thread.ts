/** Program of a counting thread (see tokenizer-threads.ts): an entry point of its own in the built package. */
import { parentPort, workerData } from 'node:worker_threads';
import { openCounter } from './tokenizer-local.ts';
import type { CountReply, CountTask, CountThreadData } from './tokenizer-threads.ts';

const counter = openCounter((workerData as CountThreadData).folder);
// A tokenizer that cannot be opened is reported when the first task awaits it; until then it must not end the process.
counter.catch(() => {});

parentPort?.on('message', async (task: CountTask) => {
  const count = await counter;
  const reply: CountReply = { start: task.start, counts: task.texts.map(count) };
  parentPort?.postMessage(reply);
});
