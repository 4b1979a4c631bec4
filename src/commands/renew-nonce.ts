/** `--num-runs` with `--unique-prompts`: each run sends the same samples, but no prompt that the server's prefix cache knows from the one before. */
import type { SharedWork } from '../record/messages.ts';
import { WorkView } from '../transport/shared-work.ts';

/**
 * Puts another nonce into the requests, which are packed already: texts that the samples held are gone by then.
 * @param from the nonce with which the samples were made
 * @param to as long as `from`
 */
export function renewNonce(work: SharedWork, from: string, to: string): void {
  const fresh = Buffer.from(to);
  if (fresh.length !== Buffer.byteLength(from)) throw new RangeError('nonces of one run are equally long');
  const view = new WorkView(work);
  for (let i = 0; i < view.count; i++) {
    const body = view.body(i);
    const old = Buffer.from(`${from}-${i}`);
    // Several prompts of one request have one each.
    for (let at = body.indexOf(old); at >= 0; at = body.indexOf(old, at + old.length)) fresh.copy(body, at);
  }
}
