/** The comparison with other clients: what does not need them. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flagsOf, readSaid, type Said } from '../../bench/peers/clients.ts';
import { childSeconds, pinned, runMeasured } from '../../bench/peers/process.ts';
import { builtIn, foreign, latenessOf, type ServerKind } from '../../bench/peers/server.ts';
import { between, lateNote, markdown, median, type PeerRun, rowsOf } from '../../bench/peers/table.ts';

const said = (more: Partial<Said> = {}): Said => ({
  completed: 10,
  failed: 0,
  durationS: 2,
  ttftMeanMs: 50.5,
  ttftP99Ms: 53,
  gapP99Ms: 10.9,
  events: 1000,
  ...more,
});

function run(client: string, round: number, cpuS: number, more: Partial<PeerRun> = {}): PeerRun {
  return {
    client,
    streams: 1000,
    lineEnd: 'crlf',
    round,
    sent: 1000,
    said: said(),
    cost: { cpuS, wallS: 3, rssMb: 120 },
    server: { mean: 0.04, p99: 0.5, max: 3, cpuUsPerFrame: 4 },
    ...more,
  };
}

describe('the table of clients', () => {
  const truth = { ttftMs: 50, itlMs: 10 };
  const runs = [
    run('tabby-load', 0, 0.009),
    run('vllm-rs', 0, 0.01, { said: said({ ttftMeanMs: 61, ttftP99Ms: 96, gapP99Ms: 24, events: 1010 }) }),
    run('vllm-rs', 1, 0.012, { cost: { cpuS: 0.012, wallS: 3, rssMb: 250 }, said: said({ events: 990 }) }),
    run('tabby-load', 1, 0.007, { server: null, said: said({ ttftMeanMs: 49.9, failed: 2 }) }),
    run('tabby-load', 2, 0.05),
  ];

  it('has medians of rounds, and the worst count of events', () => {
    const [ours, rust] = rowsOf(runs, truth);
    expect(ours).toMatchObject({ client: 'tabby-load', rounds: 3, eventsOff: 0, failed: 2, eventsPerS: 500 });
    // 0.009 s of CPU for 1,000 events.
    expect(ours?.cpuUsPerEvent).toBeCloseTo(9, 9);
    expect(ours?.ttftMeanErrorMs).toBeCloseTo(0.5, 9);
    expect(rust).toMatchObject({ client: 'vllm-rs', rounds: 2, eventsOff: 10, rssMb: 185 });
    expect(rust?.cpuUsPerEvent).toBeCloseTo(11, 9);
    expect(rust?.ttftP99ErrorMs).toBeCloseTo((46 + 3) / 2, 9);
  });

  it('takes ratios to the reference at the same level', () => {
    const other = run('vllm-rs', 0, 0.02, { streams: 256, lineEnd: 'lf', server: null });
    const lines = markdown(rowsOf([...runs, other], truth), 'vllm-rs');
    expect(lines.map((line) => line.split('|').length)).toEqual(lines.map(() => 11));
    expect(lines[2]).toBe(
      '| 1,000 CRLF | tabby-load | 9.0 (0.82×) | +0.5 / +3.0 | +0.9 | 120 (0.65×) | 500 | 0 (2 requests failed) | 0.04 / 0.50 |',
    );
    expect(lines[3]).toContain('| 1,000 CRLF | vllm-rs | 11.0 | +5.8 / +24.5 | +7.5 | 185 | 500 | +10 |');
    expect(lines[4]).toBe('| 256 LF | vllm-rs | 20.0 | +0.5 / +3.0 | +0.9 | 120 | 500 | 0 | ? |');
  });

  it('warns of a server that was late itself', () => {
    const late = { mean: 3, p99: 5.1, max: 40, cpuUsPerFrame: 4 };
    const slow = run('vllm-rs', 0, 0.01, { streams: 256, lineEnd: 'lf', server: late });
    expect(lateNote(rowsOf(runs, truth), truth)).toEqual([]);
    expect(lateNote(rowsOf([...runs, slow], truth), truth)[0]).toContain('the server itself was late (256 LF)');
    // One that tells no percentile is judged by its mean.
    const silent = run('vllm-rs', 0, 0.01, { server: { ...late, mean: 6, p99: null } });
    expect(lateNote(rowsOf([silent], truth), truth)[0]).toContain('(1000 CRLF)');
  });

  it('finds its place in a document', () => {
    const start = '<!-- peers: made by npm run bench:peers -- --readme -->';
    expect(between(`a\n${start}\nold\n<!-- /peers -->\nb`, ['new', 'er'])).toBe(
      `a\n${start}\n\nnew\ner\n\n<!-- /peers -->\nb`,
    );
    expect(() => between('a <!-- /peers -->', [])).toThrow('lacks the markers');
    // Those of the README are there.
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    expect(between(readme, ['x'])).toContain('\n\nx\n\n<!-- /peers -->');
  });

  it('knows medians', () => {
    expect([median([3]), median([4, 1]), median([9, 1, 5]), median([1, 2, 3, 10])]).toEqual([3, 2.5, 5, 2.5]);
  });
});

describe('the figures of a client', () => {
  it('are read from the result file that all of them write', () => {
    const result = {
      completed: 2,
      failed: 1,
      duration: 1.5,
      mean_ttft_ms: 51,
      p99_ttft_ms: 60,
      p99_itl_ms: 11,
      itls: [[0.01, 0.01], [], [0.01]],
    };
    expect(readSaid(JSON.stringify(result))).toEqual({
      completed: 2,
      failed: 1,
      durationS: 1.5,
      ttftMeanMs: 51,
      ttftP99Ms: 60,
      gapP99Ms: 11,
      events: 5,
    });
    expect(() => readSaid(JSON.stringify({ ...result, p99_itl_ms: null }))).toThrow('no p99_itl_ms');
    expect(() => readSaid(JSON.stringify({ ...result, itls: undefined }))).toThrow('no itls');
  });

  it('are asked for by the same flags', () => {
    const load = { url: 'http://127.0.0.1:1', model: 'm', tokenizer: '/t', streams: 7, requests: 14, tokens: 99 };
    const flags = flagsOf({ ...load, resultDir: '/r', resultName: 'x.json' }).join(' ');
    expect(flags).toContain('--random-output-len 99 --max-concurrency 7 --num-prompts 14');
    expect(flags).toContain('--save-detailed --result-dir /r --result-filename x.json');
  });
});

describe('the cost of a program', () => {
  it('is what the shell says of its children', () => {
    expect(childSeconds('0m0.010s 0m0.020s\n1m2.500s 0m3.250s\n')).toBe(65.75);
    expect(() => childSeconds('')).toThrow('no CPU times');
    expect(pinned(['a', 'b'], undefined)).toEqual(['a', 'b']);
    expect(pinned(['a', 'b'], '3')).toEqual(['taskset', '-c', '3', 'a', 'b']);
  });

  it('holds the work of children and the memory they took', async () => {
    const work =
      'const b = Buffer.alloc(64e6, 1); const t = process.cpuUsage(); while (process.cpuUsage(t).user < 2e5) b[0]++;';
    const nested = `require('child_process').execFileSync(process.execPath, ['-e', ${JSON.stringify(work)}])`;
    const cost = await runMeasured([process.execPath, '-e', nested], {}, 30);
    expect(cost.cpuS).toBeGreaterThanOrEqual(0.2);
    expect(cost.wallS).toBeGreaterThan(0);
    if (process.platform === 'linux') expect(cost.rssMb).toBeGreaterThan(64);
  });

  it('is not told of a program that failed: its words are', async () => {
    const command = [process.execPath, '-e', 'console.error("no such server"); process.exit(3)'];
    await expect(runMeasured(command, {}, 30)).rejects.toThrow(/ended with 3[\s\S]*no such server/);
    await expect(runMeasured([process.execPath, '-e', 'setTimeout(() => {}, 1e6)'], {}, 0.5)).rejects.toThrow(
      /limit 0.5 s/,
    );
  });
});

describe('the server', () => {
  const kind: ServerKind = { lineEnd: 'crlf', ttftMs: 50, itlMs: 10, tokens: 500, lockstep: true };

  it('is the built-in one in the form asked for, or a command with its values filled in', () => {
    const words = builtIn('dist/main.js', kind, 7001).join(' ');
    expect(words).toContain('dist/main.js mock --port 7001');
    expect(words).toContain('--ttft 50ms --itl 10ms');
    expect(words).toMatch(/--style tabbyapi .*--lockstep$/);
    expect(builtIn('x', { ...kind, lineEnd: 'lf', lockstep: false }, 1).join(' ')).toMatch(
      /--style openai (?!.*--lockstep)/,
    );
    expect(foreign('./s {port} {ttft} {itl} {tokens} {lockstep} {other}', kind, 7001)).toEqual(
      './s 7001 50 10 500 1 {other}'.split(' '),
    );
  });

  it('says how late it was in its last line of JSON', () => {
    const lines = ['listening', '{"requests": 2, "late_mean_ms": 0.25, "late_max_ms": 3}', 'bye'];
    expect(latenessOf(lines)).toEqual({ mean: 0.25, p99: null, max: 3, cpuUsPerFrame: null });
    expect(latenessOf(['{"requests": 2}', 'x'])).toBeNull();
  });
});
