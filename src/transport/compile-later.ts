/** Keeps V8's optimizing compiler out of the first waves of the load. */
import { setFlagsFromString } from 'node:v8';

/**
 * What V8 11 (Node 20) lets a function run, in bytes of bytecode, before it considers optimizing it; its own default is 67,584. At that, a
 * first wave of requests has some two hundred functions compiled within the time to first token, by a thread that takes half of the
 * core which ought to read: 1,000 streams on one core measured a mean TTFT 2.2 to 3.3 ms too high and a p99 15 to 27 ms, with this 0.6 to 1.1
 * and 2.8 to 5.5 ms. What runs for each token has used it up within a tenth of a second, so CPU time per token stays the same.
 */
const INTERRUPT_BUDGET = 2_000_000;

/** To be called before the threads of the load start. V8 12 and newer count calls instead; other counts made no clear difference there. */
export function compileLater(): void {
  if (process.versions.v8.startsWith('11.')) setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`);
}
