/** Entry of a worker thread (piscina): one long task per run. Joins the transport to the stages behind it. */
import { HistogramSet, initHistograms } from './aggregate/histogram.ts';
import { workerDeath } from './commands/worker-death.ts';
import type { WorkOrder } from './record/messages.ts';
import { newReader } from './sse/reader.ts';
import { runWorker } from './transport/worker-run.ts';

/** Runs the order to its end. */
export default async function work(order: WorkOrder): Promise<void> {
  await initHistograms();
  const histograms = new HistogramSet();
  const death = workerDeath(order.worker);
  let successes = 0;
  await runWorker(order, {
    newReader: () => newReader(order.target),
    measures: {
      add(record) {
        histograms.recordRequest(record);
        if (++successes === death?.after) death.strike();
      },
      encode: () => histograms.encode(),
    },
  });
}
