import { describe, expect, it } from 'vitest';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import { finishReport } from '../../src/report/finish.ts';
import { markdownLines } from '../../src/report/markdown.ts';

describe('the report as Markdown', () => {
  it('has the figures of the result, and no cell that a text from outside could end', async () => {
    const aggregate = new RunAggregate();
    for (let i = 0; i < 4; i++) {
      aggregate.add({
        type: 'request',
        i,
        success: true,
        prompt_len: 10,
        output_tokens: 3,
        ttft: 0.1,
        itl: Float64Array.of(0.02, 0.03),
        latency: 0.15,
        start_time: 5,
        arrival_time: 5,
        error: '',
      });
    }
    const header = {
      type: 'header' as const,
      schema: 'tabby-load.records/1',
      started_at: '',
      options: { model: 'a|b<img>', metric_percentiles: '50,99.9', percentile_metrics: 'ttft,tpot,itl' },
    };
    const report = await finishReport({ aggregate, header, end: { type: 'end', duration_s: 2, interrupted: false } });
    const lines = markdownLines(report);
    expect(lines[0]).toBe('**Serving benchmark of a\\|b&lt;img>**');
    expect(lines).toContain('| Requests | 4 completed, 0 failed |');
    // 4 requests in 2 s, with 3 tokens each.
    expect(lines).toContain('| Request throughput (req/s) | 2.00 |');
    expect(lines).toContain('| Output token throughput (tok/s) | 6.00 |');
    expect(lines).toContain('| ms | mean | median | std | p50 | p99.9 |');
    expect(lines).toContain('| TTFT | 100.00 | 100.00 | 0.00 | 100.00 | 100.00 |');
    expect(lines).toContain('| TPOT | 25.00 | 25.00 | 0.00 | 25.00 | 25.00 |');
    expect(lines.some((line) => line.startsWith('| ITL | 25.00 | 25.00 | 5.00 |'))).toBe(true);
    for (const line of lines.filter((each) => each.startsWith('|')))
      expect(line.endsWith(' |') || line.endsWith('-|') || line.endsWith(': |')).toBe(true);
  });
});
