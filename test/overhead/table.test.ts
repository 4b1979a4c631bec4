import { describe, expect, it } from 'vitest';
import { OVERHEAD_SCHEMA, overheadJson, overheadLines } from '../../src/report/overhead-table.ts';
import { level, report } from './builder.ts';

describe('the self-benchmark on the terminal', () => {
  it('is two tables and what they mean', () => {
    expect(overheadLines(report()).slice(0, 12)).toEqual([
      'tabby-load 1.2.3 on Node 24.1.0, 8 cores (Some CPU), client and server on this machine',
      'Server: first token after 50 ms, then one each 10 ms; 100 tokens an answer.',
      '',
      '             delivery delay, ms          TTFT error, ms          gap error, ms',
      'streams  mean   p50   p99     σ  mean   p50   p99     σ  mean   p50   p99    σ',
      '      1  0.12  0.10  1.23  0.20  0.50  0.40  12.3  0.30  0.05  0.01  0.90  123',
      '  1,000  0.12  0.10  1.23  0.20  0.50  0.40  12.3  0.30  0.05  0.01  0.90  123',
      '',
      'streams  events/s  µs/event  cores  workers  busy  loop p99  loop max  server late',
      '      1       100       8.3   0.60        1  42 %      1.50      9.00         0.40',
      '  1,000   100,000       8.3   0.60        1  42 %      1.50      9.00         0.40',
      '',
    ]);
    expect(overheadLines(report()).at(-1)).toBe('All 300,300 events were seen, each once.');
  });

  it('tells of losses, of a server that was late, and of levels left out', () => {
    const late = { mean: 80, p99: 560.4, max: 900 };
    const lossy = level(1000, {
      lost: 250,
      failed: 3,
      firstError: 'cut\u001b[2J',
      eventsPerS: 80_000,
      server: { lateMs: late, frames: 300_000, cpuUsPerFrame: 4 },
    });
    const skipped = [{ streams: 5000, why: 'they need 5064 open files, but the limit is 1024 (ulimit -n)' }];
    expect(overheadLines(report({ levels: [level(1), lossy], skipped, lockstep: true })).slice(-3)).toEqual([
      'At 1,000 streams 250 of 300,000 events were lost, 3 requests failed: cut\\u001b[2J.',
      'At 1,000 streams the built-in server itself was late (p99 560 ms): 80,000 of 100,000 events/s, in bursts.',
      '5,000 streams were left out: they need 5064 open files, but the limit is 1024 (ulimit -n).',
    ]);
    expect(overheadLines(report({ lockstep: true }))[1]).toContain('all streams in the same instant');
  });

  it('says how many streams the highest rate allows', () => {
    const best = level(900, { eventsPerS: 90_000.4, workers: 2 });
    const search = { limitMs: 5, endedBy: 'limit', best, tries: [best] } as const;
    expect(overheadLines(report({ search })).slice(-3)).toEqual([
      'Highest rate with 99 % of the events seen within 5 ms: 90,000 events/s.',
      'That is so many streams: 900 at 100 tokens/s, 1,800 at 50 tokens/s, 4,500 at 20 tokens/s.',
      'Measured with 900 streams in steady state: p99 1.23 ms, 8.3 µs CPU per event, 2 workers; the server takes its share of the same cores.',
    ]);
    // 30 ms between two tokens: 33.3 a second.
    expect(overheadLines(report({ search: { ...search, endedBy: 'files' }, itlMs: 30 })).slice(-3, -1)).toEqual([
      'Highest rate with 99 % of the events seen within 5 ms: at least 90,000 events/s (more streams need more open files: ulimit -n).',
      'That is so many streams: 2,700 at 33.3 tokens/s, 900 at 100 tokens/s, 1,800 at 50 tokens/s, 4,500 at 20 tokens/s.',
    ]);
    const none = { ...search, best: null, tries: [level(4), level(2), level(8)] };
    expect(overheadLines(report({ search: none })).at(-1)).toBe(
      'No rate was found at which 99 % of the events are seen within 5 ms (2 streams: p99 1.23 ms).',
    );
  });
});

describe('the self-benchmark as JSON', () => {
  it('has a schema, snake case, and every figure', () => {
    const best = level(900);
    const search = { limitMs: 5, endedBy: 'server', best, tries: [best, level(1800)] } as const;
    const json = JSON.parse(JSON.stringify(overheadJson(report({ search })))) as {
      readonly levels: readonly unknown[];
    };
    expect(OVERHEAD_SCHEMA).toBe('tabby-load.overhead/1');
    expect(json).toMatchObject({
      schema: OVERHEAD_SCHEMA,
      machine: { node: '24.1.0', cpu: 'Some CPU', cores: 8 },
      server: { ttft_ms: 50, itl_ms: 10, tokens: 100, lockstep: false },
      search: { limit_ms: 5, ended_by: 'server', is_lower_bound: true, events_per_s: 90_000, streams: 900 },
    });
    expect(json.levels).toHaveLength(2);
    expect(json.levels[1]).toMatchObject({
      concurrency: 1000,
      events: 300_000,
      lost_events: 0,
      ttft_error_ms: { count: 100, mean: 0.5, p50: 0.4, p99: 12.34, std: 0.3 },
      gap_error_ms: { p99: 0.9 },
      delivery_ms: { p99: 1.234 },
      cpu_us_per_event: 8.25,
      loop_delay_ms: { p99: 1.5, max: 9 },
      server: { late_ms: { mean: 0.05, p99: 0.4, max: 3 } },
    });
    expect(JSON.stringify(json)).not.toMatch(/"[a-z]+[A-Z]/);
  });
});
