/** A tokenizer's own chat template, rendered as Python's `apply_chat_template(…, tokenize=False)` does. */
import { Template } from '@huggingface/jinja';
import { messageOf, usageError } from '../errors.ts';
import type { LocalTokenizer } from './tokenizer.ts';

/**
 * Renders `source` with what `transformers` passes in: messages, add_generation_prompt, tools and documents (none), the named special
 * tokens, then `kwargs` over them. Throws a usage error when the template fails or refuses the messages.
 */
export function chatTemplateRenderer(
  source: string,
  specialTokens: Readonly<Record<string, string>>,
  tokenizerId: string,
): (...args: Parameters<LocalTokenizer['applyChatTemplate']>) => string {
  let template: Template | null = null;
  return (messages, options) => {
    try {
      template ??= new Template(source);
      return template.render({
        messages,
        tools: null,
        documents: null,
        add_generation_prompt: options.addGenerationPrompt,
        ...specialTokens,
        ...options.kwargs,
      });
    } catch (error) {
      throw usageError(
        `the chat template of the tokenizer ${tokenizerId} failed: ${messageOf(error)}`,
        'Check the template in its tokenizer_config.json or chat_template.jinja.',
        error,
      );
    }
  };
}
