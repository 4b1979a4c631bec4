/** The chat template on the client: vLLM applies it to custom, speed_bench and hf prompts unless `--skip-chat-template`. */
import { usageError } from '../errors.ts';
import type { DataSetName, DataSetRequest } from './data-set.ts';
import { isLocalTokenizer, type LocalTokenizer, type TokenCounter } from './tokenizer.ts';

/** What becomes of a prompt before it is counted and sent. */
export interface Templating {
  apply(prompt: string): string;
  /** Lines for the user. */
  readonly notes: readonly string[];
}

const AS_IT_IS: Templating = { apply: (prompt) => prompt, notes: [] };

/**
 * The templating of a run. The tokenizer of a server cannot template: towards TabbyAPI the prompts then go out as they are, since that
 * server applies its template itself; in mode `stock` it is a usage error.
 */
export function templatingOf(
  request: Pick<DataSetRequest, 'skipChatTemplate' | 'chatTemplateKwargs' | 'mode' | 'backend'>,
  tokenizer: TokenCounter,
  name: DataSetName,
): Templating {
  if (request.skipChatTemplate) return AS_IT_IS;
  if (isLocalTokenizer(tokenizer)) {
    const kwargs = request.chatTemplateKwargs ?? {};
    return { apply: (prompt) => templated(tokenizer, prompt, kwargs), notes: twiceNote(request, name) };
  }
  if (request.mode === 'shim') {
    const note = `the ${name} prompts are sent as they are; the server applies its chat template (vLLM would apply the tokenizer's here: give --tokenizer FOLDER for that)`;
    return { ...AS_IT_IS, notes: [note] };
  }
  throw usageError(
    `the tokenizer of the server cannot apply a chat template, which vLLM does to ${name} prompts`,
    'Give --tokenizer FOLDER, or --skip-chat-template to send the prompts as they are.',
  );
}

function twiceNote(request: Pick<DataSetRequest, 'backend'>, name: DataSetName): readonly string[] {
  if (request.backend !== 'openai-chat') return [];
  return [
    `the chat template is applied to the ${name} prompts here, as in vLLM, and the server applies its own around it (--skip-chat-template sends the prompts as they are)`,
  ];
}

/** One user message through the tokenizer's template, with the start of the answer. Throws a usage error when it has none. */
export function templated(
  tokenizer: LocalTokenizer,
  prompt: string,
  kwargs: Readonly<Record<string, unknown>> = {},
): string {
  const text = tokenizer.applyChatTemplate([{ role: 'user', content: prompt }], { addGenerationPrompt: true, kwargs });
  if (text !== null) return text;
  throw usageError(
    `the tokenizer ${tokenizer.id} has no chat template`,
    "Give a chat model's tokenizer with --tokenizer FOLDER, or --skip-chat-template where the data set knows it.",
  );
}
