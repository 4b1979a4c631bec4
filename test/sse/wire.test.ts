import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FrameForm } from '../../src/record/answer.ts';
import { AnswerStream } from '../../src/sse/stream.ts';
import { fixtureBytes, goldenCases, recordings } from '../support/fixtures.ts';

/** What was counted in a recording by the program that made it (a separate parser, in Python). */
interface Counted {
  readonly content: number;
  readonly reasoning: number;
  readonly tool_calls: number;
  readonly text: number;
  readonly done: boolean;
  readonly finish: Readonly<Record<string, string>>;
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly error: { readonly message: string } | null;
  readonly chars: number;
  readonly logprob_tokens: number;
}
interface Scenario {
  readonly name: string;
  readonly request: { readonly path: string };
  readonly counted?: Counted;
}

const MAX_EVENT_BYTES = 1 << 20;
const scenarios = new Map(
  (JSON.parse(fixtureBytes('wire/index.json').toString()) as Scenario[]).map((one) => [one.name, one]),
);
// model_load is server-sent events of another endpoint, without choices.
const names = recordings('.sse').filter((name) => scenarios.get(name)?.counted !== undefined);

function read(chunks: readonly Uint8Array[], form: FrameForm, keepText = true) {
  const stream = new AnswerStream({ maxEventBytes: MAX_EVENT_BYTES });
  stream.begin(form, keepText, 0);
  for (const chunk of chunks) stream.feed(chunk, 1, 0);
  stream.end();
  return {
    tokenFrames: stream.tokenFrames,
    reasoningFrames: stream.reasoningFrames,
    text: stream.generatedText,
    usage: stream.usage,
    finishReason: stream.finishReason,
    isFinished: stream.isFinished,
    isDone: stream.isDone,
    fault: stream.fault,
    logprobTokens: stream.logprobTokens,
    hasTrailingGarbage: stream.hasTrailingGarbage,
  };
}

function formOf(name: string): FrameForm {
  return scenarios.get(name)?.request.path.includes('/chat/') ? 'chat' : 'completions';
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const edges = [0, ...[...at].sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((end, i) => bytes.slice(edges[i] as number, end));
}

describe('recordings of TabbyAPI', () => {
  it('are all here', () => {
    expect(names.length).toBeGreaterThanOrEqual(38);
  });

  for (const name of names) {
    const counted = scenarios.get(name)?.counted as Counted;
    it(`${name}: what an independent parser counted`, () => {
      const result = read([fixtureBytes(`wire/${name}.sse`)], formOf(name));
      // A merged frame can hold reasoning and content at once; it is one frame.
      const both = name === 'chat_reasoning_merged' ? 1 : 0;
      expect(result.tokenFrames).toBe(counted.content + counted.reasoning + counted.tool_calls + counted.text - both);
      expect(result.isDone).toBe(counted.done);
      expect(result.isFinished).toBe(Object.keys(counted.finish).length > 0);
      expect(result.usage).toEqual(counted.usage);
      expect(result.fault?.words ?? null).toBe(counted.error?.message ?? null);
      expect([...result.text].length).toBe(counted.chars);
      expect(result.logprobTokens).toBe(counted.logprob_tokens);
    });
  }

  it('give the same result cut in two at every byte offset', () => {
    for (const name of names) {
      const bytes = fixtureBytes(`wire/${name}.sse`);
      const whole = read([bytes], formOf(name));
      const step = bytes.length > 6000 ? 7 : 1;
      for (let at = 0; at <= bytes.length; at += step) {
        const result = read(cut(bytes, [at]), formOf(name));
        if (JSON.stringify(result) !== JSON.stringify(whole)) expect(result, `${name} cut at ${at}`).toEqual(whole);
      }
    }
  });

  it('give the same result byte by byte', () => {
    for (const name of names) {
      const bytes = fixtureBytes(`wire/${name}.sse`);
      const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      expect(read(single, formOf(name)), name).toEqual(read([bytes], formOf(name)));
    }
  });

  it('give the same result for any cutting, with LF or lone CR in place of CRLF, and without keeping text', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(fc.nat(25_000), { maxLength: 30 }),
        fc.constantFrom('\r\n', '\n', '\r'),
        (name, cuts, lineEnd) => {
          const original = fixtureBytes(`wire/${name}.sse`);
          const bytes = Buffer.from(original.toString('latin1').replaceAll('\r\n', lineEnd), 'latin1');
          const pieces = cut(
            bytes,
            cuts.map((at) => at % (bytes.length + 1)),
          );
          const whole = read([original], formOf(name));
          expect(read(pieces, formOf(name))).toEqual(whole);
          expect(read(pieces, formOf(name), false)).toEqual({ ...whole, text: '' });
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('vectors', () => {
  it('give the same result for any cutting', () => {
    const cases = goldenCases<{ name: string; chunks: { b64: string }[] }>('sse').filter(
      (one) => one.chunks.length > 0,
    );
    fc.assert(
      fc.property(fc.constantFrom(...cases), fc.array(fc.nat(4000), { maxLength: 12 }), (one, cuts) => {
        const bytes = Buffer.concat(one.chunks.map((chunk) => Buffer.from(chunk.b64, 'base64')));
        const pieces = cut(
          bytes,
          cuts.map((at) => at % (bytes.length + 1)),
        );
        expect(read(pieces, 'chat'), one.name).toEqual(read([bytes], 'chat'));
      }),
      { numRuns: 600 },
    );
  });
});
