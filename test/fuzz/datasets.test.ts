import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadSamples } from '../../src/dataset/load.ts';
import { AppError } from '../../src/errors.ts';
import { requestFor, scratchFolder, wordCounter } from '../dataset/support.ts';
import { fuzz, mutated } from './support.ts';

const dir = scratchFolder();
const say = (from: string, value: string) => ({ from, value });
const shareGpt = Buffer.from(
  JSON.stringify(
    [0, 1, 2].map((i) => ({
      id: `c${i}`,
      conversations: [
        say('human', `What is ${i} and why does it matter so much to all?`),
        say('gpt', 'It is a number, and numbers matter to those who count.'),
      ],
    })),
  ),
);
const lines = (rows: readonly unknown[]) => Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const custom = lines([{ prompt: 'one two three', output_tokens: 5 }, { prompt: 'four five six' }]);
const specBench = lines([
  { question_id: 1, category: 'qa', turns: ['Who was it?', 'And then?'] },
  { question_id: 2, category: 'math', turns: ['2 + 2?'] },
]);
const sonnet = Buffer.from(
  "FROM fairest creatures we desire increase,\nThat thereby beauty's rose might never die,\n".repeat(20),
);
const trace = lines([
  { timestamp: 0, input_length: 40, output_length: 5, hash_ids: [1, 2] },
  { timestamp: 100, input_length: 30, output_length: 5, hash_ids: [1] },
]);
const burst = Buffer.from(
  'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,GPT-4,40,9,49,Conversation log\n6,GPT-4,30,9,39,Conversation log\n',
);

/** Samples, or a message for people. Anything else is a bug. */
async function take(
  name: 'auto' | 'sharegpt' | 'custom' | 'spec_bench' | 'sonnet' | 'burstgpt',
  bytes: Buffer,
): Promise<void> {
  const path = join(dir, 'data');
  writeFileSync(path, bytes);
  try {
    const { samples } = await loadSamples(requestFor({ name, path, numPrompts: 4 }), wordCounter());
    for (const { promptLen, outputLen } of samples) {
      expect(Number.isSafeInteger(promptLen) && Number.isSafeInteger(outputLen)).toBe(true);
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.message.length).toBeGreaterThan(5);
    // A message quotes a little of what it complains about, never all of it.
    expect(error.message.length).toBeLessThan(2000);
  }
}

describe('data sets of any bytes', () => {
  fuzz(
    'ShareGPT',
    fc.asyncProperty(mutated([shareGpt], 5), (bytes) => take('sharegpt', bytes)),
  );
  fuzz(
    'JSON lines, recognised by themselves',
    fc.asyncProperty(mutated([custom, specBench, trace, shareGpt], 5), (bytes) => take('auto', bytes)),
  );
  fuzz(
    'rows with strange values',
    fc.asyncProperty(
      fc.array(
        fc.dictionary(
          fc.constantFrom('prompt', 'output_tokens', 'turns', 'category', 'conversations', '__proto__'),
          fc.jsonValue(),
        ),
        { maxLength: 4 },
      ),
      async (rows) => {
        await take('custom', lines(rows));
        await take('spec_bench', lines(rows));
        await take('sharegpt', Buffer.from(JSON.stringify(rows)));
      },
    ),
  );
  fuzz(
    'text and tables',
    fc.asyncProperty(mutated([sonnet, burst], 5), async (bytes) => {
      await take('sonnet', bytes);
      await take('burstgpt', bytes);
    }),
  );
});

describe('data sets at the edge', () => {
  const deep = '['.repeat(200_000);
  const cases: readonly (readonly [string, Buffer])[] = [
    ['nested without end', Buffer.from(`[{"conversations": ${deep}`)],
    ['nested and closed', Buffer.from(`[{"id": 1, "x": ${deep}${']'.repeat(200_000)}, "conversations": []}]`)],
    [
      'a number beyond doubles',
      lines([]).length === 0 ? Buffer.from('{"prompt": "a b c d e", "output_tokens": 1e999}\n') : Buffer.alloc(0),
    ],
    [
      'a number of a million digits',
      Buffer.from(`{"prompt": "a b c d e", "output_tokens": ${'9'.repeat(1_000_000)}}\n`),
    ],
    ['lone surrogates', Buffer.from('{"prompt": "a \\ud800 b \\udfff c"}\n')],
    ['NUL', Buffer.from('{"prompt": "a \\u0000 b"}\n\0\0\0\n')],
    ['CRLF', Buffer.from('{"prompt": "a b c d"}\r\n{"prompt": "e f g h"}\r\n')],
    ['lone CR', Buffer.from('{"prompt": "a b c d"}\r{"prompt": "e f g h"}\r')],
    ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), custom])],
    ['UTF-16', Buffer.from(custom.toString(), 'utf16le')],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from('{"prompt": "a '), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from(' b"}\n')]),
    ],
    ['empty', Buffer.alloc(0)],
    ['white space', Buffer.from(' \n\n\t ')],
  ];
  for (const [name, bytes] of cases) {
    it(name, async () => {
      for (const set of ['auto', 'sharegpt', 'custom', 'spec_bench'] as const) await take(set, bytes);
    });
  }

  // A hundred million bytes by `npm run fuzz`.
  const size = process.env['FUZZ_SECONDS'] === undefined ? 5_000_000 : 100_000_000;
  it(`a line of ${size / 1e6} MB`, { timeout: 120_000 }, async () => {
    const text = 'word '.repeat(size / 5);
    await take('custom', Buffer.from(`{"prompt": "${text}"}\n{"prompt": "short one"}\n`));
    await take(
      'sharegpt',
      Buffer.from(`[{"conversations": [{"from": "human", "value": "${text}"}, {"from": "gpt", "value": "x"}]}]`),
    );
    await take('auto', Buffer.alloc(size, 'x'));
  });
});
