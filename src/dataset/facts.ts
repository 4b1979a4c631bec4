/** What follows from a data set for the requests of a run, once it is known which one it is (`--dataset FILE` tells only when it is read). */
/** Backends of which vLLM lets generated prompts run to the asked length. */
const COMPLETING = new Set(['vllm', 'openai', 'openai-chat']);

/**
 * Is `ignore_eos` sent whatever `--ignore-eos` says? vLLM turns it on for generated prompts, which have no natural end, and for traces,
 * which say how long each answer was.
 */
export function ignoresEos(name: string, backend: string): boolean {
  if (name === 'timed_trace') return true;
  return (name === 'random' || name === 'random-mm') && COMPLETING.has(backend);
}

/** Do requests start at the data set's own times unless `--no-self-timed` says otherwise? */
export function isSelfTimed(name: string): boolean {
  return name === 'timed_trace';
}
