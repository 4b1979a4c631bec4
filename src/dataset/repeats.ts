/** How many prompts of a sample are sent more than once: from the second time on a server with a prefix cache need not read them. */
import type { SampleRequest } from './sample.ts';

/** Requests whose prompt is that of an earlier one, whatever their output lengths. */
export function repeatedPrompts(samples: readonly SampleRequest[]): number {
  const seen = new Set<string>();
  let repeated = 0;
  for (const { prompt } of samples) {
    // Lists are told apart from texts that look like them.
    const key = typeof prompt === 'string' ? prompt : `list:${JSON.stringify(prompt)}\0`;
    if (seen.has(key)) repeated++;
    seen.add(key);
  }
  return repeated;
}
