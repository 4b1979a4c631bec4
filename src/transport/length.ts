/** Fields that set the length of an answer. */
import type { PyJson } from '../python-json.ts';
import type { BodyOptions } from './backend.ts';

/**
 * The limit and the further fields for `outputLen` tokens.
 *
 * TabbyAPI ends an answer one token (and its draft tokens) before `max_tokens`, so the shim's `max = min = N` makes N − 1. With
 * `exactLength` the limit is set that much higher and the detection of loops, which forced answers fall into, is switched
 * off: `min_tokens` N with `max_tokens` N + 1 makes exactly N (measured on exllamav3's own job code).
 */
export function lengthFields(
  outputLen: number,
  options: Pick<BodyOptions, 'forceLength' | 'exactLength' | 'draftTokens'>,
): { readonly max: number; readonly more: Readonly<Record<string, PyJson>> } {
  if (options.exactLength) {
    return { max: outputLen + 1 + options.draftTokens, more: { min_tokens: outputLen, loop_detect_window: 0 } };
  }
  return { max: outputLen, more: options.forceLength ? { min_tokens: outputLen } : {} };
}
