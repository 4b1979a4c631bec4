/** Counters of the server before and after a run (vLLM's `/metrics`), for speculative and diffusion decoding. */
import type { RunOptions } from '../options/table.ts';
import { askSmall } from '../transport/http-json.ts';
import {
  type DiffusionCounters,
  diffusionCounters,
  type SpecDecodeCounters,
  specDecodeCounters,
} from '../transport/prometheus.ts';
import type { ServerFound } from '../transport/server.ts';
import { routeOf } from './run-target.ts';

const METRICS_TIMEOUT_MS = 5000;

/** One reading. */
export interface ServerCounters {
  readonly specDecode: SpecDecodeCounters | null;
  readonly diffusion: DiffusionCounters | null;
}

/** TabbyAPI has no `/metrics`; anywhere else it is read as vLLM reads it, once for each kind, without the user's headers. */
export async function readCounters(options: RunOptions, server: ServerFound): Promise<ServerCounters> {
  if (server.kind === 'tabbyapi') return { specDecode: null, diffusion: null };
  const spec = await metricsText(options);
  const diffusion = await metricsText(options);
  return {
    specDecode: spec === null ? null : specDecodeCounters(spec),
    diffusion: diffusion === null ? null : diffusionCounters(diffusion),
  };
}

/** The pairs as the end frame of a record file holds them; empty when the server tells none. */
export function counterPairs(before: ServerCounters, after: ServerCounters): Record<string, unknown> {
  return {
    ...(before.specDecode !== null && after.specDecode !== null
      ? { spec_decode_before_after: [before.specDecode, after.specDecode] }
      : {}),
    ...(before.diffusion !== null && after.diffusion !== null
      ? { diffusion_before_after: [before.diffusion, after.diffusion] }
      : {}),
  };
}

async function metricsText(options: RunOptions): Promise<string | null> {
  try {
    const answer = await askSmall({
      route: routeOf(options),
      path: `${new URL(options.baseUrl).pathname.replace(/\/$/, '')}/metrics`,
      headers: {},
      timeoutMs: METRICS_TIMEOUT_MS,
    });
    return answer.status === 200 ? answer.text : null;
  } catch {
    // A server without counters is no mistake of anyone.
    return null;
  }
}
