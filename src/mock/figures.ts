/** What a finished job tells: its figures for usage, its finish reason, its tool calls. */

import type { MockContext } from './context.ts';
import { randomHex } from './ids.ts';
import type { Job } from './job.ts';
import type { PyJson } from './pyjson.ts';
import { type JobFigures, openaiUsage, tabbyUsage } from './usage.ts';

/** The figures usage is made of; times in seconds. */
function figuresOf(job: Job): JobFigures {
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

/** Usage of the jobs of a request, in the order they finished, in the server's style; it is counted as told. */
export function usageOf(context: MockContext, jobs: readonly Job[]): PyJson {
  const { options, stats } = context;
  const figures = jobs.map(figuresOf);
  stats.usage(
    figures[0]?.promptTokens ?? 0,
    figures.reduce((sum, one) => sum + one.completionTokens, 0),
  );
  return (options.style === 'tabbyapi' ? tabbyUsage : openaiUsage)(figures, options.usageDetails);
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
