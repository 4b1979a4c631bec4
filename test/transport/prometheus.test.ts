import { describe, expect, it } from 'vitest';
import { diffusionCounters, specDecodeCounters } from '../../src/transport/prometheus.ts';
import { goldenCases } from '../support/fixtures.ts';

describe('speculative decoding counters, as vLLM reads them', () => {
  for (const one of goldenCases<{ name: string; text: string; expected: unknown }>('prometheus')) {
    it(one.name, () => {
      expect(specDecodeCounters(one.text)).toEqual(one.expected);
    });
  }
});

describe('diffusion counters', () => {
  it('are summed over engines, and absent when there are none', () => {
    const text = [
      '# TYPE vllm:diffusion_num_denoising_steps counter',
      'vllm:diffusion_num_denoising_steps_total{engine="0"} 10.0',
      'vllm:diffusion_num_denoising_steps_total{engine="1"} 5.9',
      'vllm:diffusion_num_canvas_positions_total{engine="0"} 64',
      'vllm:diffusion_num_committed_tokens_total{engine="0"} 32',
      'vllm:diffusion_num_committed_tokens_created{engine="0"} 1.7e9',
    ].join('\n');
    expect(diffusionCounters(text)).toEqual({
      num_denoising_steps: 15,
      num_canvas_positions: 64,
      num_committed_tokens: 32,
    });
    expect(diffusionCounters('vllm:num_requests_running 3\n')).toBeNull();
  });
});
