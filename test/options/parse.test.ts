import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { type CommandLine, parseCommandLine } from '../../src/options/parse.ts';
import type { RunOptions } from '../../src/options/table.ts';

async function run(words: readonly string[], env: Record<string, string> = {}): Promise<RunOptions> {
  const line = await parseCommandLine(words, env);
  if (line.command !== 'run') throw new Error(`not a run: ${line.command}`);
  return line.options;
}

const RANDOM = ['--dataset', 'random'];
const BENCH = ['bench', 'serve'];

/** The lines of the refusal, without the heading. */
async function problems(words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const error = await parseCommandLine(words, env).then(
    () => expect.fail(`accepted: ${words.join(' ')}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AppError);
  expect((error as AppError).exitCode).toBe(2);
  const lines = (error as AppError).message.split('\n');
  return lines.length === 1 ? lines : lines.slice(1).map((line) => line.trim());
}

describe('commands', () => {
  it('run is the default, bench serve has its own defaults', async () => {
    expect(await run(RANDOM)).toMatchObject({
      form: 'run',
      backend: 'openai-chat',
      baseUrl: 'http://127.0.0.1:5000',
      endpoint: '/v1/chat/completions',
      numPrompts: 1000,
      maxConcurrency: null,
      forceLength: null,
      stream: true,
    });
    expect(await run(['run', ...RANDOM])).toMatchObject({ form: 'run' });
    expect(await run(BENCH)).toMatchObject({
      form: 'bench',
      backend: 'openai',
      baseUrl: 'http://127.0.0.1:8000',
      endpoint: '/v1/completions',
      datasetName: 'random',
    });
  });

  it.each<[string[], CommandLine['command']]>([
    [['report', 'a.msgpack', 'b.jsonl'], 'report'],
    [['samples', ...RANDOM], 'samples'],
    [['mock', '--port', '0'], 'mock'],
    [['--help'], 'help'],
    [['-h'], 'help'],
    [['help', 'bench', 'serve'], 'help'],
    [['bench', '--help'], 'help'],
    [['--concurrency', 'many', '--help'], 'help'],
    [['--version'], 'version'],
    [[], 'help'],
  ])('%j is %s', async (words, command) => expect((await parseCommandLine(words, {})).command).toBe(command));

  it('takes files for report only', async () => {
    const line = await parseCommandLine(['report', 'a', '--label', 'x', 'b', '--', '--c'], {});
    expect(line).toMatchObject({ options: { files: ['a', 'b', '--c'], label: 'x' } });
    expect(await problems(['report'])).toEqual([expect.stringContaining('which files?')]);
    expect(await problems([...RANDOM, 'stray'])).toEqual([expect.stringContaining('"stray": not expected here')]);
  });

  it('names the nearest command', async () => {
    await expect(parseCommandLine(['sample'], {})).rejects.toMatchObject({ hint: 'Did you mean "samples"?' });
    await expect(parseCommandLine(['bench', 'latency'], {})).rejects.toThrow('only "bench serve"');
  });
});

describe('words', () => {
  it('takes aliases, --flag=value, repeats (the last counts, with a warning) and negative values', async () => {
    const options = await run([
      ...['--concurrency', '7', '--seed=5', '--seed', '6', '--dataset=random', '--custom_output_len', '-1'],
      ...['--presence-penalty', '-.5', '--label', '-1', '--num-prompts=-3', '--dataset-name', 'spec_bench'],
    ]).catch((error: Error) => error.message);
    // Two different data sets in one line: the only mistake here.
    expect(options).toContain('two data sets');
    const good = await run([
      ...RANDOM,
      '--concurrency',
      '7',
      '--seed=5',
      '--seed',
      '6',
      '--presence-penalty',
      '-.5',
      '--label',
      '-1',
    ]);
    expect(good).toMatchObject({ maxConcurrency: 7, seed: 6, presencePenalty: -0.5, label: '-1' });
    expect(good.warnings).toEqual(['--seed was given more than once; the last one counts']);
  });

  it('ends lists at the next option; lists add up, except in bench serve', async () => {
    const words = ['--header', 'A=b', 'C = d=e ', '--goodput', 'ttft:300', 'tpot:22.5', '--header', 'X=y'];
    expect(await run([...RANDOM, ...words])).toMatchObject({
      header: { A: 'b', C: 'd=e', X: 'y' },
      goodput: { ttft: 300, tpot: 22.5 },
    });
    const bench = await run([...BENCH, ...words]);
    expect(bench.header).toEqual({ X: 'y' });
    expect(bench.warnings).toEqual(['--header was given more than once; the last one counts']);
    expect((await run([...BENCH, '--header', '--metadata', 'k=v'])).header).toEqual({});
  });

  it('takes nested JSON fields as vLLM does', async () => {
    const nested = await run([
      ...RANDOM,
      ...['--extra-body.a.b', '1', '--extra_body.a.c_d=text', '--extra-body.list+', 'x,y', '--extra-body.list+=z'],
      ...[
        '--extra-body.n',
        '2k',
        '--extra-body.t',
        'true',
        '--extra-body.neg',
        '-0.5',
        '--extra-body.__proto__.x',
        '1',
      ],
    ]);
    expect(JSON.stringify(nested.extraBody)).toBe(
      '{"a":{"b":1,"c_d":"text"},"list":["x","y","z"],"n":2000,"t":true,"neg":-0.5,"__proto__":{"x":1}}',
    );
    // The fields stand for one more --extra-body at the end, and the last one counts.
    expect((await run([...RANDOM, '--extra-body.a', '1', '--extra-body', '{"b":2}'])).extraBody).toEqual({ a: 1 });
    expect(await problems([...RANDOM, '--label.a', '1'])).toEqual([
      expect.stringContaining('--label.a: only options with a JSON'),
    ]);
  });

  it('takes unique prefixes; in bench serve those that are unique among vLLM flags', async () => {
    expect(await run([...RANDOM, '--conc', '3', '--num-p', '4'])).toMatchObject({ maxConcurrency: 3, numPrompts: 4 });
    expect(await run([...BENCH, '--max', '3', '--serve', 'x'])).toMatchObject({
      maxConcurrency: 3,
      servedModelName: 'x',
    });
    expect(await problems([...RANDOM, '--max', '3'])).toEqual([
      expect.stringMatching(/^--max: could be --max-concurrency, .*--max-errors.*; write more of the name$/),
    ]);
    // As argparse: --no-s fits --no-stream and --no-self-timed.
    expect(await problems([...BENCH, '--no-s'])).toEqual([expect.stringContaining('--no-self-timed, --no-stream')]);
  });

  it.each([
    [['--force-length'], true],
    [['--no-force-length'], false],
    [['--force-length=false'], false],
    [['--no_force_length'], false],
  ])('%j', async (words, value) => expect((await run([...RANDOM, ...words])).forceLength).toBe(value));
});

describe('values', () => {
  it('reads units', async () => {
    const words = [
      '--connect-timeout',
      '500ms',
      '--token-timeout',
      'off',
      '--duration',
      '1m30s',
      '--max-event-size',
      '2MB',
    ];
    const options = await run([...RANDOM, ...words, '--max-exact-values', '5M', '--max-error-rate', '5%']);
    expect(options).toMatchObject({ connectTimeoutMs: 500, tokenTimeoutMs: null, durationMs: 90_000 });
    expect(options).toMatchObject({ maxEventSizeBytes: 2e6, maxExactValues: 5e6, maxErrorRate: 0.05 });
  });

  it('reads the range ratio as a number or as JSON', async () => {
    const json = ['--random-range-ratio', '{"input": 0.5, "output": 0}'];
    expect((await run([...RANDOM, ...json])).randomRangeRatio).toEqual({ input: 0.5, output: 0 });
    expect((await run([...RANDOM, '--random-range-ratio', '0.25'])).randomRangeRatio).toEqual({
      input: 0.25,
      output: 0.25,
    });
    for (const bad of ['1', '-0.1', 'x', '{"input":0.5}', 'null', '[]', 'nan']) {
      expect(await problems([...RANDOM, `--random-range-ratio=${bad}`])).toHaveLength(1);
    }
  });

  it('--input-len and --output-len stand for the options of the data sets', async () => {
    const options = await run([...RANDOM, '--input-len', '11', '--output-len', '12', '--random-input-len', '99']);
    expect(options).toMatchObject({
      randomInputLen: 11,
      randomOutputLen: 12,
      sharegptOutputLen: 12,
      specBenchOutputLen: 12,
    });
    expect(options).toMatchObject({ customOutputLen: 12, hfOutputLen: 12, prefixRepetitionOutputLen: 12 });
  });

  it('--dataset is a name or a path', async () => {
    expect(await run(['--dataset', 'prefix-repetition'])).toMatchObject({
      datasetName: 'prefix_repetition',
      datasetPath: null,
    });
    expect(await run(['--dataset', 'a/b.json'])).toMatchObject({ datasetName: null, datasetPath: 'a/b.json' });
    expect(await run([...BENCH, '--dataset', 'x.json'])).toMatchObject({ datasetName: null, datasetPath: 'x.json' });
    const both = ['--dataset', 'sharegpt', '--dataset-path', 'x.json'];
    expect(await run(both)).toMatchObject({ datasetName: 'sharegpt', datasetPath: 'x.json' });
    expect('dataset' in (await run(RANDOM))).toBe(false);
  });

  it('builds the address', async () => {
    expect((await run([...RANDOM, '--host', '::1', '--port', '80'])).baseUrl).toBe('http://[::1]:80');
    expect((await run([...RANDOM, '--base-url', 'https://h/pre/'])).baseUrl).toBe('https://h/pre');
    // vLLM joins what it is given.
    expect((await run([...BENCH, '--base-url', 'http://h/pre/'])).baseUrl).toBe('http://h/pre/');
    expect((await run([...RANDOM, '--backend', 'vllm'])).endpoint).toBe('/v1/completions');
    for (const bad of ['localhost:5000', 'ftp://h', 'http://', 'http://u:p@h', 'http://h?a=1']) {
      expect(await problems([...RANDOM, '--base-url', bad])).toEqual([expect.stringMatching(/^--base-url: /)]);
    }
  });

  it('takes the key and the switches of the environment, and the command line before it', async () => {
    const env = { OPENAI_API_KEY: 'two', TABBY_FORCE_LEN: '0', TABBY_SAMPLES_OUT: 'm.tsv' };
    expect(await run(RANDOM, env)).toMatchObject({ apiKey: 'two', forceLength: false, samplesOut: 'm.tsv' });
    expect((await run(RANDOM, { ...env, TABBY_API_KEY: 'one' })).apiKey).toBe('one');
    expect((await run(RANDOM, { ...env, TABBY_API_KEY: '' })).apiKey).toBe('two');
    expect(await run([...RANDOM, '--api-key', 'three', '--force-length'], env)).toMatchObject({
      apiKey: 'three',
      forceLength: true,
    });
    expect((await run(RANDOM, { TABBY_FORCE_LEN: '1' })).forceLength).toBeNull();
  });

  it('knows what was given', async () => {
    const { given } = await run([...RANDOM, '--concurrency', '1', '--no-force-length', '--token-timeout', 'off']);
    expect(given).toEqual(new Set(['dataset', 'maxConcurrency', 'forceLength', 'tokenTimeoutMs']));
  });
});

describe('mistakes', () => {
  it('are all reported at once, each with its option', async () => {
    const lines = await problems([
      ...[
        '--concurrency',
        'many',
        '--num_prompts',
        '1.5',
        '--colour',
        'red',
        '--concurency',
        '3',
        '--goodput',
        'itl:5',
      ],
      ...['--burstiness', '0', '--backend', 'openai-cat', '--header', 'nothing', '--extra-body', '{a}', '--model'],
    ]);
    expect(lines).toEqual([
      '--colour: unknown option',
      '--concurency: unknown option; did you mean --concurrency?',
      '--model: a value is missing: --model NAME (--model=VALUE when it begins with a dash)',
      '--backend: "openai-cat" is not one of openai-chat, openai, vllm; did you mean openai-chat?',
      '--header: item 1 is not KEY=VALUE; quote values with spaces',
      '--concurrency: "many" is not a whole number >= 1',
      '--num-prompts: "1.5" is not a whole number <= 20000000',
      '--burstiness: "0" is not a number > 0 or inf',
      '--extra-body: not valid JSON; quote it for the shell: \'{"key": "value"}\'',
      '--goodput: "itl" is no metric for a limit; there are ttft, tpot, e2el',
    ]);
  });

  it.each<[string[], RegExp]>([
    [['--concurrency', '0'], /^--concurrency: "0" is not a whole number >= 1$/],
    [['--concurrency', '-1'], /^--concurrency: "-1" is not a whole number >= 1$/],
    [['--max-concurrency='], /^--max-concurrency: "" is not/],
    [['--request-rate', '0'], /^--request-rate: "0" is not a number > 0 or inf/],
    [['--request-rate', 'nan'], /^--request-rate: /],
    [['--seed', '4294967296'], /^--seed: "4294967296" is not a whole number from 0 to 4294967295/],
    [['--metric-percentiles', '50,101'], /^--metric-percentiles: "101" is not a number from 0 to 100/],
    [['--goodput', 'ttft=5'], /^--goodput: "ttft=5" is not METRIC:MS/],
    [['--goodput', 'ttft:-5'], /^--goodput: "ttft:-5": the limit must not be negative/],
    [['--goodput'], /^--goodput: a value is missing/],
    [['--token-timeout', '5x'], /^--token-timeout: "5x" is not a time such as 500ms, 30s or 1m30s or off/],
    [['--save-result=yes'], /^--save-result: takes no value/],
    [['--extra-body', '[1]'], /^--extra-body: not a JSON object/],
    [['--ttft', '5'], /^--ttft: not an option of "run", but of "mock"/],
    [['-c', '5'], /^-c: unknown option; options begin with two dashes/],
    [['--header', 'A b=c'], /^--header: "A b" cannot be the name of a header/],
    [['--header', 'A=b\r\nC: d'], /^--header A: the value holds a line break/],
    [['--header', '=b'], /^--header: item 1/],
    [['--label', 'a\nb'], /^--label: must not hold line breaks/],
    [['--ramp-up-strategy', 'linear'], /needs both --ramp-up-start-rps and --ramp-up-end-rps/],
    [
      ['--ramp-up-strategy', 'linear', '--ramp-up-start-rps', '5', '--ramp-up-end-rps', '2'],
      /5 is greater than --ramp-up-end-rps 2/,
    ],
    [['--ramp-up-strategy', 'exponential', '--ramp-up-start-rps', '0', '--ramp-up-end-rps', '2'], /cannot start at 0/],
    [['--ramp-up-start-rps', '5'], /need --ramp-up-strategy/],
    [['--self-timed'], /only for --dataset-name timed_trace/],
    [['--no-self-timed'], /only for --dataset-name timed_trace/],
    [['--dataset-path', 'x'], /^--dataset-path: random makes its prompts and reads no file/],
    [['--num-prompts', '0'], /^--num-prompts 0: at least 1/],
    [['--plot-dataset-stats'], /add --save-result/],
    [['--endpoint', '/v1/completion'], /must end with chat\/completions/],
    [['--plot-timeline', '--timeline-itl-thresholds', '5'], /^--timeline-itl-thresholds: two numbers/],
  ])('%j', async (words, message) => {
    const lines = await problems([...RANDOM, ...words]);
    expect(lines).toEqual([expect.stringMatching(message)]);
  });

  it('a ramp and a rate exclude each other', async () => {
    const ramp = ['--ramp-up-strategy', 'linear', '--ramp-up-start-rps', '1', '--ramp-up-end-rps', '2'];
    expect(await problems([...RANDOM, '--request-rate', '5', ...ramp])).toEqual([
      expect.stringContaining('exclude each other'),
    ]);
  });

  it('a run says which prompts it lacks', async () => {
    expect(await problems(['--concurrency', '1'])).toEqual([
      expect.stringMatching(/^which prompts\? Give --dataset FILE/),
    ]);
    expect(await problems(['--dataset', 'sharegpt'])).toEqual([
      '--dataset-path is needed for sharegpt: --dataset FILE takes the file and finds out its kind',
    ]);
  });

  it.each<[string[], Record<string, string>]>([
    [['--api-key', '-sk-geheim', '--bogus'], {}],
    [['--apikey', 'sk-geheim', 'sk-geheim'], {}],
    [['--apikey=sk-geheim'], {}],
    [['--api-key', 'sk-geheim\n'], {}],
    [['--header', 'Authorization=Bearer', 'sk-geheim'], {}],
    [['--header', 'Authorization:', 'sk-geheim'], {}],
    [['--header', 'X-Api-Key=sk-geheim\nx'], {}],
    [['--base-url', 'http://user:sk-geheim@h'], {}],
    [['--api-key', 'sk-geheim', '--label=a', 'sk-geheim'], {}],
    [['--model=sk-geheim\n'], { TABBY_API_KEY: 'sk-geheim' }],
    [['--num-prompts', 'sk-geheim'], { OPENAI_API_KEY: 'sk-geheim' }],
    [[], { TABBY_API_KEY: 'sk-geheim-ä' }],
  ])('never show a key: %j %j', async (words, env) => {
    const lines = await problems([...RANDOM, ...words], env);
    expect(lines.join('\n')).not.toContain('geheim');
  });
});

describe('--config', () => {
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-config-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };

  it('reads option names in both spellings, flags, lists and mappings; the command line wins', async () => {
    const path = file(
      'a.yaml',
      `num_prompts: 12
max-concurrency: 3
save-result: true
quiet: no
force-length: false
request-rate: .inf
header: {A: b}
goodput: [ttft:5, tpot:6]
metric-percentiles: [50, 99.5]
extra-body:
  a: {b: [1, 2]}
label: null
`,
    );
    expect(await run([...RANDOM, '--concurrency', '9', '--config', path, '--header', 'C=d'])).toMatchObject({
      numPrompts: 12,
      maxConcurrency: 9,
      saveResult: true,
      quiet: false,
      forceLength: false,
      requestRate: Number.POSITIVE_INFINITY,
      header: { C: 'd' },
      goodput: { ttft: 5, tpot: 6 },
      metricPercentiles: [50, 99.5],
      extraBody: { a: { b: [1, 2] } },
      label: null,
    });
    expect((await run([...RANDOM, `--config=${path}`])).maxConcurrency).toBe(3);
  });

  it.each<[string, string, RegExp]>([
    ['missing.yaml', '', /no such file/],
    ['a.txt', 'a: 1', /not a .yaml or .yml file/],
    ['bad.yaml', 'a: [1', /not valid YAML/],
    ['list.yaml', '- a', /not a mapping/],
    ['unknown.yaml', 'colour: red', /--colour: unknown option/],
    ['flag.yaml', 'save-result: 5', /"save-result" is true or false/],
    ['value.yaml', 'seed: yes', /"seed" takes a value/],
    ['nested.yaml', 'config: b.yaml', /cannot stand in a config file/],
  ])('%s', async (name, text, message) => {
    const path = text === '' ? join(dir, name) : file(name, text);
    expect((await problems([...RANDOM, '--config', path])).join('\n')).toMatch(message);
  });
});

describe('values that would only fail later', () => {
  it.each([
    ['--duration', '25d'],
    ['--duration', '2592000'],
    ['--connect-timeout', '25d'],
    ['--drain-timeout', '999h'],
    ['--request-timeout', '4000000000ms'],
    ['--token-timeout', '25d'],
  ])('a time longer than timers can wait: %s %s', async (option, value) => {
    const [line] = await problems([...RANDOM, option, value]);
    expect(line).toMatch(new RegExp(`^${option}: .*longer than 24d`));
    // The longest one that is taken fits into the 31 bits that a timer has.
    expect(24 * 24 * 3600 * 1000).toBeLessThan(2 ** 31);
    await run([...RANDOM, option, '24d']);
  });

  it.each([
    'Connection',
    'keep-alive',
    'Transfer-Encoding',
    'CONTENT-LENGTH',
    'Upgrade',
    'Expect',
    'TE',
    'Trailer',
    'Proxy-Connection',
  ])('a header that belongs to the connection: %s', async (name) => {
    expect(await problems([...RANDOM, '--header', `${name}=x`])).toEqual([
      expect.stringMatching(new RegExp(`^--header ${name}: cannot be set: `)),
    ]);
  });

  it('a request id that cannot stand in a header', async () => {
    for (const prefix of ['é-', 'a b', '中', 'a\tb']) {
      expect(await problems([...RANDOM, '--request-id-prefix', prefix])).toEqual([
        expect.stringMatching(/^--request-id-prefix: /),
      ]);
    }
  });

  it.each(['--json', '--result-filename', '--result-dir', '--save-records', '--samples-out', '--save-hdr'])(
    'an output without a name: %s',
    async (option) => {
      expect(await problems([...RANDOM, `${option}=`])).toEqual([`${option}: the name is empty`]);
    },
  );

  it('- as a file, but for the JSON', async () => {
    for (const option of ['--save-records', '--samples-out', '--save-hdr', '--result-filename']) {
      expect(await problems([...RANDOM, option, '-'])).toEqual([expect.stringMatching(`^${option}: - is no file`)]);
    }
    expect(await run([...RANDOM, '--json', '-'])).toMatchObject({ json: '-' });
    expect(await run([...RANDOM, '--save-records', './-'])).toMatchObject({ saveRecords: './-' });
  });

  it('an option and its key in one word, without the key', async () => {
    const lines = await problems([...RANDOM, '--api-key sk-very-secret', '-k sk-very-secret']);
    expect(lines).toHaveLength(2);
    expect(lines.join()).not.toContain('secret');
    expect(lines[0]).toMatch(/^--api-key and its value stand in one word/);
  });

  it('a list for a single value in a config file', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'tabby-load-config-')), 'c.yaml');
    writeFileSync(path, 'concurrency: [1, 2]\npercentile-metrics: [ttft, itl]\n');
    expect(await problems([...RANDOM, '--config', path])).toEqual([
      `${path}: "concurrency" takes one value, not a list`,
    ]);
  });

  it('a switch in the environment that is neither on nor off', async () => {
    const { warnings } = await run(RANDOM, { TABBY_FORCE_LEN: 'maybe' });
    expect(warnings.join()).toMatch(/TABBY_FORCE_LEN/);
    for (const value of ['', '0', ' 1 ']) expect((await run(RANDOM, { TABBY_FORCE_LEN: value })).warnings).toEqual([]);
  });

  it('rules between options stand beside mistakes in others', async () => {
    expect(await problems(['--dataset', 'random', '--dataset-path', 'x', '--concurrency', '0'])).toEqual([
      expect.stringMatching(/^--concurrency: /),
      expect.stringMatching(/^--dataset-path: random makes/),
    ]);
    // What follows from the mistake itself is not said twice.
    expect(await problems([...RANDOM, '--num-prompts', 'x'])).toHaveLength(1);
  });
});
