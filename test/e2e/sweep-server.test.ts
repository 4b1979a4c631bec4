/** Sweeps against a server whose every request is seen, and that changes or goes in the middle. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SweepDocument } from '../../src/record/sweep.ts';
import { runCli, startCli } from '../support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'tabby-load-sweep-server-'));
let server: Server;
let url = '';
/** First texts of the completions asked for, in order. */
let prompts: string[] = [];
let model = 'One';
/** Called with the number of completions so far, before each is answered; false: no answer ever. */
let onCompletion: (count: number) => boolean = () => true;

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\r\n\r\n`;
const usage = {
  prompt_tokens: 9,
  prompt_time: 0,
  completion_tokens: 2,
  completion_time: 0,
  total_tokens: 11,
  total_time: 0,
};
const last = { choices: [{ index: 0, delta: {}, finish_reason: 'length' }], usage };

async function start(): Promise<void> {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => {
      body += data.toString();
    });
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (request.url === '/v1/token/encode')
        return response.end(JSON.stringify({ tokens: [1, 2, 3, 4, 5, 6, 7, 8], length: 8 }));
      if (request.url === '/v1/model') {
        const parameters = { max_batch_size: 4, chunk_size: 2048, cache_size: 65536, max_seq_len: 8192 };
        return response.end(JSON.stringify({ id: model, object: 'model', owned_by: 'tabbyAPI', parameters }));
      }
      const { messages } = JSON.parse(body) as { messages: { content: { text: string }[] }[] };
      prompts.push(messages[0]?.content[0]?.text ?? '');
      if (!onCompletion(prompts.length)) return;
      response.setHeader('content-type', 'text/event-stream');
      return response.end(`${chunk({ content: 'a' })}${chunk({ content: 'b' })}${chunk({}, last)}data: [DONE]\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(() => {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    conversations: [
      { from: 'human', value: `Question ${i}: who is the one that asks?` },
      { from: 'gpt', value: 'The one who is asked.' },
    ],
  }));
  writeFileSync(join(dir, 'sharegpt.json'), JSON.stringify(rows));
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
  prompts = [];
  model = 'One';
  onCompletion = () => true;
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

const FIXED = ['--dataset', 'sharegpt.json', '--sharegpt-output-len', '4', '--settle', '0', '--ui', 'none'];
const words = (...own: string[]) => [
  ...['sweep', ...FIXED, '--base-url', url, '--workers', '1', '--requests-per-level', '8', '--num-warmups', '0'],
  ...own,
];
const sweep = (...own: string[]) => runCli(words(...own), { cwd: dir });
const document = (folder: string) => JSON.parse(readFileSync(join(dir, folder, 'sweep.json'), 'utf8')) as SweepDocument;

describe('what the server sees of a sweep', () => {
  it('is the same prompts at each level, but for the nonce at their start', async () => {
    await start();
    const { code, stderr } = await sweep('--concurrency', '1,2', '--sweep-dir', 'nonce');
    expect(code, stderr).toBe(0);
    // The request that the estimate is made from comes first, and is no prompt of the sample.
    expect(prompts).toHaveLength(17);
    expect(prompts[0]).toMatch(/^[0-9a-f]+ warm-up/);
    const levels = [prompts.slice(1, 9), prompts.slice(9)];
    const nonces = document('nonce').levels.map(({ nonce }) => nonce as string);
    expect(new Set(nonces).size).toBe(2);
    for (const [k, level] of levels.entries()) {
      for (const prompt of level) expect(prompt).toMatch(new RegExp(`^${nonces[k]}-[0-7]: Question `));
    }
    const texts = levels.map((level) => level.map((prompt) => prompt.replace(/^[0-9a-f]+-/, '')).sort());
    expect(texts[1]).toEqual(texts[0]);
    expect(new Set(document('nonce').levels.map(({ samples_sha256: sha }) => sha)).size).toBe(1);
  });

  it('is the very same prompts with --no-nonce, which is said', async () => {
    await start();
    const { code, stderr } = await sweep('--concurrency', '1,2', '--no-nonce', '--sweep-dir', 'plain');
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('note: all levels send the same prompts (--no-nonce)');
    expect(prompts.slice(9).sort()).toEqual(prompts.slice(1, 9).sort());
    expect(prompts[1]).toMatch(/^Question /);
  });

  it('is warm-up requests of their own before each level', async () => {
    await start();
    const { code, stderr } = await sweep('--concurrency', '1,2', '--num-warmups', '3', '--sweep-dir', 'warm');
    expect(code, stderr).toBe(0);
    const isWarmUp = prompts.map((prompt) => /^[0-9a-f]+ warm-up \d: /.test(prompt));
    const [yes, no] = [
      (n: number) => new Array<boolean>(n).fill(true),
      (n: number) => new Array<boolean>(n).fill(false),
    ];
    expect(isWarmUp).toEqual([...yes(1), ...yes(3), ...no(8), ...yes(3), ...no(8)]);
  });

  it('is at least as many requests as streams, whatever --requests-per-level says', async () => {
    await start();
    const { code, stderr } = await sweep('--concurrency', '4,16', '--sweep-dir', 'few');
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('at 16 there are as many requests as streams');
    expect(document('few').levels.map(({ requests }) => requests)).toEqual([8, 16]);
  });
});

describe('a server that changes in the middle of a sweep', () => {
  it('ends it when it is gone, and the sweep can be resumed', async () => {
    await start();
    // The first level has its eight; with the fourth request of the second all ends.
    onCompletion = (count) => {
      if (count < 13) return true;
      server.close();
      server.closeAllConnections();
      return false;
    };
    const { code, stderr, stdout } = await sweep(
      '--concurrency',
      '2,4,8',
      '--ready-timeout',
      '100ms',
      '--sweep-dir',
      'gone',
    );
    expect(code, stderr).toBe(4);
    expect(stderr).toContain('--resume gone');
    expect(stdout).toContain('Not measured: 4, 8 streams');
    expect(document('gone').complete).toBe(false);
    expect(document('gone').levels.map(({ level, status }) => [level, status])[0]).toEqual([2, 'done']);
    expect(document('gone').answer.knee).toBe(2);
  });

  it('ends it with exit code 3 when it has another model', async () => {
    await start();
    onCompletion = (count) => {
      if (count === 9) model = 'Two';
      return true;
    };
    const { code, stderr } = await sweep('--concurrency', '1,2', '--sweep-dir', 'other');
    expect(code).toBe(3);
    expect(stderr).toContain('the sweep ends before 2 streams: the server has Two now, not One as before');
    expect(document('other').levels.map(({ level, status }) => [level, status])).toEqual([[1, 'done']]);
    const resumed = await sweep('--concurrency', '1,2', '--resume', 'other');
    expect(resumed.code).toBe(2);
    expect(resumed.stderr).toContain('that is another sweep: the model of the server differs');
  });
});

describe('--max-duration', () => {
  it('cuts the level that is under way when it is over, whatever the server does, and says what is missing', async () => {
    await start();
    // The second level gets no answers at all.
    onCompletion = (count) => count < 10;
    const { code, stderr, stdout } = await sweep(
      ...['--concurrency', '1,2,4', '--max-duration', '2500ms', '--sweep-dir', 'cut', '--drain-timeout', '1h'],
    );
    expect(code, stderr).toBe(0);
    expect(document('cut').levels.map(({ level, status, reason }) => [level, status, reason])).toEqual([
      [1, 'done', ''],
      [2, 'partial', '--max-duration was over'],
    ]);
    expect(stdout).toContain('Not measured: 2, 4 streams');
    expect(stderr).toContain('--resume cut');
  });

  it('says so when it is over before the first level', async () => {
    await start();
    onCompletion = () => false;
    const { code, stderr } = await sweep('--concurrency', '1', '--max-duration', '1s', '--sweep-dir', 'late');
    expect(code).toBe(4);
    expect(stderr).toContain('--max-duration 1s was over before the first level could begin');
    // Nothing was measured: the folder may be used again.
    onCompletion = () => true;
    expect((await sweep('--concurrency', '1', '--sweep-dir', 'late')).code).toBe(0);
  });
});

describe('the folder of a sweep', () => {
  it('belongs to one sweep at a time', async () => {
    await start();
    onCompletion = (count) => count < 3;
    const first = startCli(words('--concurrency', '1', '--sweep-dir', 'held', '--drain-timeout', '0'), { cwd: dir });
    await first.waitFor(/level 1 stream:/);
    const second = await sweep('--concurrency', '1', '--sweep-dir', 'held');
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/another sweep \(process \d+\) is at work in held/);
    expect((await first.stop('SIGINT')).code).toBe(130);
    onCompletion = () => true;
    const resumed = await sweep('--concurrency', '1', '--resume', 'held');
    expect(resumed.code).toBe(2);
    expect(resumed.stderr).toContain('--drain-timeout differs');
  });
});

describe('limits in a sweep', () => {
  it('end a hopeless level early, which counts as missed and not as failed requests', async () => {
    await start();
    const { code, stdout, stderr } = await sweep(
      ...['--concurrency', '1', '--slo', 'ttft p99 < 0.001ms', '--abort-on-slo', '--sweep-dir', 'hopeless'],
    );
    expect(code, stderr).toBe(99);
    expect(stdout).toContain('1: ended by --abort-on-slo');
    expect(stdout).toContain('No level keeps every limit.');
  });

  it('are believed to be missed by auto when they were missed twice', async () => {
    await start();
    const { code, stdout } = await sweep(
      ...['--concurrency', 'auto', '--slo', 'ttft p99 < 0.001ms', '--sweep-dir', 'twice'],
    );
    expect(code).toBe(99);
    expect(stdout).toContain('1: measured 2 times');
    const [level] = document('twice').levels;
    expect(level?.tries?.map(({ result_file: file }) => file)).toEqual([
      'concurrency-1.json',
      'concurrency-1-again-2.json',
    ]);
    for (const each of level?.tries ?? []) readFileSync(join(dir, 'twice', each.result_file));
    expect(document('twice').levels).toHaveLength(1);
  });
});

describe('a data set that is not oversampled', () => {
  it('bounds auto, and refuses levels with more streams than it has samples', async () => {
    await start();
    const few = ['--no-oversample', '--sweep-dir', 'short'];
    const { code, stderr } = await sweep('--concurrency', '2,41', ...few);
    expect(code).toBe(2);
    expect(stderr).toContain('--concurrency 41: the data set has 40 samples, too few for so many streams');
    expect(prompts).toEqual([]);
    const auto = await sweep('--concurrency', 'auto', ...few, '--slo', 'ttft p99 < 0.001ms');
    expect(auto.code, auto.stderr).toBe(99);
    expect(auto.stderr).toContain('the data set has 40 samples: no more streams than that are tried');
  });
});

describe('what cannot be asked for', () => {
  it.each([
    [['--concurrency', '99999999'], /--concurrency 99999999 needs \d+ open files/],
    [['--concurrency', '1,2', '--max-level', '8'], /--max-level bounds auto alone/],
    [['--concurrency', '1', '--requests-per-level', '900000000'], /900000000 requests at level 1 are too many/],
  ])('%j is refused at once', async (own, message) => {
    await start();
    const { code, stderr } = await sweep(...own);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(prompts).toEqual([]);
  });
});
