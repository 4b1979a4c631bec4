import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/options/parse.ts';
import { keyOf } from '../../src/options/spec.ts';
import { OPTIONS, type RunOptions } from '../../src/options/table.ts';
import { goldenCases } from '../support/fixtures.ts';

interface Flag {
  readonly flag: string;
  readonly default: unknown;
  readonly kind: 'Store' | 'StoreTrue' | 'BooleanOptional';
  readonly type: string | null;
  readonly nargs: number | string | null;
  readonly choices: readonly string[] | null;
}

const FLAGS = goldenCases<Flag>('cli_flags');

async function bench(...words: string[]): Promise<RunOptions> {
  const line = await parseCommandLine(['bench', 'serve', ...words], {});
  if (line.command !== 'run') throw new Error(`not a run: ${line.command}`);
  return line.options;
}

/** The message of the refusal; fails when there was none. */
async function refusal(...words: string[]): Promise<string> {
  return bench(...words).then(
    () => expect.fail(`accepted: ${words.join(' ')}`),
    (error: Error) => error.message,
  );
}

/** A value that the flag accepts, together with what else a line needs to be valid with it. */
const SAMPLE_WORDS: Readonly<Record<string, readonly string[]>> = {
  '--dataset-name': ['random'],
  '--dataset-path': ['a.json', '--dataset-name', 'sharegpt'],
  '--backend': ['vllm'],
  '--base-url': ['http://127.0.0.1:9'],
  '--header': ['A=b'],
  '--metadata': ['a=b', 'c=d'],
  '--goodput': ['ttft:300', 'tpot:22.5'],
  '--lora-modules': ['a', 'b'],
  '--extra-body': ['{"a":1}'],
  '--chat-template-kwargs': ['{"a":1}'],
  '--tokenizer-mode': ['slow'],
  '--ramp-up-strategy': ['linear', '--ramp-up-start-rps', '1', '--ramp-up-end-rps', '2'],
  '--ramp-up-start-rps': ['1', '--ramp-up-strategy', 'linear', '--ramp-up-end-rps', '2'],
  '--ramp-up-end-rps': ['3', '--ramp-up-strategy', 'linear', '--ramp-up-start-rps', '1'],
  '--endpoint': ['/v2/completions'],
  '--metric-percentiles': ['50,99'],
  '--timeline-itl-thresholds': ['10,20'],
  '--self-timed': ['--dataset-name', 'timed_trace', '--dataset-path', 'x'],
  '--plot-dataset-stats': ['--save-result'],
};

function sampleWords(flag: Flag): readonly string[] {
  const known = SAMPLE_WORDS[flag.flag];
  if (known !== undefined) return known;
  if (flag.kind !== 'Store') return [];
  if (flag.choices !== null) return [flag.choices.at(-1)!];
  return [flag.type === 'int' ? '3' : flag.type === 'float' || flag.flag === '--random-range-ratio' ? '0.5' : 'word'];
}

describe('flags of vllm bench serve 0.30.0', () => {
  it('are all in the table, and nothing else is called a flag of vLLM', () => {
    expect(FLAGS).toHaveLength(104);
    const ours = Object.entries(OPTIONS).filter(([, spec]) => spec.vllm === true);
    expect(new Set(ours.map(([name]) => `--${name}`))).toEqual(new Set(FLAGS.map(({ flag }) => flag)));
  });

  it.each(FLAGS.map((flag) => [flag.flag, flag] as const))('%s has the same type and default', async (_, flag) => {
    const name = flag.flag.slice(2);
    const spec = OPTIONS[name]!;
    if (spec.refused !== undefined) return;
    const value = (await bench())[keyOf(name, spec) as keyof RunOptions];
    if (flag.flag === '--request-id-prefix') expect(value).toMatch(/^bench-[0-9a-f]{8}-$/);
    // What follows from it in the same call: the address, and ignore_eos for the default data set.
    else if (flag.flag === '--base-url') expect(value).toBe('http://127.0.0.1:8000');
    else if (flag.flag === '--ignore-eos') expect(value).toBe(true);
    else if (flag.flag === '--metric-percentiles') expect(value).toEqual([99]);
    else if (flag.flag === '--timeline-itl-thresholds') expect(value).toEqual([25, 50]);
    else if (flag.flag === '--random-range-ratio') expect(value).toEqual({ input: 0, output: 0 });
    else expect(value).toEqual(flag.default === 'inf' ? Number.POSITIVE_INFINITY : flag.default);
    expect(spec.type === 'boolean').toBe(flag.kind !== 'Store');
    expect(spec.negatable === true).toBe(flag.kind === 'BooleanOptional');
    expect(['words', 'pairs', 'ordered-pairs', 'slo'].includes(spec.type)).toBe(
      flag.nargs === '*' || flag.nargs === '+',
    );
    expect(spec.nonEmpty === true).toBe(flag.nargs === '+');
    if (flag.type === 'int' || flag.type === 'float') expect(spec.type).toBe(flag.type);
    if (flag.choices !== null) expect(new Set(spec.choices)).toEqual(new Set(flag.choices));
  });

  it.each(FLAGS.map((flag) => [flag.flag, flag] as const))(
    '%s is accepted in both spellings, or refused with the reason',
    async (_, flag) => {
      const name = flag.flag.slice(2);
      const spec = OPTIONS[name]!;
      const underscored = `--${name.replaceAll('-', '_')}`;
      for (const spelling of [flag.flag, underscored]) {
        if (spec.refused !== undefined) {
          const message = await refusal(spelling, ...(flag.kind === 'Store' ? ['1'] : []));
          expect(message).toBe(`${flag.flag} is not there: ${spec.refused}`);
        } else {
          const options = await bench(spelling, ...sampleWords(flag));
          expect(options.given).toContain(keyOf(name, spec));
        }
      }
    },
  );

  it.each(FLAGS.flatMap(({ flag, choices }) => (choices ?? []).map((choice) => [flag, choice] as const)))(
    '%s %s is accepted or refused with the reason',
    async (flag, choice) => {
      const spec = OPTIONS[flag.slice(2)]!;
      const reason = spec.refusedChoices?.[choice];
      const rest = choice === 'openai-chat' ? ['--endpoint', '/v1/chat/completions'] : [];
      if (reason !== undefined) {
        expect(await refusal(flag, choice)).toBe(`${flag}: ${choice} is not there: ${reason}`);
        return;
      }
      const needsFile = flag === '--dataset-name' && !['random', 'prefix_repetition'].includes(choice);
      const ramp = flag === '--ramp-up-strategy' ? ['--ramp-up-start-rps', '1', '--ramp-up-end-rps', '2'] : [];
      await bench(flag, choice, ...rest, ...ramp, ...(needsFile ? ['--dataset-path', 'x'] : []));
    },
  );

  it('of the Rust client are accepted where the feature is here, and named as not there otherwise', async () => {
    const options = await bench(
      '--steady-state-threshold',
      '0.9',
      '--steady-state-min-window',
      '12',
      '--no-steady-state',
    );
    expect(options).toMatchObject({ steadyStateThreshold: 0.9, steadyStateMinWindowMs: 12_000, noSteadyState: true });
    expect(await bench('--speed-bench-config', 'throughput_1k')).toMatchObject({
      speedBenchDatasetSubset: 'throughput_1k',
    });
    expect((await parseCommandLine(['bench', 'serve', '--dry-run'], {})).command).toBe('samples');
    for (const flag of ['--multi-turn', '--sweep-max-concurrency', '--compare', '--prompt-token-ids']) {
      expect(await refusal(flag, '1')).toMatch(new RegExp(`^${flag} is not there: \\w`));
    }
  });
});

interface Vector {
  readonly argv: readonly string[];
  readonly error?: { readonly type: string; readonly message: string };
}

/** Refusals of vLLM that come from the data set or from the server, not from the command line. */
const LATER = [
  /Initial test run failed/,
  /too small/,
  /Cannot choose/,
  /text input/,
  /'prompt' column/,
  /input_len/,
  /num_requests/,
];

describe('command lines of the recorded vectors', () => {
  const vectors = [
    ...goldenCases<Vector>('cli_wire'),
    ...goldenCases<Vector>('metrics'),
    ...goldenCases<Vector>('datasets'),
  ];
  const seen = new Map(vectors.map((vector) => [vector.argv.join(' '), vector]));

  it.each([...seen])('%s', async (_, { argv, error }) => {
    const words = argv.map((word) => word.replace('{PORT}', '8000'));
    const isPooling = words.includes('openai-embeddings');
    if (isPooling) expect(await refusal(...words)).toContain('--backend: openai-embeddings is not there');
    else if (error !== undefined && !LATER.some((pattern) => pattern.test(error.message))) {
      expect(await refusal(...words)).toMatch(/^--[a-z-]+/);
    } else expect((await bench(...words)).form).toBe('bench');
  });
});
