import { describe, expect, it } from 'vitest';
import { diffusionStats, specDecodeStats } from '../../src/aggregate/server-counters.ts';

describe('speculative decoding', () => {
  const counters = (drafts: number, tokens: number, accepted: number, perPos: Record<string, number>) => ({
    num_drafts: drafts,
    num_draft_tokens: tokens,
    num_accepted_tokens: accepted,
    accepted_per_pos: perPos,
  });

  it('is the growth of the counters', () => {
    expect(
      specDecodeStats([counters(10, 30, 12, { 0: 8, 1: 4 }), counters(20, 60, 27, { 0: 16, 1: 9, 10: 2, 2: 1 })]),
    ).toEqual({
      acceptanceRate: 50,
      acceptanceLength: 2.5,
      numDrafts: 10,
      draftTokens: 30,
      acceptedTokens: 15,
      perPositionRates: [0.8, 0.5, 0.1, 0.2],
    });
  });

  it('says nothing without draft tokens, or without counters', () => {
    expect(specDecodeStats([counters(5, 9, 3, {}), counters(5, 9, 3, {})])).toBeNull();
    for (const none of [undefined, null, [null, null], [counters(1, 1, 1, {})], 'x'])
      expect(specDecodeStats(none)).toBeNull();
  });

  it('has no positions when drafts were not counted', () => {
    expect(specDecodeStats([counters(0, 0, 0, {}), counters(0, 4, 2, { 0: 2 })])).toMatchObject({
      acceptanceLength: 0,
      perPositionRates: [],
    });
  });
});

describe('diffusion decoding', () => {
  it('does not count the step that commits each canvas', () => {
    const before = { num_denoising_steps: 0, num_canvas_positions: 0, num_committed_tokens: 0 };
    // 60 steps over canvases of 16: 5 canvases were committed, one step each.
    const after = { num_denoising_steps: 60, num_canvas_positions: 960, num_committed_tokens: 80 };
    expect(diffusionStats([before, after], 4)).toEqual({
      committedThroughput: 20,
      stepsPerCanvas: 11,
      committedPerStep: 80 / 55,
      committedTokens: 80,
      denoisingSteps: 55,
      canvasPositions: 960,
    });
    expect(diffusionStats([after, after], 4)).toBeNull();
  });
});
