/**
 * What showing progress costs: `npm run bench:ui`. The same load against the built-in server with a panel (`--ui live`, on a pseudo-terminal
 * of util-linux's `script`), with plain lines and with nothing, in turns; then what counting for the panel costs by itself.
 * `--rounds N`, `--streams N`, `--tokens N`, `--itl MS`. Build first.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LIVE_BYTES, LiveCounts } from '../src/record/live-counts.ts';
import { measure, tableOf, usedResult } from './timing.ts';

const TTFT_MS = 100;
const MODES = ['none', 'plain', 'live'] as const;
type Mode = (typeof MODES)[number];

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    streams: { type: 'string', default: '128' },
    tokens: { type: 'string', default: '150' },
    itl: { type: 'string', default: '10' },
  },
});
const [streams, tokens] = [Number(values.streams), Number(values.tokens)];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const program = `${process.cwd()}/dist/main.js`;
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-ui-'));
const file = (name: string): string => join(dir, name);

interface Figures {
  /** CPU time of the program in the run, µs per token frame. */
  readonly cpuUs: number;
  /** TTFT less what the server waits. */
  readonly ttftErrorMs: number;
  readonly ttftP99ErrorMs: number;
  readonly gapP99ErrorMs: number;
  readonly loopP99Ms: number;
}

async function runOnce(url: string, mode: Mode): Promise<Figures> {
  const load = ['--base-url', url, '--dataset', file('rows.json'), '--sharegpt-output-len', String(tokens)];
  const counts = ['--concurrency', String(streams), '--num-prompts', String(2 * streams), '--workers', '1'];
  const out = ['--ui', mode, '--no-gpus', '--percentile-metrics', 'ttft,itl', '--json', file('run.json')];
  const command = [process.execPath, program, ...load, ...counts, ...out].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qefc', `stty cols 120 rows 30; exec ${command}`, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm', LANG: 'C.UTF-8', NO_COLOR: '' },
  });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`a run ended with ${String(code)}:\n${text.slice(-2000)}`);
  if (text.includes('\u001b') !== (mode === 'live'))
    throw new Error(`--ui ${mode} drew what it should not, or did not`);
  return figuresOf(JSON.parse(readFileSync(file('run.json'), 'utf8')) as Record<string, unknown>);
}

function figuresOf(result: Record<string, unknown>): Figures {
  const own = result['tabby_load'] as {
    client_health: { cpu_us_per_token_frame: number; workers: { loop_delay_ms: { p99: number } }[] };
  };
  if (result['completed'] !== 2 * streams) throw new Error(`only ${String(result['completed'])} requests succeeded`);
  return {
    cpuUs: own.client_health.cpu_us_per_token_frame,
    ttftErrorMs: Number(result['mean_ttft_ms']) - TTFT_MS,
    ttftP99ErrorMs: Number(result['p99_ttft_ms']) - TTFT_MS,
    gapP99ErrorMs: Number(result['p99_itl_ms']) - Number(values.itl),
    loopP99Ms: Math.max(...own.client_health.workers.map(({ loop_delay_ms: delay }) => delay.p99)),
  };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2;
}

function table(rounds: Readonly<Record<Mode, Figures[]>>): string[] {
  const columns = [
    ['CPU µs/event', 'cpuUs', 2],
    ['TTFT error mean, ms', 'ttftErrorMs', 2],
    ['p99', 'ttftP99ErrorMs', 1],
    ['gap p99 error, ms', 'gapP99ErrorMs', 2],
    ['loop delay p99, ms', 'loopP99Ms', 2],
  ] as const;
  const of = (mode: Mode, key: keyof Figures): number => median(rounds[mode].map((figures) => figures[key]));
  return [
    `| --ui | ${columns.map(([head]) => head).join(' | ')} | CPU beside none |`,
    `| --- |${' ---: |'.repeat(columns.length + 1)}`,
    ...MODES.map((mode) => {
      const cells = columns.map(([, key, digits]) => of(mode, key).toFixed(digits));
      // Of runs of the same round, which shared what else the machine did.
      const ratio = median(rounds[mode].map(({ cpuUs }, k) => cpuUs / (rounds.none[k] as Figures).cpuUs));
      return `| ${mode} | ${cells.join(' | ')} | ${ratio.toFixed(3)}× |`;
    }),
  ];
}

async function server(): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const times = ['--ttft', `${TTFT_MS}ms`, '--itl', `${values.itl}ms`, '--slots', String(streams)];
  const child = spawn(process.execPath, [program, 'mock', '--port', '0', ...times], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const url = await new Promise<string>((resolve, reject) => {
    const take = (part: Buffer): void => {
      text += part.toString();
      const match = /listening on (http:\/\/\S+)/.exec(text);
      if (match !== null) resolve(match[1] as string);
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    child.once('close', () => reject(new Error(`the server ended: ${text}`)));
  });
  return { child, url };
}

/** What is added for each event when a panel is shown. */
function countingRow(): string[] {
  const counts = new LiveCounts(new SharedArrayBuffer(LIVE_BYTES));
  const times = Float64Array.from({ length: 100_000 }, (_, k) => k * 10 + ((k * 7919) % 997) / 100);
  const one = { name: 'count an event for the panel', units: times.length, bytes: 0 };
  return tableOf('', 'event', [
    measure({ ...one, run: () => counts.take({ times, tokenFrames: times.length }, -50, 0) }),
  ]);
}

if (spawnSync('script', ['--version'], { stdio: 'ignore' }).status !== 0) {
  throw new Error('bench:ui needs "script" of util-linux for a pseudo-terminal');
}
const said = 'How does one keep a promise, and why does it matter to others? ';
const turns = [
  { from: 'human', value: said },
  { from: 'gpt', value: said.repeat(3) },
];
writeFileSync(
  file('rows.json'),
  JSON.stringify(Array.from({ length: 2 * streams }, (_, k) => ({ id: `r${k}`, conversations: turns }))),
);
const { child, url } = await server();
try {
  print(
    `Node ${process.versions.node}, ${cpus()[0]?.model.trim() ?? ''}; ${streams} streams, ${tokens} tokens each ${values.itl} ms;`,
  );
  print(`medians of ${values.rounds} rounds in turns.`);
  const rounds: Record<Mode, Figures[]> = { none: [], plain: [], live: [] };
  await runOnce(url, 'live');
  for (let k = 0; k < Number(values.rounds); k++) {
    // Each goes first as often as the others.
    for (let n = 0; n < MODES.length; n++) {
      const mode = MODES[(k + n) % MODES.length] as Mode;
      rounds[mode].push(await runOnce(url, mode));
    }
  }
  for (const line of ['', ...table(rounds), ...countingRow()]) print(line);
} finally {
  child.kill();
  rmSync(dir, { recursive: true, force: true });
}
if (!usedResult()) process.exitCode = 1;
