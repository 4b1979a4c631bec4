import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerStream } from '../../src/sse/stream.ts';

const MAX_EVENT_BYTES = 1 << 16;

type Event =
  | { readonly kind: 'content' | 'reasoning_content' | 'reasoning'; readonly text: string }
  | { readonly kind: 'role' | 'ping' | 'finish' | 'blank' | 'usage' };

const token = fc.record({
  kind: fc.constantFrom('content', 'reasoning_content', 'reasoning'),
  text: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
    fc.constantFrom('"', '\\', 'data: x\n\n', ' ', '😀', '\u2028', '\u0000'),
  ),
}) as fc.Arbitrary<Event>;
const other = fc.record({ kind: fc.constantFrom('role', 'ping', 'finish', 'blank', 'usage') }) as fc.Arbitrary<Event>;
const script = fc.array(fc.oneof({ weight: 4, arbitrary: token }, { weight: 1, arbitrary: other }), { maxLength: 25 });

/** Writes events as a server would; `ascii` escapes all that is not ASCII, as Python's default does. */
function encode(events: readonly Event[], lineEnd: string, ascii: boolean, spaced: boolean): Buffer {
  const json = (value: unknown) => {
    let text = JSON.stringify(value);
    if (spaced) text = text.replace(/^\{"id":/, '{"id": ');
    if (ascii)
      text = text.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return text;
  };
  let created = 1_796_092_125;
  let out = '';
  for (const event of events) {
    created++;
    const frame = (delta: object, finish: string | null = null, more: object = {}) =>
      `data: ${json({ id: 'x', created, choices: [{ index: 0, delta, finish_reason: finish }], ...more, model: 'm' })}${lineEnd}${lineEnd}`;
    if ('text' in event) out += frame({ [event.kind]: event.text });
    else if (event.kind === 'role') out += frame({ role: 'assistant', content: '' });
    else if (event.kind === 'ping') out += `: ping - now${lineEnd}${lineEnd}`;
    else if (event.kind === 'blank') out += lineEnd;
    else if (event.kind === 'usage') out += frame({}, null, { usage: { completion_tokens: created } });
    else out += frame({}, 'stop');
  }
  return Buffer.from(out);
}

describe('any stream', () => {
  it('yields exactly its tokens and texts, whatever the cutting, the line ends and the escaping', () => {
    fc.assert(
      fc.property(
        script,
        fc.constantFrom('\r\n', '\n', '\r'),
        fc.boolean(),
        fc.boolean(),
        fc.array(fc.nat(6000)),
        (events, lineEnd, ascii, spaced, cuts) => {
          const bytes = encode(events, lineEnd, ascii, spaced);
          const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
          stream.begin('chat', true, 0);
          const edges = [0, ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
          for (let i = 1; i < edges.length; i++) stream.feed(bytes.subarray(edges[i - 1], edges[i]), i, i);
          stream.end();
          const texts = events.flatMap((event) => ('text' in event ? [event.text] : []));
          const last = events.findLastIndex((event) => event.kind === 'usage');
          expect(stream.fault).toBeNull();
          expect(stream.tokenFrames).toBe(texts.length);
          expect(stream.reasoningFrames).toBe(
            events.filter((event) => 'text' in event && event.kind !== 'content').length,
          );
          // A lone surrogate cannot be sent as raw UTF-8: Buffer.from writes U+FFFD, as any encoder does.
          expect(stream.generatedText).toBe(ascii ? texts.join('') : Buffer.from(texts.join('')).toString());
          expect(stream.usage).toEqual(last < 0 ? null : { completion_tokens: 1_796_092_126 + last });
          expect(stream.isFinished).toBe(events.some((event) => event.kind === 'finish'));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never throws on arbitrary bytes, and reads them alike in one piece and in single bytes', () => {
    const noise = fc.array(
      fc.oneof(
        fc.constantFrom(
          'data:',
          'data: ',
          '{"choices":[{"delta":{"content":"a"}}]}',
          '\r\n',
          '\n',
          '\r',
          '[DONE]',
          'event: error',
          ': c',
          '{"error":1}',
          '"',
          '{',
          '\ufeff',
        ),
        fc.string({ unit: 'binary', maxLength: 4 }),
      ),
      { maxLength: 40 },
    );
    const summary = (chunks: readonly Uint8Array[]) => {
      const stream = new AnswerStream({ maxEventBytes: 100 });
      stream.begin('chat', true, 0);
      for (const chunk of chunks) stream.feed(chunk, 1, 0);
      stream.end();
      return [stream.tokenFrames, stream.generatedText, stream.usage, stream.isDone, stream.fault, stream.isFinished];
    };
    fc.assert(
      fc.property(noise, (parts) => {
        const bytes = Buffer.from(parts.join(''));
        const whole = summary([bytes]);
        expect(summary(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toEqual(whole);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the size limit of an event', () => {
  const payload = 'x'.repeat(3 * MAX_EVENT_BYTES);
  for (const size of [1, 1000, payload.length]) {
    it(`stops an endless event that comes in pieces of ${size}`, () => {
      const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
      stream.begin('chat', false, 0);
      const bytes = Buffer.from(`data: ${payload}`);
      for (let at = 0; at < bytes.length && stream.fault === null; at += size)
        stream.feed(bytes.subarray(at, at + size), 0, at);
      expect(stream.fault?.kind).toBe('event_too_large');
    });
  }

  it('is linear in bytes: an event dripped in small pieces looks at each byte a bounded number of times', () => {
    // Counted, not timed: every access of the reader to the chunk goes through a proxy.
    const bytes = Buffer.from(`data: {"choices":[{"delta":{"content":"${'y'.repeat(4000)}"}}]}\r\n\r\n`);
    let looks = 0;
    const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
    stream.begin('chat', false, 0);
    for (let at = 0; at < bytes.length; at += 4) {
      const piece = bytes.subarray(at, at + 4);
      const counting = new Proxy(piece, {
        get(target, key) {
          if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
          const value = Reflect.get(target, key, target) as unknown;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      stream.feed(counting, 0, at);
    }
    expect(stream.tokenFrames).toBe(1);
    expect(looks).toBeLessThan(bytes.length * 3);
  });
});

describe('dates', () => {
  const frame = (text: string) => Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\r\n\r\n`);

  it('every event of a read has the date of that read, and frames that shared a read are counted', () => {
    const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
    stream.begin('chat', false, 10);
    stream.feed(frame('a'), 60, 1);
    stream.feed(Buffer.concat([frame('b'), frame('c')]), 70, 2);
    stream.feed(frame('d'), 71, 3);
    stream.feed(frame('e'), 71, 3);
    expect([...stream.times.subarray(0, stream.tokenFrames)]).toEqual([60, 70, 70, 71, 71]);
    expect(stream.mergedFrames).toBe(2);
    expect(stream.reads).toBe(3);
  });

  it('pings are no sign of life', () => {
    const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
    stream.begin('chat', false, 10);
    stream.feed(Buffer.from(': ping\r\n\r\n'), 50, 1);
    expect(stream.lastEventMs).toBe(10);
    stream.feed(frame('a'), 60, 2);
    stream.feed(Buffer.from(': ping\r\n\r\n: ping\r\n\r\n'), 90, 3);
    expect(stream.lastEventMs).toBe(60);
  });

  it('the first answer is dated apart from the first token when reasoning comes first', () => {
    const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
    stream.begin('chat', false, 0);
    for (let i = 0; i < 10; i++) {
      stream.feed(Buffer.from('data: {"choices":[{"delta":{"reasoning":"r"}}]}\n\n'), 60 + 10 * i, i);
    }
    for (let i = 0; i < 10; i++) stream.feed(frame('x'), 160 + 10 * i, 10 + i);
    expect(stream.times[0]).toBe(60);
    expect(stream.firstAnswerMs).toBe(160);
    expect(stream.tokenFrames).toBe(20);
    expect(stream.reasoningFrames).toBe(10);
  });

  it('a reader is as new after begin', () => {
    const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
    stream.begin('chat', true, 0);
    stream.feed(frame('a'), 1, 1);
    stream.feed(
      Buffer.from(
        'data: {"usage":{"completion_tokens":3},"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\ndata: ha',
      ),
      2,
      2,
    );
    stream.end();
    stream.begin('chat', true, 5);
    stream.feed(frame('b'), 7, 1);
    stream.end();
    expect(stream.generatedText).toBe('b');
    expect([stream.tokenFrames, stream.usage, stream.isDone, stream.finishReason, stream.fault, stream.reads]).toEqual([
      1,
      null,
      false,
      null,
      null,
      1,
    ]);
  });
});
