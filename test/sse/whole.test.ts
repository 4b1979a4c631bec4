import { describe, expect, it } from 'vitest';
import { WholeAnswer } from '../../src/sse/whole.ts';
import { fixtureBytes } from '../support/fixtures.ts';

function read(bytes: Uint8Array, form: 'chat' | 'completions', pieces = 1) {
  const answer = new WholeAnswer(1 << 20);
  answer.begin(form, true, 10);
  const size = Math.ceil(bytes.length / pieces);
  for (let i = 0; i < pieces; i++) answer.feed(bytes.subarray(i * size, (i + 1) * size), 20 + i, i);
  answer.end();
  return answer;
}
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

describe('whole answers of TabbyAPI, as recorded', () => {
  it('chat is complete with finish reason, eos_reason and usage, and dated by its last bytes', () => {
    const answer = read(fixtureBytes('wire/chat_nonstream.json'), 'chat', 3);
    expect([answer.tokenFrames, answer.isFinished, answer.isDone]).toEqual([1, true, true]);
    expect(answer.usage).toMatchObject({ prompt_tokens: 21, completion_tokens: 13 });
    expect(answer.times[0]).toBe(22);
    expect(answer.generatedText.length).toBeGreaterThan(10);
  });

  it('a cut answer that looks like a success is told by its missing usage and eos_reason', () => {
    const answer = read(fixtureBytes('wire/victim_nonstream.json'), 'chat');
    expect(answer.finishReason).toBe('stop');
    expect(answer.isDone).toBe(false);
  });

  it('text completions have their text in the choice', () => {
    expect(read(fixtureBytes('wire/compl_nonstream.json'), 'completions').generatedText).not.toBe('');
  });

  it('reasoning and tool calls count', () => {
    expect(read(fixtureBytes('wire/chat_nonstream_reasoning.json'), 'chat').tokenFrames).toBe(1);
    expect(read(fixtureBytes('wire/chat_nonstream_tools.json'), 'chat').tokenFrames).toBe(1);
  });
});

describe('whole answers of others', () => {
  const choice = { index: 0, message: { content: 'hi' }, finish_reason: 'length' };

  it('are complete with a finish reason and usage', () => {
    const answer = read(json({ choices: [choice], usage: { prompt_tokens: 3, completion_tokens: 2 } }), 'chat');
    expect([answer.isDone, answer.isFinished, answer.generatedText]).toEqual([true, true, 'hi']);
    expect(answer.usage).toEqual({ prompt_tokens: 3, completion_tokens: 2 });
  });

  it('may begin with a byte order mark, in one piece or several', () => {
    const bytes = Buffer.concat([Buffer.from('\ufeff'), json({ choices: [choice], usage: { completion_tokens: 2 } })]);
    for (const pieces of [1, 2, bytes.length]) {
      const answer = read(bytes, 'chat', pieces);
      expect([answer.fault, answer.isDone, answer.generatedText]).toEqual([null, true, 'hi']);
    }
    // Inside, it is a character like any other.
    expect(read(json({ choices: [{ ...choice, message: { content: '\ufeff' } }] }), 'chat').generatedText).toBe(
      '\ufeff',
    );
    expect(read(Buffer.from('\ufeff\ufeff{}'), 'chat').fault?.kind).toBe('parse');
  });

  it('may have their text in parts', () => {
    const content = [{ type: 'text', text: 'a' }, { type: 'image' }, null, { type: 'text', text: 'b' }];
    const answer = read(json({ choices: [{ ...choice, message: { content } }] }), 'chat');
    expect([answer.tokenFrames, answer.generatedText]).toEqual([1, 'ab']);
  });

  it.each([
    '{}',
    '{"choices":null,"usage":null}',
    '{"choices":[null]}',
    '{"choices":[{"message":null}]}',
    '{"choices":[{"message":{"content":7,"tool_calls":{}}}]}',
    '{"choices":{"0":1},"usage":[]}',
  ])('of any other form have no token and no end: %s', (text) => {
    const answer = read(Buffer.from(text), 'chat');
    expect([answer.tokenFrames, answer.isFinished, answer.isDone, answer.fault]).toEqual([0, false, false, null]);
  });

  it('without text have no token', () => {
    expect(read(json({ choices: [{ ...choice, message: { content: null } }] }), 'chat').tokenFrames).toBe(0);
  });

  it('that are errors or no JSON say so', () => {
    expect(read(json({ error: { message: 'full' } }), 'chat').fault).toEqual({ kind: 'stream_error', words: 'full' });
    expect(read(Buffer.from('<html>'), 'chat').fault).toEqual({ kind: 'parse', words: '<html>' });
    const small = new WholeAnswer(4);
    small.begin('chat', false, 0);
    small.feed(Buffer.from('12345'), 0, 0);
    expect(small.fault?.kind).toBe('event_too_large');
  });
});
