/** How faults of a running stream are carried out. */
import { abortedEvent } from './bodies.ts';
import type { StreamAnswer } from './stream.ts';

/** A fault of the phase `mid`, in place of the next token. */
export function strikeMid(answer: StreamAnswer): void {
  const { context, generation } = answer;
  switch (answer.fault) {
    case 'engine-error':
      answer.fail(abortedEvent(generation.kind));
      context.engine.failAll('');
      return;
    case 'fatal':
      answer.fail(abortedEvent(generation.kind));
      context.engine.failAll(null);
      return;
    case 'unload':
      context.state.model = null;
      context.engine.failAll(null);
      return;
    case 'truncated': {
      const whole = answer.stream.framed(answer.stream.text({ index: 0, content: ' torn' }));
      answer.stream.raw(whole.subarray(0, Math.floor(whole.length * 0.6)));
      answer.drop('fin');
      return;
    }
    case 'reset-mid':
      answer.drop('rst');
      return;
    case 'close':
      answer.drop('fin');
      return;
    case 'end-mid':
      answer.end();
      return;
    case 'stall-mid':
      answer.drop('hang');
      return;
    case 'bad-chunk':
      answer.stream.raw(Buffer.from('not hex\r\ndata: x\r\n'));
      answer.drop('fin');
      return;
    default:
      answer.fail(abortedEvent(generation.kind));
  }
}

/** The events that a fault of the phase `insert` adds. */
export function insertedEvents(answer: StreamAnswer): string[] {
  if (answer.fault === 'bad-json') return ['{"id": "chatcmpl-x", "choices": [{"index": 0, "delta": {"content": " torn'];
  if (answer.fault === 'null-choices')
    return ['{"id": "x"}', '{"id": "x", "choices": []}', '{"id": "x", "choices": null}'];
  const megabytes = answer.generation.marks.mb ?? 17;
  return [`{"id": "x", "choices": [], "filler": "${'x'.repeat(Math.round(megabytes * 1024 * 1024))}"}`];
}

/** The last pieces of a body, each to be put in a chunk, and whether the connection ends with them. */
export function closing(answer: StreamAnswer): { body: string[]; hangUp: boolean } {
  const { lineEnd } = answer.context;
  const done = `data: [DONE]${lineEnd}${lineEnd}`;
  switch (answer.fault) {
    case 'no-finish':
    case 'no-done':
      return { body: [''], hangUp: false };
    case 'done-space':
      return { body: [`data: [DONE] ${lineEnd}${lineEnd}`, ''], hangUp: false };
    case 'garbage':
      return {
        body: [done, `data: {"late": true}${lineEnd}${lineEnd}`, '\u0000\u0001 no event at all', ''],
        hangUp: false,
      };
    case 'no-last-chunk':
      return { body: [done], hangUp: true };
    default:
      return { body: [done, ''], hangUp: false };
  }
}
