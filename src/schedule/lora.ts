/** Which LoRA module each request names as its model. */
import type { PythonRandom } from '../dataset/python-random.ts';

/**
 * The modules of `count` requests in sample order, as vLLM assigns them: `round-robin`, or `random`, one `random.choice` for each from
 * Python's global generator as the data set left it, before the arrivals are drawn. Empty when there are no modules; nothing is
 * drawn then.
 */
export function drawLora(
  random: PythonRandom,
  modules: readonly string[],
  assignment: 'random' | 'round-robin',
  count: number,
): readonly string[] {
  if (modules.length === 0) return [];
  return Array.from({ length: count }, (_, i) =>
    assignment === 'round-robin' ? modules[i % modules.length]! : random.choice(modules),
  );
}
