import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DataSetRequest } from '../../src/dataset/data-set.ts';
import { loadSamples } from '../../src/dataset/load.ts';
import { PythonRandom } from '../../src/dataset/python-random.ts';
import { requestFor, scratchFile, scratchFolder, wordCounter } from './support.ts';

const folder = scratchFolder();
const words = (n: number, word = 'w') => Array.from({ length: n }, () => word).join(' ');
const conversation = (prompt: unknown, reply: unknown, more: object = {}) => ({
  conversations: [{ value: prompt }, { value: reply }],
  ...more,
});

function sample(entries: readonly unknown[], more: Partial<DataSetRequest> = {}, tokenizer = wordCounter()) {
  const path = scratchFile(folder, 'sharegpt.json', JSON.stringify(entries));
  return loadSamples(requestFor({ disableShuffle: true, ...more, name: 'sharegpt', path }), tokenizer);
}

/** vLLM's loop, one entry after the other, everything counted: [prompt, prompt tokens, output tokens]. */
function oneByOne(entries: readonly { conversations: { value: string }[] }[], request: DataSetRequest) {
  const count = (text: string) => text.split(' ').filter((word) => word !== '').length;
  const random = new PythonRandom(request.seed);
  const usable = entries.filter((entry) => entry.conversations.length >= 2);
  if (!request.disableShuffle) random.shuffle(usable);
  const taken: [string, number, number][] = [];
  for (const { conversations } of usable) {
    if (taken.length >= request.numPrompts) break;
    const prompt = conversations[0]!.value;
    const promptLen = count(prompt);
    const outputLen = request.sharegptOutputLen ?? count(conversations[1]!.value);
    if (promptLen < 4 || promptLen > 1024 || promptLen + outputLen > 2048) continue;
    if (request.sharegptOutputLen === null && outputLen < 4) continue;
    taken.push([prompt, promptLen, outputLen]);
  }
  if (!request.noOversample && taken.length < request.numPrompts) {
    random.seed(request.seed);
    const found = [...taken];
    while (taken.length < request.numPrompts) taken.push(random.choice(found));
  }
  return { taken, random };
}

describe('ShareGPT', () => {
  it('samples in batches what a loop over single entries would', async () => {
    const text = fc.tuple(fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: 12 }) }, fc.integer({ min: 1000, max: 2060 })), fc.nat()).map(([n, id]) => words(n, `w${id}`)); // biome-ignore format: one generator
    const entry = fc.record({ conversations: fc.array(fc.record({ value: text }), { maxLength: 3 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 70 }),
        fc.nat(1000),
        fc.boolean(),
        fc.boolean(),
        fc.option(fc.integer({ min: 1, max: 2000 })),
        async (entries, numPrompts, seed, disableShuffle, noOversample, sharegptOutputLen) => {
          const request = requestFor({ numPrompts, seed, disableShuffle, noOversample, sharegptOutputLen });
          const found = oneByOne(entries, { ...request, noOversample: true }).taken;
          if (found.length === 0) {
            await expect(sample(entries, request)).rejects.toThrow();
            return;
          }
          const expected = oneByOne(entries, request);
          const { samples, pyRandom } = await sample(entries, request);
          expect(samples.map((s) => [s.prompt, s.promptLen, s.outputLen])).toEqual(expected.taken);
          expect(samples.map((s) => s.requestId)).toEqual(expected.taken.map((_, i) => `r-${i}`));
          expect(pyRandom.random()).toBe(expected.random.random());
        },
      ),
      { numRuns: 60 },
    );
  });

  it('keeps both ends of each limit', async () => {
    const entries = [
      conversation(words(3), words(4)),
      conversation(words(4), words(3)),
      conversation(words(4), words(4), { id: 'a' }),
      conversation(words(1024), words(1024), { id: 'b' }),
      conversation(words(1024), words(1025)),
      conversation(words(1025), words(4)),
    ];
    const { samples } = await sample(entries, { noOversample: true });
    expect(samples.map((s) => [s.promptLen, s.outputLen])).toEqual([[4, 4], [1024, 1024]]); // biome-ignore format: pairs
  });

  it('counts no replies when the output length is given, and none of prompts that do not fit', async () => {
    const entries = [conversation(words(5), 'reply one is here'), conversation('short', 'reply two is here')];
    const forced = wordCounter();
    expect((await sample(entries, { sharegptOutputLen: 7, numPrompts: 1 }, forced)).samples[0]?.outputLen).toBe(7);
    expect(forced.asked).toEqual([words(5), 'short']);
    const counted = wordCounter();
    await sample(entries, { numPrompts: 1 }, counted);
    expect(counted.asked).toEqual([words(5), 'short', 'reply one is here']);
  });

  it('reads no further than needed: a bad entry behind the last sample does no harm, one before it is named', async () => {
    const bad = [
      [conversation(5, 'x'), '"value" of turn 1 is a number, not a text'],
      [conversation('x', null), '"value" of turn 2 is null, not a text'],
      [{ conversations: [{ from: 'human' }, { value: 'x' }] }, '"value" of turn 1 is missing, not a text'],
      [{ conversations: [null, { value: 'x' }] }, '"value" of turn 1 is missing, not a text'],
      [{ conversations: ['ab', 'cd'] }, '"value" of turn 1 is missing, not a text'],
      [{ conversations: 'ab' }, '"conversations" is a text, not a list'],
      [{ conversations: { a: 1, b: 2 } }, '"conversations" is an object, not a list'],
    ] as const;
    const good = conversation(words(5), words(5));
    for (const [entry, problem] of bad) {
      expect((await sample([good, entry], { numPrompts: 1 })).samples).toHaveLength(1);
      await expect(sample([good, { id: 'no turns' }, entry], { numPrompts: 2 })).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringMatching(/sharegpt\.json, entry 2: /),
      });
      await expect(sample([entry], {})).rejects.toThrow(problem);
    }
  });

  it('refuses an image or video that would have to be sent, not one that is passed over', async () => {
    const entries = [
      conversation('short', words(9), { image: 'a.png' }),
      conversation(words(5), words(5), { image: '', video: null }),
      conversation(words(6), words(5), { video: 'b.mp4' }),
    ];
    expect((await sample(entries, { numPrompts: 1 })).samples[0]?.promptLen).toBe(5);
    await expect(sample(entries, { numPrompts: 2 })).rejects.toThrow(
      'entry 2 has a member "video": only text can be sent',
    );
  });

  it('turns half a surrogate pair into U+FFFD and keeps everything else of a text', async () => {
    const text = 'a\u0000 "q" \\ \u2028 \ud83d\ude80 half\ud83d end';
    const path = scratchFile(folder, 'half.json', JSON.stringify([conversation(text, words(9))]));
    const { samples } = await loadSamples(requestFor({ path, numPrompts: 1 }), wordCounter());
    expect(samples[0]?.prompt).toBe('a\u0000 "q" \\ \u2028 \ud83d\ude80 half\ufffd end');
  });

  it('makes messages of prompts when asked to', async () => {
    const { samples } = await sample([conversation(words(5), words(5))], { numPrompts: 2, enableMultimodalChat: true });
    const prompt = [{ role: 'user', content: [{ text: words(5), type: 'text' }] }];
    expect(samples.map((s) => s.prompt)).toEqual([prompt, prompt]);
  });

  it('says what is unusual', async () => {
    const entries = ['text', conversation(words(5), words(5)), []];
    expect((await sample(entries, { numPrompts: 3 })).notes).toEqual([
      expect.stringMatching(/sharegpt\.json: 2 entries are no conversations and were passed over$/),
      expect.stringMatching(/^the data set has 1 fitting rows, not 3: rows are repeated/),
    ]);
    expect((await sample(entries, { numPrompts: 3, noOversample: true })).notes[1]).toMatch(/the run is shorter$/);
    expect((await sample([conversation(words(5), words(5))], { numPrompts: 1 })).notes).toEqual([]);
  });

  it.each([
    [[{ id: 1 }], {}, /none of its 1 entries has a "conversations" list of two turns or more$/],
    [[], {}, /none of its 0 entries/],
    [[conversation('a', 'b')], {}, /none of its 1 conversations has a fitting length$/],
    [[conversation('a', 'b')], { numPrompts: 0 }, /^--num-prompts 0: the sharegpt data set needs at least 1$/],
  ])('refuses %j with %j', async (entries, more, message) => {
    await expect(sample(entries, more)).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  });

  it('goes through a long list in several batches', async () => {
    const entries = Array.from({ length: 500 }, (_, i) => conversation(words(i % 10 === 9 ? 5 : 1, `w${i}`), words(5)));
    const { samples } = await sample(entries, { numPrompts: 50 });
    expect(samples.map((s) => s.prompt)).toEqual(Array.from({ length: 50 }, (_, i) => words(5, `w${10 * i + 9}`)));
  });
});
