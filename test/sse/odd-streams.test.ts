/** What servers, proxies and their accidents may send. Each stream is read in one piece, cut in two at every byte, and byte by byte. */
import { describe, expect, it } from 'vitest';
import type { FrameForm } from '../../src/record/answer.ts';
import { AnswerStream } from '../../src/sse/stream.ts';

const MAX_EVENT_BYTES = 2000;

function readIn(chunks: readonly Uint8Array[], form: FrameForm) {
  const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
  stream.begin(form, true, 0);
  for (const [read, chunk] of chunks.entries()) stream.feed(chunk, read, read);
  stream.end();
  return {
    tokens: stream.tokenFrames,
    reasoning: stream.reasoningFrames,
    text: stream.generatedText,
    usage: stream.usage,
    finish: stream.finishReason,
    isFinished: stream.isFinished,
    isDone: stream.isDone,
    garbage: stream.hasTrailingGarbage,
    fault: stream.fault,
  };
}

/** The outcome, which must not depend on the cutting. */
function readAll(text: string | Buffer, form: FrameForm = 'chat') {
  const bytes = Buffer.from(text);
  const whole = readIn([bytes], form);
  for (let at = 1; at < bytes.length; at++) {
    expect(readIn([bytes.subarray(0, at), bytes.subarray(at)], form), `cut at ${at}`).toEqual(whole);
  }
  const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  expect(readIn(single, form), 'byte by byte').toEqual(whole);
  return whole;
}

const frame = (delta: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
const word = (content: unknown) => frame({ content });
const END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

describe('fields and lines of events', () => {
  it.each<[string, string, string]>([
    ['no space behind the colon', `data:{"choices":[{"delta":{"content":"a"}}]}\n\n`, 'a'],
    ['two spaces', `data:  {"choices":[{"delta":{"content":"a"}}]}\n\n`, 'a'],
    ['id, event and retry before it', `id: 1\nevent: message\nretry: 3000\n${word('a')}id\n${word('b')}`, 'ab'],
    ['fields behind it', `data: {"choices":[{"delta":{"content":"a"}}]}\nid: 7\nretry:x\n\n${word('b')}`, 'ab'],
    ['fields of any other name', `database: {"error":"no"}\ndata2: x\nData: y\n data: z\n${word('a')}`, 'a'],
    ['several data lines', 'data: {"choices":[{"delta":\ndata:{"content":\ndata: "a"}}]}\n\n', 'a'],
    ['several data lines between comments', 'data: {"choices":\n: ping\ndata: [{"delta":{"content":"a"}}]}\n\n', 'a'],
    ['comments, one that looks like data', `: data: {"error":"no"}\n\n:\n\n:x\r\n\r\n${word('a')}`, 'a'],
    ['a data line without value', `data\n\ndata:\n\ndata: \n\n${word('a')}`, 'a'],
    ['empty lines', `\n\n\r\n\r\n\r\r${word('a')}\n\n\n${word('b')}`, 'ab'],
    ['line ends of all kinds', `${word('a')}${word('b').replaceAll('\n', '\r\n')}${word('c').replaceAll('\n', '\r')}${word('d')}`, 'abcd'],
    ['line ends mixed within an event', 'id: 1\r\ndata: {"choices":[{"delta":\rdata: {"content":"a"}}]}\n\r\n', 'a'],
    ['a byte order mark', `\ufeff${word('a')}`, 'a'],
    ['line separators that are none', word('a\u2028b\u2029c\u0085d\u000be\u000cf'), 'a\u2028b\u2029c\u0085d\u000be\u000cf'],
    ['characters of two to four bytes', `${word('é')}${word('日本')}${word('😀👩‍👩‍👧')}${word('é')}`, 'é日本😀👩‍👩‍👧é'],
    ['the last event without its empty line', `${word('a')}${word('b').trimEnd()}\n`, 'ab'],
  ])('%s', (_, stream, text) => {
    const ended = /[\n\r]$/.test(stream) && !stream.endsWith('}\n');
    const seen = readAll(ended ? stream + END : stream);
    expect([seen.text, seen.tokens, seen.fault]).toEqual([text, [...seen.text].length > 0 ? countOf(stream) : 0, null]);
    if (ended) expect([seen.isFinished, seen.isDone, seen.garbage]).toEqual([true, true, false]);
  }); // biome-ignore format: a table

  /** Frames with content, by their spelling in the table. */
  function countOf(stream: string): number {
    return stream.match(/"content":\s*(data: )?"/g)?.length ?? 0;
  }

  it('a character that is cut off, or no UTF-8 at all, is a wrong character and not an error', () => {
    const [before, after] = word('X').split('X') as [string, string];
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from([0xe2, 0x82]), Buffer.from(after), Buffer.from(END)]);
    const seen = readAll(bytes);
    expect([seen.text, seen.tokens, seen.fault]).toEqual(['\ufffd', 1, null]);
  });
});

describe('forms of frames', () => {
  it.each<[string, unknown, number, number, string]>([
    ['delta null', null, 0, 0, ''],
    ['delta a list', [], 0, 0, ''],
    ['delta text', 'x', 0, 0, ''],
    ['the role alone', { role: 'assistant' }, 0, 0, ''],
    ['role and no text', { role: 'assistant', content: '' }, 0, 0, ''],
    ['role and text', { role: 'assistant', content: 'a' }, 1, 0, 'a'],
    ['content null', { content: null }, 0, 0, ''],
    ['content a number', { content: 7 }, 0, 0, ''],
    ['content in parts', { content: [{ type: 'text', text: 'a' }, { type: 'image_url' }, null, 'x'] }, 1, 0, 'a'],
    ['parts without text', { content: [{ type: 'text', text: '' }] }, 0, 0, ''],
    ['reasoning alone', { reasoning_content: 'r' }, 1, 1, 'r'],
    ['reasoning by its other name', { reasoning: 'r' }, 1, 1, 'r'],
    ['reasoning by both names', { reasoning_content: 'r', reasoning: 'r' }, 1, 1, 'r'],
    ['reasoning and content', { reasoning_content: 'r', content: 'a' }, 1, 0, 'ra'],
    ['reasoning and empty content', { reasoning_content: 'r', content: '' }, 1, 1, 'r'],
    ['a tool call', { tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }, 1, 0, ''],
    ['a tool call without function', { tool_calls: [{ index: 0 }] }, 1, 0, ''],
    ['no tool calls', { tool_calls: [], content: null }, 0, 0, ''],
    ['tool calls null', { tool_calls: null }, 0, 0, ''],
    ['white space', { content: ' ' }, 1, 0, ' '],
    ['a refusal', { refusal: 'no' }, 0, 0, ''],
    ['what nobody knows', { audio: { data: 'x' }, __proto__: { content: 'x' } }, 0, 0, ''],
  ])('%s', (_, delta, tokens, reasoning, text) => {
    const seen = readAll(frame(delta) + END);
    expect([seen.tokens, seen.reasoning, seen.text, seen.fault]).toEqual([tokens, reasoning, text, null]);
    expect([seen.isFinished, seen.isDone]).toEqual([true, true]);
  });

  it.each(['null', '[]', '{}', '[null]', '[[]]', '["x"]', '[{}]', '[{"delta":{}}]'])(
    'choices %s are no token and no error',
    (choices) => {
      const seen = readAll(`data: {"choices":${choices}}\n\n${word('a')}${END}`);
      expect([seen.tokens, seen.text, seen.fault]).toEqual([1, 'a', null]);
    },
  );

  it('a choice without index is the one at its place', () => {
    const seen = readAll(
      'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n',
    );
    expect([seen.tokens, seen.finish, seen.isFinished]).toEqual([1, 'length', true]);
  });

  it.each([
    ['usage with the finish', 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":U}\n\n'],
    ['finish, then usage', `${END.split('data: [DONE]')[0]}data: {"choices":[],"usage":U}\n\n`],
    ['usage, then finish', `data: {"choices":[],"usage":U}\n\n${END.split('data: [DONE]')[0]}`],
    [
      'usage null and empty ones around it',
      `data: {"choices":[],"usage":null}\n\ndata: {"usage":U}\n\n${END.split('data: [DONE]')[0]}data: {"choices":[],"usage":{}}\n\n`,
    ],
  ])('%s', (_, tail) => {
    const usage = { prompt_tokens: 3, completion_tokens: 1 };
    const seen = readAll(`${word('a')}${tail.replace('U', JSON.stringify(usage))}data: [DONE]\n\n`);
    expect([seen.usage, seen.isFinished, seen.tokens, seen.fault]).toEqual([usage, true, 1, null]);
  });

  it('usage in every frame: the last counts, and frames with it are tokens too', () => {
    const stream = [1, 2, 3].map((n) => frame({ content: 'a' }, { usage: { completion_tokens: n } })).join('');
    const seen = readAll(stream + END);
    expect([seen.tokens, seen.usage]).toEqual([3, { completion_tokens: 3 }]);
  });

  it('texts of a completion', () => {
    const part = (choice: string) => `data: {"choices":[${choice}]}\n\n`;
    const stream =
      part('{"index":0,"text":"a","finish_reason":null}') +
      part('{"index":0,"text":"","finish_reason":null}') +
      part('{"index":0,"text":null}') +
      part('{"index":0,"text":"b","finish_reason":"length"}');
    const seen = readAll(`${stream}data: [DONE]\n\n`, 'completions');
    expect([seen.tokens, seen.text, seen.finish, seen.isFinished]).toEqual([2, 'ab', 'length', true]);
  });

  it('frames alike in all but one sign are told apart', () => {
    // The second is what a learned frame must not be taken for: the same bytes around another kind of value.
    const stream = [
      word('a'),
      word('"},"finish_reason":"stop"}]}'),
      word(['b']),
      word(''),
      word('\\"'),
      frame({ content: 'c' }, { usage: { completion_tokens: 9 } }),
      'data: {"choices":[{"index":1,"delta":{"content":"d"},"finish_reason":null}]}\n\n',
      'data: {"choices":[{"index":0,"delta":{"content":"e"},"finish_reason":"length"}]}\n\n',
      'data: {"choices":[{"index":1,"delta":{"content":"f"},"finish_reason":"stop"}]}\n\n',
    ];
    const seen = readAll(`${stream.join('')}data: [DONE]\n\n`);
    // `['b']` has no part with text. Texts are kept choice by choice.
    expect(seen.text).toBe('a"},"finish_reason":"stop"}]}\\"cedf');
    expect([seen.tokens, seen.isFinished, seen.usage]).toEqual([7, true, { completion_tokens: 9 }]);
  });
});

describe('ends and errors', () => {
  it('an error frame ends it, whatever follows', () => {
    for (const error of ['data: {"error":{"message":"full"}}\n\n', 'event: error\ndata: {"message":"full"}\n\n']) {
      const seen = readAll(word('a') + error + word('b') + END);
      expect([seen.tokens, seen.text, seen.isDone]).toEqual([1, 'a', false]);
      expect(seen.fault?.kind).toBe('stream_error');
      expect(seen.fault?.words).toContain('full');
    }
  });

  it('an event of the type error that is no JSON is an error in its own words', () => {
    expect(readAll('event: error\ndata: out of memory\n\n').fault).toEqual({
      kind: 'stream_error',
      words: 'out of memory',
    });
  });

  it.each(['not json', '7', '"text"', 'null', '[1]', '{"a":'])('%s is no frame', (text) => {
    expect(readAll(`data: ${text}\n\n`).fault).toEqual({ kind: 'parse', words: text });
  });

  it('[DONE] may be padded, and must stand alone', () => {
    expect(readAll(`${word('a')}data:   [DONE]  \n\n`).isDone).toBe(true);
    expect(readAll(`${word('a')}data: [DONE] x\n\n`).fault?.kind).toBe('parse');
    expect(readAll(`${word('a')}data: [done]\n\n`).fault?.kind).toBe('parse');
  });

  it('frames behind [DONE] are garbage', () => {
    expect(readAll(`${word('a')}${END}${word('b')}`)).toMatchObject({ isDone: true, garbage: true, fault: null });
  });

  it('a stream cut within an event has the tokens before it and no end', () => {
    const bytes = Buffer.from(word('ä') + word('b') + END);
    const first = Buffer.byteLength(word('ä'));
    const second = first + word('b').length;
    for (let length = 0; length < bytes.length; length++) {
      const seen = readIn([bytes.subarray(0, length)], 'chat');
      // The two line ends are not needed: the JSON is whole.
      const tokens = length >= second - 2 ? 2 : length >= first - 2 ? 1 : 0;
      expect([seen.fault, seen.tokens], `cut at ${length}`).toEqual([null, tokens]);
    }
  });

  it('an event larger than the limit ends it, at the same byte however it is cut', () => {
    const exact = word('x'.repeat(MAX_EVENT_BYTES - word('').length));
    expect(exact.length).toBe(MAX_EVENT_BYTES);
    expect(readAll(exact + END)).toMatchObject({ fault: null, tokens: 1, isDone: true });
    const larger = word('x'.repeat(MAX_EVENT_BYTES - word('').length + 1));
    expect(readAll(word('a') + larger + END)).toMatchObject({
      fault: { kind: 'event_too_large' },
      tokens: 1,
      isDone: false,
    });
    // A comment is an event as well; many small ones are not.
    expect(readAll(`:${'x'.repeat(MAX_EVENT_BYTES)}\n\n`).fault?.kind).toBe('event_too_large');
    expect(readIn([Buffer.from(`${': ping\n\n'.repeat(MAX_EVENT_BYTES)}${word('a')}`)], 'chat')).toMatchObject({
      fault: null,
      tokens: 1,
    });
  });
});
