/** The usage object, as TabbyAPI makes it from exllamav3's figures, and as vLLM does. */
import { type PyJson, py, round2 } from './pyjson.ts';

/** What one finished job tells about itself; times in seconds. */
export interface JobFigures {
  readonly promptTokens: number;
  /** Prompt tokens found in the cache: they cost no prefill, so the rate leaves them out. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Draft tokens accepted and proposed. */
  readonly acceptedTokens: number;
  readonly proposedTokens: number;
  readonly queueS: number;
  readonly promptS: number;
  readonly completionS: number;
}

function rate(tokens: number, seconds: number): PyJson {
  return seconds === 0 ? 'Indeterminate' : py(round2(tokens / seconds));
}

function details(jobs: readonly JobFigures[]): Record<string, PyJson> {
  const accepted = jobs.reduce((sum, job) => sum + job.acceptedTokens, 0);
  const proposed = jobs.reduce((sum, job) => sum + job.proposedTokens, 0);
  return {
    prompt_tokens_details: { cached_tokens: jobs[0]?.cachedTokens ?? 0 },
    completion_tokens_details: {
      accepted_prediction_tokens: accepted,
      rejected_prediction_tokens: proposed - accepted,
    },
  };
}

/**
 * Usage of one job: times to 2 decimals, prompt rate from the rounded time (hence "Indeterminate" when it rounds to 0), generation
 * rate from the exact one, total = queue + prompt + completion.
 */
function usageOfOne(job: JobFigures): Record<string, PyJson> {
  const promptTime = round2(job.promptS);
  return {
    prompt_tokens: job.promptTokens,
    prompt_time: py(promptTime),
    prompt_tokens_per_sec: rate(job.promptTokens - job.cachedTokens, promptTime),
    completion_tokens: job.completionTokens,
    completion_time: py(round2(job.completionS)),
    completion_tokens_per_sec: rate(job.completionTokens, job.completionS),
    total_tokens: job.promptTokens + job.completionTokens,
    total_time: py(round2(job.queueS + job.promptS + job.completionS)),
  };
}

/**
 * Usage of several choices, in the order they finished: completion tokens summed, prompt of the first finisher only, completion
 * time the longest, the queue's time lost, and nothing rounded after that.
 */
function usageOfMany(jobs: readonly JobFigures[]): Record<string, PyJson> {
  const first = jobs[0] as JobFigures;
  const promptTime = round2(first.promptS);
  const completionTime = Math.max(...jobs.map((job) => round2(job.completionS)));
  const completionTokens = jobs.reduce((sum, job) => sum + job.completionTokens, 0);
  return {
    prompt_tokens: first.promptTokens,
    prompt_time: py(promptTime),
    prompt_tokens_per_sec: rate(first.promptTokens - first.cachedTokens, promptTime),
    completion_tokens: completionTokens,
    completion_time: py(completionTime),
    completion_tokens_per_sec: completionTime === 0 ? 'Indeterminate' : py(completionTokens / completionTime),
    total_tokens: first.promptTokens + completionTokens,
    total_time: py(promptTime + completionTime),
  };
}

/** TabbyAPI's usage of all jobs of a request, in the order they finished. */
export function tabbyUsage(jobs: readonly JobFigures[], withDetails: boolean): PyJson {
  const usage = jobs.length === 1 ? usageOfOne(jobs[0] as JobFigures) : usageOfMany(jobs);
  return withDetails ? { ...usage, ...details(jobs) } : usage;
}

/** vLLM's usage: three counts, the prompt once. */
export function openaiUsage(jobs: readonly JobFigures[], withDetails: boolean): PyJson {
  const prompt = jobs[0]?.promptTokens ?? 0;
  const completion = jobs.reduce((sum, job) => sum + job.completionTokens, 0);
  const cached = { prompt_tokens_details: { cached_tokens: jobs[0]?.cachedTokens ?? 0 } };
  return {
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    ...(withDetails ? cached : {}),
  };
}
