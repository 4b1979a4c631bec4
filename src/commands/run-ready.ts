/** Requests before and beside the load: vLLM's ready check, and the probes of `--probe-request-rate`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SampleRequest } from '../dataset/sample.ts';
import { unreachableError } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import { monotonicOffsetMs, nowMs } from '../record/clock.ts';
import { printable, printErr } from '../report/terminal.ts';
import { newReader } from '../sse/reader.ts';
import { backendOf, bodyBytes } from '../transport/backend.ts';
import type { ServerFound } from '../transport/server.ts';
import type { PackedRequest } from '../transport/shared-work.ts';
import { SingleSender } from '../transport/single.ts';
import { bodyOptionsOf, targetOf, timeoutsOf } from './run-target.ts';

/** vLLM's pause between tries. */
const RETRY_MS = 5000;

/** Repeats the first request until it succeeds (`--ready-check-timeout-sec`). Throws when it does not in time. */
export async function checkReady(
  options: RunOptions,
  server: ServerFound,
  samples: readonly SampleRequest[],
): Promise<void> {
  const first = samples[0];
  if (options.readyCheckTimeoutSec === 0 || first === undefined) return;
  const sender = newSender(options, server);
  const deadline = nowMs() + options.readyCheckTimeoutSec * 1000;
  let words = 'no answer';
  try {
    for (;;) {
      const leftMs = deadline - nowMs();
      if (leftMs <= 0) break;
      const record = await sender.send(requestOf(options, server, first), Math.max(leftMs, 1));
      if (record.success) return;
      words = record.error;
      printErr(`tabby-load: the server is not ready: ${printable(words)}`);
      await sleep(Math.max(0, Math.min(RETRY_MS, deadline - nowMs())));
    }
  } finally {
    sender.close();
  }
  throw unreachableError(
    `the first request did not succeed within ${options.readyCheckTimeoutSec} s: ${printable(words)}`,
    'Check the model, the endpoint and the options of the requests; nothing was measured.',
  );
}

/** What the probes saw; as the end frame holds it. */
export interface ProbeResult {
  readonly latencies_s: readonly number[];
  readonly failed: number;
}

/** Sends one-token requests one after another, with a pause of 1/rate between them, until `stop` is called. */
export class Prober {
  private readonly sender: SingleSender;
  private readonly loop: Promise<void>;
  private readonly latencies: number[] = [];
  private failed = 0;
  private readonly stopping = new AbortController();

  constructor(options: RunOptions, server: ServerFound) {
    this.sender = newSender(options, server);
    const pauseMs = 1000 / options.probeRequestRate;
    const request = requestOf(options, server, { prompt: 'Hi', promptLen: 1, outputLen: 1, requestId: null });
    this.loop = this.run(request, pauseMs, timeoutsOf(options).requestMs);
  }

  /** Ends the probes, waiting for the one under way. */
  async stop(): Promise<ProbeResult> {
    this.stopping.abort();
    await this.loop;
    this.sender.close();
    return { latencies_s: this.latencies, failed: this.failed };
  }

  private async run(request: PackedRequest, pauseMs: number, limitMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const record = await this.sender.send(request, limitMs);
      if (record.success) this.latencies.push(record.latency);
      else this.failed++;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

function newSender(options: RunOptions, server: ServerFound): SingleSender {
  const target = targetOf(options, server);
  return new SingleSender({
    target,
    connectTimeoutMs: timeoutsOf(options).connectMs,
    clockOffsetMs: monotonicOffsetMs(),
    newReader: () => newReader(target),
  });
}

function requestOf(options: RunOptions, server: ServerFound, sample: SampleRequest): PackedRequest {
  return {
    body: bodyBytes(backendOf(options.backend), sample, bodyOptionsOf(options, server)),
    plannedMs: 0,
    promptLen: sample.promptLen,
    outputLen: sample.outputLen,
    requestId: null,
    category: undefined,
  };
}
