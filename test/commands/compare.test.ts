/** `compare` through the built program: results with values made by hand, so that each difference is known. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Difference } from '../../src/aggregate/comparison.ts';
import { sentence } from '../../src/report/comparison.ts';
import { runCli } from '../support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'tabby-load-compare-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const REQUESTS = 40;
const GAPS = 10;

interface Made {
  readonly gapMs: number;
  readonly streams?: number;
  readonly model?: string;
  readonly own?: Readonly<Record<string, unknown>>;
  readonly change?: Readonly<Record<string, unknown>>;
}

/** A result of `--save-detailed` in which every gap is `gapMs`, and first tokens take 50 to 54 ms. */
function result({ gapMs, streams = 4, model = 'm', own, change }: Made): Record<string, unknown> {
  const tokens = GAPS + 1;
  return {
    model_id: model,
    num_prompts: REQUESTS,
    request_rate: 'inf',
    max_concurrency: streams,
    completed: REQUESTS,
    failed: 0,
    total_input_tokens: REQUESTS * 5,
    total_output_tokens: REQUESTS * tokens,
    request_throughput: 10,
    output_throughput: 10 * tokens,
    mean_ttft_ms: 52,
    mean_tpot_ms: gapMs,
    mean_itl_ms: gapMs,
    ttfts: Array.from({ length: REQUESTS }, (_, k) => 0.05 + (k % 5) / 1000),
    itls: Array.from({ length: REQUESTS }, () => Array.from({ length: GAPS }, () => gapMs / 1000)),
    output_lens: Array.from({ length: REQUESTS }, () => tokens),
    errors: Array.from({ length: REQUESTS }, () => ''),
    ...(own === undefined ? {} : { tabby_load: own }),
    ...change,
  };
}

function file(name: string, content: unknown): string {
  const path = join(dir, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

interface Level {
  readonly level: number;
  readonly gapMs: number;
  readonly status?: string;
}

/** A folder as `sweep` leaves it, as far as it is read here. */
function sweep(name: string, levels: readonly Level[], change: Readonly<Record<string, unknown>> = {}): string {
  const folder = join(dir, name);
  mkdirSync(folder);
  for (const { level, gapMs } of levels) file(`${name}/${level}.json`, result({ gapMs, streams: level }));
  const top = levels.at(-1);
  file(`${name}/sweep.json`, {
    schema: 'tabby-load.sweep/1',
    axis: 'concurrency',
    samples_sha256: 'abc',
    server: { model: 'm' },
    levels: levels.map(({ level, status = 'done' }) => ({
      level,
      status,
      result_file: `${level}.json`,
      records_file: `${level}.records`,
    })),
    answer: { knee: top?.level ?? null, knee_throughput: 1000 / (top?.gapMs ?? 1), is_saturated: true, words: [] },
    ...change,
  });
  return folder;
}

const compare = (...words: string[]) => runCli(['compare', ...words], { cwd: dir });

describe('two runs', () => {
  const a = file('a.json', result({ gapMs: 10 }));

  it('of the same show no difference', async () => {
    const { code, stdout } = await compare(a, file('same.json', result({ gapMs: 10 })));
    expect(code).toBe(0);
    expect(stdout).toMatch(/No difference that this data can show/);
    expect(stdout).not.toMatch(/WORSE|better/);
  });

  it('of 10 ms and 11 ms between tokens show the 10 % there are, and a rule that is broken gives 99', async () => {
    const b = file('b.json', result({ gapMs: 11 }));
    const { code, stdout, stderr } = await compare(a, b, '--json', 'out.json', '--fail-on', 'mean_itl_ms > +5%');
    expect(code).toBe(99);
    expect(stdout).toMatch(/mean_itl_ms +10\.00 +11\.00 +\+10\.0 % +\+9\.9 % to \+10\.1 % +WORSE/);
    expect(stdout).toMatch(/mean_ttft_ms +52\.00 +52\.00 +\+0\.0 % .* same/);
    expect(stderr).toMatch(/b\.json: mean_itl_ms > \+5%: 10 became 11, a difference of 10\.0 %/);
    // The other way round it is better.
    const { code: kept, stdout: turned } = await compare(b, a, '--fail-on', 'mean_itl_ms > +5%');
    expect(kept).toBe(0);
    expect(turned).toMatch(/B is better in mean_tpot_ms, mean_itl_ms/);
  });

  it('of which one figure of many differs may differ by chance, and that is said', () => {
    const one = (k: number, verdict: Difference['verdict']): Difference => ({
      key: `figure_${k}`,
      a: 1,
      b: 2,
      relative: 1,
      interval: [0.5, 1.5],
      lowerIsBetter: true,
      verdict,
    });
    const figures = (worse: number) => Array.from({ length: 9 }, (_, k) => one(k, k < worse ? 'worse' : 'same'));
    expect(sentence(figures(1), 0.02)).toMatch(
      /^B is worse in figure_0\. That is 1 of 9 figures, and by chance one in twenty/,
    );
    expect(sentence(figures(4), 0.02)).not.toMatch(/by chance/);
    expect(sentence(figures(0), 0.02)).toMatch(/^No difference that this data can show/);
  });

  it.each([
    ['another model', { gapMs: 10, model: 'other' }, /model: m and other/],
    ['another concurrency', { gapMs: 10, streams: 8 }, /concurrency: 4 and 8/],
    [
      'longer answers',
      { gapMs: 10, change: { total_output_tokens: 900 } },
      /output tokens per request: 11\.0 and 22\.5/,
    ],
    ['longer prompts', { gapMs: 10, change: { total_input_tokens: 400 } }, /prompt tokens per request: 5\.0 and 10\.0/],
  ] as const)('of %s are refused unless forced', async (name, made, words) => {
    const b = file(`${name}.json`, result(made));
    const { code, stdout, stderr } = await compare(a, b);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(stderr).toMatch(/--force/);
    const forced = await compare(a, b, '--force');
    expect(forced.code).toBe(0);
    expect(forced.stderr).toMatch(words);
    expect(forced.stdout).toMatch(/mean_ttft_ms/);
  });

  it('of other samples are refused', async () => {
    const [x, y] = ['1', '2'].map((sha) =>
      file(`sha${sha}.json`, result({ gapMs: 10, own: { schema: 'tabby-load.result/1', samples_sha256: sha } })),
    );
    expect((await compare(x as string, y as string)).stderr).toMatch(/samples: other prompts or lengths/);
  });

  it('without values per request say that chance cannot be told', async () => {
    const bare = { ttfts: undefined, itls: undefined, output_lens: undefined };
    const [x, y] = ['x', 'y'].map((name) => file(`${name}.json`, result({ gapMs: 10, change: bare })));
    expect((await compare(x as string, y as string)).stdout).toMatch(/cannot be said: neither file has values/);
  });

  it('are taken from the last line of --append-result', async () => {
    const lines = [9, 11].map((gapMs) => JSON.stringify(result({ gapMs }))).join('\n');
    expect((await compare(a, file('lines.json', `${lines}\n`))).stdout).toMatch(/mean_itl_ms +10\.00 +11\.00/);
  });
});

describe('two sweeps', () => {
  const levels = [2, 4, 8].map((level) => ({ level, gapMs: 10 }));
  const a = sweep('A', levels);
  /** A sweep, damaged afterwards. */
  const broken = (name: string, damage: () => unknown): string => {
    const folder = sweep(name, levels);
    damage();
    return folder;
  };

  it('of the same show no difference', async () => {
    const { code, stdout } = await compare(a, join(a, 'sweep.json'));
    expect(code).toBe(0);
    expect(stdout).toMatch(/No difference at any level that this data can show/);
  });

  it('are compared at each level that both measured, with their answers', async () => {
    const slower = [
      { level: 2, gapMs: 10 },
      { level: 4, gapMs: 11 },
      { level: 8, gapMs: 99, status: 'failed' },
      { level: 16, gapMs: 12 },
    ];
    const b = sweep('B', slower);
    const rules = ['--fail-on', 'mean_tpot_ms > +5%', 'knee_throughput < -5%'];
    const { code, stdout, stderr } = await compare(a, b, '--json', '-', ...rules);
    expect(code).toBe(99);
    const { schema, comparisons } = JSON.parse(stdout);
    expect(schema).toBe('tabby-load.compare-sweeps/1');
    expect(comparisons).toHaveLength(1);
    const [compared] = comparisons;
    expect(compared).toMatchObject({ axis: 'concurrency', only_a: [8], only_b: [16] });
    const tpot = compared.levels.map((one: { level: number; differences: { key: string }[] }) => [
      one.level,
      one.differences.find(({ key }) => key === 'mean_tpot_ms'),
    ]);
    expect(tpot).toMatchObject([
      [2, { a: 10, b: 10, verdict: 'same' }],
      [4, { a: 10, b: 11, verdict: 'worse' }],
    ]);
    // 1000 / 12 against 1000 / 10.
    expect(compared.answers[1].relative).toBeCloseTo(10 / 12 - 1, 12);
    expect(stderr).toMatch(/level 4: mean_tpot_ms > \+5%: 10 became 11, a difference of 10\.0 %/);
    expect(stderr).not.toMatch(/level 2:/);
    expect(stderr).toMatch(/knee_throughput < -5%: 100 became 83\.3333, a difference of -16\.7 %/);
    const told = await compare(a, b);
    expect(told.stdout).toMatch(
      /A saturates at 8 streams with 100\.0 tokens\/s; B saturates at 16 streams with 83\.3 tokens\/s \(−16\.7 %\)/,
    );
    expect(told.stdout).toMatch(
      /B is worse in mean_tpot_ms at 4; mean_itl_ms at 4\.\nOnly A measured 8\.\nOnly B measured 16\./,
    );
  });

  it('of other samples are refused unless forced', async () => {
    const b = sweep('other samples', levels, { samples_sha256: 'other' });
    const { code, stderr } = await compare(a, b);
    expect(code).toBe(2);
    expect(stderr).toMatch(/samples: other prompts or lengths/);
    const forced = await compare(a, b, '--force');
    expect(forced.code).toBe(0);
    expect(forced.stderr).toMatch(/not comparable: samples/);
  });

  it.each([
    [
      'a folder without one',
      () => [a, mkdirSync(join(dir, 'empty'), { recursive: true }) ?? 'empty'],
      /no sweep\.json/,
    ],
    ['a run', () => [a, file('run.json', result({ gapMs: 10 }))], /run\.json is no sweep/],
    [
      'a newer form',
      () => [a, sweep('newer', levels, { schema: 'tabby-load.sweep/2' })],
      /sweep\/2".*not tabby-load\.sweep\/1/,
    ],
    ['half a file', () => [a, broken('half', () => file('half/sweep.json', '{"schema": "tab'))], /damaged/],
    ['a sweep of rates', () => [a, sweep('rates', levels, { axis: 'request_rate' })], /concurrency.*request rate/],
    ['other levels', () => [a, sweep('far', [{ level: 100, gapMs: 10 }])], /no level in common: 2, 4, 8 and 100/],
    ['a level without files', () => [a, broken('gone', () => rmSync(join(dir, 'gone/4.json')))], /level 4 .* gone/],
    ['nothing', () => [a], /two or more results/],
  ] as const)('and %s: one clear message', async (_, files, words) => {
    const { code, stdout, stderr } = await compare(...files());
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(2);
    expect(stderr).not.toMatch(/ at .*:\d+/);
  });

  it('refuse a figure that there is not, with the one that was meant', async () => {
    const { code, stderr } = await compare(a, a, '--fail-on', 'mean_tpot > +5%');
    expect(code).toBe(2);
    expect(stderr).toMatch(/no figure "mean_tpot" in common/);
    expect(stderr).toMatch(/Did you mean mean_tpot_ms\?/);
  });
});
