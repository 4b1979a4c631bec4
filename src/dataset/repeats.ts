/** How many prompts of a sample are sent more than once: from the second time on a server with a prefix cache need not read them. */
import type { SampleRequest } from './sample.ts';

/** Repeats of a sample. */
export interface Repeats {
  /** Requests whose prompt is that of an earlier one, whatever their output lengths. */
  readonly count: number;
  /** Index of the first of them; null when there is none. */
  readonly first: number | null;
}

/** Finds the repeats. */
export function repeatedPrompts(samples: readonly SampleRequest[]): Repeats {
  const seen = new Set<string>();
  let count = 0;
  let first: number | null = null;
  for (const [i, { prompt }] of samples.entries()) {
    // Lists are told apart from texts that look like them.
    const key = typeof prompt === 'string' ? prompt : `list:${JSON.stringify(prompt)}\0`;
    if (seen.has(key)) {
      count++;
      first ??= i;
    }
    seen.add(key);
  }
  return { count, first };
}
