/**
 * The text data sets of the Hugging Face hub that vLLM 0.30 knows (`--dataset-name hf`), by the columns they have and by what becomes of a
 * row. A local file of the same columns is read by the same rules.
 */
import { usageError } from '../errors.ts';
import type { DataSetOptions } from './data-set-options.ts';
import type { HfRow } from './hf-rows.ts';
import { kindOf, wellFormed } from './text.ts';

/** What a row asks for. */
export interface HfPrompt {
  readonly prompt: string;
  /** A system message before it, for the chat template. */
  readonly system?: string;
  /** The reference answer, whose length is the output length where none was given. */
  readonly reply?: string;
}

/** vLLM's limits in tokens; the answer has at least 4, like the prompt. */
export interface HfLimits {
  readonly maxPrompt: number;
  readonly maxTotal: number;
}

/** Which rows of Blazedit are taken (`--blazedit-min-distance`, `--blazedit-max-distance`). */
export type HfDistances = Pick<DataSetOptions, 'blazeditMinDistance' | 'blazeditMaxDistance'>;

/** A kind of data set. */
export interface HfKind {
  /** What to call it in messages. */
  readonly label: string;
  readonly hubNames: readonly string[];
  /** The part of the data set that is taken without `--hf-split`. */
  readonly split: string;
  /** The subset that is taken without `--hf-subset`; null: the only one. */
  readonly subset: string | null;
  /** Columns without which there is no prompt. */
  readonly columns: readonly string[];
  /** Null: the row is passed over. Throws a usage error naming the row. */
  read(row: HfRow, limits: HfDistances): HfPrompt | null;
  /** `option`: the chat template is applied unless `--skip-chat-template`. */
  readonly template: 'option' | 'always' | 'never';
  /** Output tokens without `--hf-output-len`; `reply`: as many as the answer has; `replyAlways`: whatever is given. */
  readonly outputLen: number | 'reply' | 'replyAlways';
  /** The answer is counted with special tokens. */
  readonly specialInReply: boolean;
  /** Rows outside are passed over; null: none are. With `onlyDynamic` a given output length lifts the limits. */
  readonly limits: (HfLimits & { readonly onlyDynamic: boolean }) | null;
  /** `row`: request ids count the rows looked at, also those passed over. */
  readonly ids: 'sample' | 'row';
}

const PROMPT_KIND = {
  split: 'train',
  subset: null,
  template: 'option',
  outputLen: 256,
  specialInReply: true,
  limits: null,
  ids: 'row',
} as const;

const SHAREGPT_LIMITS = { maxPrompt: 1024, maxTotal: 2048 };

/** The kinds, in the order in which columns are looked at: the first that finds all of its own is taken. */
export const HF_KINDS: readonly HfKind[] = [
  {
    ...PROMPT_KIND,
    label: 'conversations',
    hubNames: ['Aeala/ShareGPT_Vicuna_unfiltered'],
    columns: ['conversations'],
    read: conversation,
    template: 'never',
    outputLen: 'reply',
    limits: { ...SHAREGPT_LIMITS, onlyDynamic: true },
    ids: 'sample',
  },
  {
    ...PROMPT_KIND,
    label: 'MLPerf',
    hubNames: ['mgoin/mlperf-inference-llama2-data', 'mgoin/mlperf-inference-llama3.1-data'],
    columns: ['system_prompt', 'question', 'output'],
    read: (row) => ({ system: text(row, 'system_prompt'), prompt: text(row, 'question'), reply: text(row, 'output') }),
    template: 'always',
    outputLen: 'reply',
    specialInReply: false,
    limits: { ...SHAREGPT_LIMITS, onlyDynamic: false },
    ids: 'sample',
  },
  {
    ...PROMPT_KIND,
    label: 'AIMO',
    hubNames: ['AI-MO/aimo-validation-aime', 'AI-MO/NuminaMath-1.5', 'AI-MO/NuminaMath-CoT'],
    columns: ['problem', 'solution'],
    read: (row) => ({ prompt: text(row, 'problem'), reply: text(row, 'solution') }),
    template: 'never',
    outputLen: 'reply',
    limits: { maxPrompt: 2048, maxTotal: 32_000, onlyDynamic: true },
    ids: 'sample',
  },
  {
    ...PROMPT_KIND,
    label: 'next edit prediction (zeta)',
    hubNames: ['zed-industries/zeta'],
    columns: ['events', 'input', 'output'],
    read: zeta,
    template: 'never',
    outputLen: 'replyAlways',
  },
  {
    ...PROMPT_KIND,
    label: 'InstructCoder',
    hubNames: ['likaixin/InstructCoder'],
    columns: ['input', 'instruction'],
    read: (row) => ({
      prompt: `${text(row, 'input')}\n\n${text(row, 'instruction')} Just output the code, do not include any explanation.`,
    }),
    outputLen: 200,
  },
  {
    ...PROMPT_KIND,
    label: 'Blazedit',
    hubNames: ['vdaita/edit_5k_char', 'vdaita/edit_10k_char'],
    columns: ['code', 'change_request', 'norm_distance'],
    read: blazedit,
    outputLen: 4000,
  },
  {
    ...PROMPT_KIND,
    label: 'GSM8K',
    hubNames: ['openai/gsm8k'],
    split: 'test',
    subset: 'main',
    columns: ['question'],
    read: (row) => ({ prompt: text(row, 'question') }),
  },
  {
    ...PROMPT_KIND,
    label: 'MT-Bench',
    hubNames: ['philschmid/mt-bench'],
    columns: ['turns'],
    read: (row) => ({ prompt: firstTurn(row) }),
  },
  {
    ...PROMPT_KIND,
    label: 'HumanEval',
    hubNames: ['openai/openai_humaneval'],
    split: 'test',
    columns: ['prompt'],
    read: (row) => ({ prompt: text(row, 'prompt') }),
  },
];

/** Data sets that vLLM knows and this program does not: they hold images, video, sound or tools. */
export const HF_OTHERS: readonly string[] = [
  'lmms-lab/LLaVA-OneVision-Data',
  'lmarena-ai/VisionArena-Chat',
  'yale-nlp/MMVU',
  'Lin-Chen/MMStar',
  'openslr/librispeech_asr',
  'facebook/voxpopuli',
  'LIUM/tedlium',
  'edinburghcstr/ami',
  'speechcolab/gigaspeech',
  'kensho/spgispeech',
  'gorilla-llm/Berkeley-Function-Calling-Leaderboard',
];

/** The kind of a hub name; undefined when vLLM has none of that name, or none of text. */
export function kindByName(name: string): HfKind | undefined {
  return HF_KINDS.find((kind) => kind.hubNames.includes(name));
}

/** The kind of a file with these columns; undefined when none fits. */
export function kindByColumns(columns: readonly string[]): HfKind | undefined {
  return HF_KINDS.find((kind) => kind.columns.every((column) => columns.includes(column)));
}

function wrong({ where, values }: HfRow, column: string, value: unknown, wanted: string): Error {
  return usageError(
    `${where}: "${column}" is ${kindOf(value)} where ${wanted} should be`,
    `The row has ${Object.keys(values).join(', ')}.`,
  );
}

function text(row: HfRow, column: string): string {
  const value = row.values[column];
  if (typeof value === 'string') return wellFormed(value);
  throw wrong(row, column, value, 'a text');
}

function firstTurn(row: HfRow): string {
  const turns = row.values['turns'];
  const first: unknown = Array.isArray(turns) ? turns[0] : undefined;
  if (typeof first === 'string') return wellFormed(first);
  throw wrong(row, 'turns', turns, 'a list of texts');
}

/** The first two turns; shorter conversations are passed over. */
function conversation(row: HfRow): HfPrompt | null {
  const turns = row.values['conversations'];
  if (!Array.isArray(turns)) throw wrong(row, 'conversations', turns, 'a list of turns');
  if (turns.length < 2) return null;
  if (row.values['image'] !== undefined && row.values['image'] !== null) {
    throw usageError(`${row.where}: the row holds an image`, 'Images are not in this version: only text.');
  }
  const [prompt, reply] = turns.slice(0, 2).map((turn: unknown) => {
    const value = (turn as { value?: unknown } | null)?.value;
    if (typeof value === 'string') return wellFormed(value);
    throw wrong(row, 'conversations', value, 'a text "value" of each of the first two turns');
  }) as [string, string];
  return { prompt, reply };
}

/** Where the region to edit begins in a zeta answer; what comes before is not generated. */
const ZETA_MARKER = '<|editable_region_start|>';

function zeta(row: HfRow): HfPrompt {
  const prompt =
    '### Instruction:\nYou are a code completion assistant and your task is to analyze user edits and then rewrite an excerpt that ' +
    'the user provides, suggesting the appropriate edits within the excerpt, taking into account the cursor location.\n\n' +
    `### User Edits:\n\n${text(row, 'events')}\n\n### User Excerpt:\n\n${text(row, 'input')}\n\n### Response:\n\n`;
  const output = text(row, 'output');
  const start = output.indexOf(ZETA_MARKER);
  // Without the marker vLLM's slice begins at −1: the last character.
  return { prompt, reply: start === -1 ? ([...output].at(-1) ?? '') : output.slice(start) };
}

function blazedit(row: HfRow, limits: HfDistances): HfPrompt | null {
  const distance = row.values['norm_distance'];
  if (typeof distance !== 'number') throw wrong(row, 'norm_distance', distance, 'a number');
  if (distance < limits.blazeditMinDistance || distance > limits.blazeditMaxDistance) return null;
  return {
    prompt:
      'Given a code file, please apply the change requests and generate the new file.\n\nOriginal file:\n```python\n' +
      `${text(row, 'code')}\n\`\`\`\n\nChange request:\n${text(row, 'change_request')}\n\n` +
      'Please generate the new code file in the "New file" section below.',
  };
}
