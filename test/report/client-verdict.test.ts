import { describe, expect, it } from 'vitest';
import { RunAggregate } from '../../src/aggregate/collect.ts';
import type { RecordEnd } from '../../src/record/record.ts';
import { finishReport } from '../../src/report/finish.ts';
import { resultText } from '../../src/report/json.ts';
import { verdictLine, warningText } from '../../src/report/warnings.ts';
import { END, HEADER, request } from '../record/builder.ts';

const worker = (index: number, loop: Record<string, number>, utilisation = 0.3) => ({
  worker: index,
  loop_delay_ms: { mean: 0.2, p99: 1.2, max: 3.4, max_at_s: 1, max_cpu: 1, blocks: 0, ...loop },
  utilisation,
});

async function report(health: unknown, end: Record<string, unknown> = {}) {
  const aggregate = new RunAggregate();
  for (let i = 0; i < 4; i++) aggregate.add(request(i));
  return await finishReport({
    aggregate,
    header: HEADER,
    end: { ...END, client_health: health, ...end } as RecordEnd,
  });
}

const own = (finished: Awaited<ReturnType<typeof report>>) =>
  (JSON.parse(resultText(finished.result)) as { tabby_load: Record<string, unknown> }).tabby_load;

describe('the verdict in a report', () => {
  it('is one line and a boolean when the client was not the limit', async () => {
    const finished = await report({ workers: [worker(0, {}), worker(1, {}, 0.42)] });
    expect(finished.consoleLines.at(-1)).toBe(
      'tabby-load: client: was not the limit (loop delay p99 1.2 ms, max 3.4 ms; 42 % busy; 2 workers)',
    );
    expect(own(finished)['client_was_limit']).toBe(false);
    expect(own(finished)).not.toHaveProperty('client_limit_reasons');
    expect(finished.warningLines).toEqual([]);
  });

  it('is one line, a boolean, the codes and a warning each when it was', async () => {
    const health = { cores: 8, workers: [worker(0, {}), worker(1, { p99: 98, max: 203.6, blocks: 2 }, 0.95)] };
    const finished = await report(health);
    expect(finished.consoleLines.at(-1)).toBe(
      "tabby-load: client: WAS the limit: worker 1's loop was blocked up to 204 ms; worker 1's loop was busy 95 % of the time",
    );
    expect(own(finished)).toMatchObject({
      client_was_limit: true,
      client_limit_reasons: ['client_loop_blocked', 'client_busy'],
    });
    expect(finished.warningLines).toHaveLength(2);
    expect((own(finished)['warnings'] as { code: string }[]).map(({ code }) => code)).toEqual([
      'client_loop_blocked',
      'client_busy',
    ]);
  });

  it('is not there when the records say nothing of the client', async () => {
    const finished = await report(undefined);
    expect(finished.consoleLines.join('\n')).not.toContain('client:');
    expect(own(finished)).not.toHaveProperty('client_was_limit');
  });

  it('tells whose fault frames that arrive together are', async () => {
    const shared = async (utilisation: number) => {
      const aggregate = new RunAggregate();
      aggregate.add(request(0, { frames: 4, merged_frames: 2 }));
      const end = { ...END, client_health: { workers: [worker(0, {}, utilisation)] } } as RecordEnd;
      const { warnings } = await finishReport({ aggregate, header: HEADER, end });
      return warnings.filter(({ code }) => code === 'frames_share_reads').map(warningText)[0];
    };
    expect(await shared(0.2)).toMatch(/^50 % of the token frames arrived together .* The server, or a proxy/);
    expect(await shared(0.95)).toMatch(/A late client \(see below\)/);
  });
});

describe('words about the client', () => {
  const loop = { worker: 2, workers: 3, p99_ms: 12.4, max_ms: 40.2, at_s: 3.25, blocks: 1, gc_max_ms: 3 };

  it.each([
    [
      'client_loop_late',
      { ...loop, too_high_ms: { ttft: 12.4, itl: 9.96 }, use_workers: 4 },
      "TTFT p99 may be 12 ms too high, ITL p99 may be 10.0 ms too high: worker 2's loop was 12 ms late for 1 % of the time, and blocked up to 40 ms; use --workers 4",
    ],
    [
      'client_loop_blocked',
      { ...loop, workers: 1, blocks: 5, too_high_ms: {}, use_workers: null },
      "single latencies may be 40 ms too high: the worker's loop was blocked up to 40 ms, 3.3 s into the run (5 times for 50 ms or more); there is no core for another worker: lower the load, or give the client a machine of its own",
    ],
    [
      'client_loop_blocked',
      { ...loop, gc_max_ms: 38, too_high_ms: {}, cpu_share: 0.514, use_workers: null },
      "single latencies may be 40 ms too high: worker 2's loop was blocked up to 40 ms, 3.3 s into the run; garbage collection took up to 38 ms; it got only 51 % of the CPU time it wanted: something else is using the cores",
    ],
    [
      'client_loop_blocked',
      { ...loop, too_high_ms: {}, not_run: true, use_workers: 6 },
      "single latencies may be 40 ms too high: worker 2's loop was blocked up to 40 ms, 3.3 s into the run; the system did not run it: something else was using the cores",
    ],
    [
      'client_in_flight_low',
      { asked: 1000, seen: 640, workers: 1, use_workers: 2 },
      'at most 640 of the 1,000 requests asked for were in flight: answers ended faster than new requests were sent; use --workers 2',
    ],
    [
      'client_sends_late',
      { worker: 0, workers: 1, p99_ms: 35, max_ms: 1234.5, use_workers: 2 },
      'requests were sent up to 1,235 ms after they were due (p99 35 ms): the load was not as planned, and latencies since the arrival hold the delay; use --workers 2',
    ],
    [
      'client_connects_late',
      { worker: 0, workers: 1, p99_ms: 35, max_ms: 60, connections: 1, connect_mean_ms: 30 },
      'requests were sent up to 60 ms after they were due, as 1 connection had to be opened in the run (30 ms each, not part of TTFT): --concurrency N has them opened before',
    ],
    [
      'client_worker_lost',
      { workers: ['worker 1: out of memory', 'worker 3: gone'] },
      '2 worker threads died, and requests in flight with it: worker 1: out of memory, worker 3: gone',
    ],
  ])('%s %#', (code, facts, text) => {
    expect(warningText({ code, facts })).toBe(text);
  });

  it('put all reasons of a verdict in one line', () => {
    const figures = { loopDelayP99Ms: 1, loopDelayMaxMs: 1, utilisation: 1, workers: 2 };
    const reasons = [
      { code: 'client_worker_lost', facts: { workers: [''] } },
      { code: 'client_loop_late', facts: loop },
      { code: 'client_in_flight_low', facts: { asked: 10, seen: 2 } },
      { code: 'client_sends_late', facts: { max_ms: 60 } },
    ] as const;
    expect(verdictLine({ wasLimit: true, reasons, findings: reasons, figures })).toBe(
      "client: WAS the limit: a worker thread died; worker 2's loop was 12 ms late (p99); at most 2 of 10 requests in flight; requests were sent up to 60 ms late",
    );
  });
});
