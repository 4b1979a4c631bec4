/** `--backend openai` and `vllm`: /v1/completions. Payload as vLLM's `async_request_openai_completions` makes it. */
import { PyFloat, type PyJson } from '../python-json.ts';
import type { Backend } from './backend.ts';
import { lengthFields } from './length.ts';

/** The text completions backend. */
export const openaiCompletions: Backend = {
  form: 'completions',
  urlSuffixes: ['completions', 'profile'],
  headers: [],
  body({ prompt, outputLen }, options) {
    const length = lengthFields(outputLen, options);
    return {
      model: options.model,
      prompt: prompt as unknown as PyJson,
      repetition_penalty: new PyFloat(1),
      max_tokens: length.max,
      logprobs: options.logprobs,
      stream: options.stream,
      ...(options.askUsage ? { stream_options: { include_usage: true } } : {}),
      ...(options.ignoreEos ? { ignore_eos: true } : {}),
      ...options.extraBody,
      ...length.more,
    };
  },
};
