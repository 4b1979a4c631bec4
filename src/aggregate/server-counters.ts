/**
 * What a server's counters from before and after the run say: speculative decoding and diffusion decoding, as vLLM's benchmark
 * reports them from `/metrics`.
 */

/** Speculative decoding over the run. */
export interface SpecDecodeStats {
  /** Accepted / draft tokens, in percent. */
  readonly acceptanceRate: number;
  /** 1 + accepted tokens per draft: tokens that one step yields. */
  readonly acceptanceLength: number;
  readonly numDrafts: number;
  readonly draftTokens: number;
  readonly acceptedTokens: number;
  /** Accepted share by position in the draft, 0..1. */
  readonly perPositionRates: readonly number[];
}

/** Diffusion decoding over the run. */
export interface DiffusionStats {
  readonly committedThroughput: number;
  readonly stepsPerCanvas: number;
  readonly committedPerStep: number;
  readonly committedTokens: number;
  /** Steps that denoise; the one that commits each canvas is not counted. */
  readonly denoisingSteps: number;
  readonly canvasPositions: number;
}

/**
 * The counters' growth as figures; null when there are none or no draft token was made in the run.
 * @param beforeAfter `[before, after]`, each with num_drafts, num_draft_tokens, num_accepted_tokens, accepted_per_pos
 */
export function specDecodeStats(beforeAfter: unknown): SpecDecodeStats | null {
  const pair = asPair(beforeAfter);
  if (pair === null) return null;
  const grown = growth(pair);
  const drafts = grown('num_drafts');
  const draftTokens = grown('num_draft_tokens');
  const accepted = grown('num_accepted_tokens');
  if (!(draftTokens > 0)) return null;
  const [before, after] = pair.map((counters) => asObject(counters['accepted_per_pos']) ?? {}) as [Counters, Counters];
  const positions = [...new Set([...Object.keys(before), ...Object.keys(after)])].map(Number).sort((a, b) => a - b);
  return {
    acceptanceRate: (accepted / draftTokens) * 100,
    acceptanceLength: drafts > 0 ? 1 + accepted / drafts : 0,
    numDrafts: drafts,
    draftTokens,
    acceptedTokens: accepted,
    perPositionRates:
      drafts > 0 ? positions.map((p) => (count(after[p] ?? before[p]) - count(before[p])) / drafts) : [],
  };
}

/**
 * The counters' growth as figures; null when there are none or nothing was committed in the run. Positions / steps is the length of a
 * canvas; each canvas takes one step to commit, which is not a denoising step.
 * @param beforeAfter `[before, after]`, each with num_denoising_steps, num_canvas_positions, num_committed_tokens
 */
export function diffusionStats(beforeAfter: unknown, durationS: number): DiffusionStats | null {
  const pair = asPair(beforeAfter);
  if (pair === null) return null;
  const grown = growth(pair);
  const steps = grown('num_denoising_steps');
  const positions = grown('num_canvas_positions');
  const committed = grown('num_committed_tokens');
  if (!(steps > 0 && committed > 0 && positions > 0)) return null;
  const canvases = committed / (positions / steps);
  const denoising = steps - canvases;
  return {
    committedThroughput: durationS > 0 ? committed / durationS : 0,
    stepsPerCanvas: denoising / canvases,
    committedPerStep: denoising > 0 ? committed / denoising : 0,
    committedTokens: Math.trunc(committed),
    denoisingSteps: Math.trunc(denoising),
    canvasPositions: Math.trunc(positions),
  };
}

type Counters = Readonly<Record<string, unknown>>;

function asPair(value: unknown): [Counters, Counters] | null {
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [before, after] = value.map(asObject);
  return before && after ? [before, after] : null;
}

function asObject(value: unknown): Counters | null {
  return typeof value === 'object' && value !== null ? (value as Counters) : null;
}

function growth([before, after]: [Counters, Counters]): (key: string) => number {
  return (key) => count(after[key]) - count(before[key]);
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
