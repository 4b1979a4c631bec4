/** `--backend openai-chat`: /v1/chat/completions. Payload as vLLM's `async_request_openai_chat_completions` makes it. */
import type { ChatMessage, Prompt } from '../dataset/sample.ts';
import type { PyJson } from '../python-json.ts';
import type { Backend } from './backend.ts';
import { lengthFields } from './length.ts';

/** The chat backend. */
export const openaiChat: Backend = {
  form: 'chat',
  urlSuffixes: ['chat/completions', 'profile'],
  headers: [['Content-Type', 'application/json']],
  body({ prompt, outputLen }, options) {
    const length = lengthFields(outputLen, options);
    return {
      model: options.model,
      messages: messagesOf(prompt),
      max_completion_tokens: length.max,
      stream: options.stream,
      ...(options.askUsage ? { stream_options: { include_usage: true } } : {}),
      ...(options.ignoreEos ? { ignore_eos: true } : {}),
      ...options.extraBody,
      ...length.more,
    };
  },
};

/** Messages of a prompt: as they are, or the text as one part of one user message. */
function messagesOf(prompt: Prompt): PyJson {
  if (typeof prompt === 'string') return [{ role: 'user', content: [{ type: 'text', text: prompt }] }];
  if (isMessages(prompt)) return prompt as unknown as PyJson;
  return [{ role: 'user', content: prompt.map((text) => ({ type: 'text', text })) }];
}

function isMessages(prompt: Exclude<Prompt, string>): prompt is readonly ChatMessage[] {
  return prompt.every((part) => typeof part === 'object');
}
