/** What a finished job tells: its figures for usage, its finish reason, its tool calls. */
import { randomHex } from './ids.ts';
import type { Job } from './job.ts';
import type { JobFigures } from './usage.ts';

/** The figures usage is made of. Times in seconds. */
export function figuresOf(job: Job): JobFigures {
  return {
    promptTokens: job.usagePrompt,
    cachedTokens: job.plan.cachedTokens,
    completionTokens: job.completionTokens,
    acceptedTokens: job.acceptedTokens,
    proposedTokens: job.proposedTokens,
    queueS: (job.startedMs - job.enqueuedMs) / 1000,
    promptS: (job.firstMs - job.startedMs) / 1000,
    completionS: (job.finishedMs - job.firstMs) / 1000,
  };
}

/** `stop`, `length` or `tool_calls`. */
export function finishReason(job: Job, toolCalls: number): string {
  if (toolCalls > 0) return 'tool_calls';
  return job.plan.eosReason === 'max_new_tokens' ? 'length' : 'stop';
}

/** The list in the one event that holds all tool calls. */
export function toolCallList(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `call_${randomHex(12)}`,
    function: { name: 'get_weather', arguments: '{"city": "Paris", "days": 3}' },
    type: 'function',
    index,
  }));
}
