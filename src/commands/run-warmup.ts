/** Warm-up requests: before the clock starts, outside of every figure, and (outside of `bench serve`) never a measured prompt. */
import { randomBytes } from 'node:crypto';
import type { SampleRequest } from '../dataset/sample.ts';
import type { RunOptions } from '../options/table.ts';
import { printable, printErr } from '../report/terminal.ts';
import { LoadRun } from '../transport/coordinator.ts';
import type { ServerFound } from '../transport/server.ts';
import { NO_PLAN, targetOf, timeoutsOf, workOf } from './run-target.ts';

/** Words that make a prompt of about a wanted length; what they say does not matter. */
const FILLER = 'the server is warming up before it is measured and this text is not part of the sample ';
const TOKENS_PER_FILLER = 18;

/** Sends `--num-warmups` requests, at most `--concurrency` at once. Failures are told and do not stop the run. */
export async function runWarmUps(
  options: RunOptions,
  server: ServerFound,
  samples: readonly SampleRequest[],
): Promise<void> {
  const count = options.numWarmups;
  const first = samples[0];
  if (count === 0 || first === undefined) return;
  const warmUps = Array.from({ length: count }, (_, i) =>
    options.form === 'bench' ? { ...first, requestId: null } : unmeasured(first, i),
  );
  let failure = '';
  const run = new LoadRun({
    target: targetOf(options, server),
    timeouts: timeoutsOf(options),
    work: workOf(options, server, warmUps, NO_PLAN),
    slots: Math.min(count, options.maxConcurrency ?? count),
    canGrow: false,
    workers: 1,
    onRecords(_bytes, records) {
      for (const record of records) if (!record.success) failure ||= record.error;
    },
  });
  await run.run(() => undefined);
  if (failure !== '') printErr(`tabby-load: warning: a warm-up request failed: ${printable(failure)}`);
}

/** A request as long as a sample, whose prompt begins with a nonce, so that the prefix cache gets nothing of use from it. */
function unmeasured(sample: SampleRequest, i: number): SampleRequest {
  const filler = FILLER.repeat(Math.max(1, Math.ceil(sample.promptLen / TOKENS_PER_FILLER)));
  return { ...sample, prompt: `${randomBytes(8).toString('hex')} warm-up ${i}: ${filler}`, requestId: null };
}
