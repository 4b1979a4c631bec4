/** Counters of a made-up run, for tests of the panel. */
import type { PanelState } from '../../src/report/panel-history.ts';

/** Ten of a hundred requests are done after ten seconds; each is asked for 100 tokens, and a frame is a token. */
export const STATE: PanelState = {
  planned: 100,
  completed: 10,
  failed: 0,
  inFlight: 4,
  maxInFlight: 4,
  elapsedMs: 10_000,
  tokenFrames: 1200,
  framesOfEnded: 1000,
  countedMs: 10_000,
  tokensPerFrame: 1,
  asked: { all: 10_000, begun: 1400, succeeded: 1000, failed: 0 },
  framesPerAsked: 1,
  durationMs: null,
  lastPlannedMs: 0,
  isEnding: false,
  ttft: { p50Ms: 123.4, p99Ms: 1234 },
  itl: { p50Ms: 20.14, p99Ms: 45.31 },
  errors: new Map(),
  clientLimit: null,
  loopMaxMs: 4.1,
};
