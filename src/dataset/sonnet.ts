/**
 * Poem lines as vLLM 0.30's `sonnet` data set puts them together: the same first lines in every prompt, then lines drawn from Python's
 * global generator, which is not seeded again. Chat backends get the raw prompt, others the templated one; the length counted is
 * that of the templated one in both cases.
 */
import { usageError } from '../errors.ts';
import type { DataSet, DataSetRequest } from './data-set.ts';
import { eachChunk, openInput } from './input-file.ts';
import { needLocalTokenizer } from './needs.ts';
import type { PythonRandom } from './python-random.ts';
import type { SampleRequest } from './sample.ts';
import { templated } from './templating.ts';
import type { LocalTokenizer } from './tokenizer.ts';

/** What every prompt begins with. */
const BASE_PROMPT = 'Pick as many lines as you can from these poem lines:\n';

/** Draws in a row that all come out too long before we give up; vLLM would go on for ever. */
const MAX_MISSES = 10_000;

/** Poem lines (`--dataset-name sonnet`). */
export const sonnet: DataSet = {
  name: 'sonnet',
  needsFile: true,
  async sample(request, tokenizer, random) {
    const local = needLocalTokenizer(tokenizer, 'sonnet', 'applies the chat template to count its prompts');
    const lines = await readLines(request.path!);
    const plan = await planLines(request, local, lines);
    return { samples: await drawPrompts(request, local, lines, plan, random), notes: [] };
  },
};

/** Lines with their ends, which are line feeds as Python's text mode makes them. */
async function readLines(path: string): Promise<readonly string[]> {
  const file = await openInput(path);
  try {
    const chunks: Buffer[] = [];
    await eachChunk(file, (chunk) => chunks.push(Buffer.from(chunk)));
    const text = Buffer.concat(chunks).toString('utf8').replace(/\r\n?/g, '\n');
    return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  } finally {
    await file.handle.close();
  }
}

/** How many lines a prompt has. */
interface LinePlan {
  /** From the beginning of the poem, the same in all prompts. */
  readonly prefix: number;
  /** Drawn at random. */
  readonly drawn: number;
}

async function planLines(
  request: DataSetRequest,
  tokenizer: LocalTokenizer,
  lines: readonly string[],
): Promise<LinePlan> {
  const lengths = await tokenizer.countAll(lines);
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const [base] = (await tokenizer.countAll([templated(tokenizer, BASE_PROMPT)])) as [number];
  if (request.sonnetInputLen <= base) {
    throw usageError(
      `--sonnet-input-len ${request.sonnetInputLen}: the shortest prompt has ${base} tokens with the chat template, ` +
        'and the length must be greater',
      'Increase --sonnet-input-len.',
    );
  }
  const all = Math.max(roundHalfEven((request.sonnetInputLen - base) / mean), 1);
  const prefix = Math.max(roundHalfEven((request.sonnetPrefixLen - base) / mean), 0);
  return { prefix, drawn: Math.max(0, all - prefix) };
}

async function drawPrompts(
  request: DataSetRequest,
  tokenizer: LocalTokenizer,
  lines: readonly string[],
  plan: LinePlan,
  random: PythonRandom,
): Promise<readonly SampleRequest[]> {
  const prefix = BASE_PROMPT + lines.slice(0, plan.prefix).join('');
  const samples: SampleRequest[] = [];
  let misses = 0;
  while (samples.length < request.numPrompts) {
    const prompt = prefix + random.choices(lines, plan.drawn).join('');
    const text = templated(tokenizer, prompt);
    const [promptLen] = (await tokenizer.countAll([text])) as [number];
    if (promptLen > request.sonnetInputLen) {
      misses++;
      if (plan.drawn === 0 || misses >= MAX_MISSES) throw nothingFits(request, promptLen);
      continue;
    }
    misses = 0;
    samples.push({
      prompt: request.backend === 'openai-chat' ? prompt : text,
      promptLen,
      outputLen: request.sonnetOutputLen,
      requestId: `${request.requestIdPrefix}${samples.length}`,
    });
  }
  return samples;
}

function nothingFits(request: DataSetRequest, promptLen: number): Error {
  return usageError(
    `${request.path}: prompts come out longer than --sonnet-input-len ${request.sonnetInputLen} (the last one has ${promptLen} tokens)`,
    'Increase --sonnet-input-len, or decrease --sonnet-prefix-len.',
  );
}

/** Python's `round()`: halves to the even neighbour. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
