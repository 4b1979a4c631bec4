/** The key, and whatever else is a credential, is in no file and no stream of a whole run, though the server repeats it wherever it can. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliResult, runCli } from '../support/cli.ts';
import { SAMPLE } from '../support/play-endings.ts';
import {
  DONE,
  finish,
  jsonAnswer,
  LAST_CHUNK,
  type ScriptedServer,
  STREAM_HEAD,
  startScripted,
  token,
} from '../support/scripted-server.ts';

const KEY = 'sk-key-7h1s1sVerySecret';
const TOKEN = 'hdr-7h1s1sSecretT00';
const env = { TABBY_API_KEY: KEY };
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-secrets-'));
const file = (name: string) => join(dir, name);

let server: ScriptedServer;
/** What the server repeats at this moment, as `model` too. */
let seen = 0;

beforeAll(async () => {
  server = await startScripted(
    async (reply, request) => {
      seen++;
      const said = `you sent ${JSON.stringify(request.headers)}`;
      switch (request.n % 4) {
        case 0:
          return reply.send(jsonAnswer('400 Bad Request', { error: { message: said } }));
        case 1:
          await reply.send(STREAM_HEAD);
          await reply.chunk(`data: ${JSON.stringify({ error: { message: said } })}\r\n\r\n`);
          return reply.send(LAST_CHUNK);
        case 2:
          return reply.send(`HTTP/1.1 500 ${KEY}\r\ncontent-length: ${said.length}\r\n\r\n${said}`);
        default:
          await reply.send(STREAM_HEAD);
          await reply.chunk(token(said));
          await reply.chunk(finish(1, KEY));
          await reply.chunk(DONE);
          return reply.send(LAST_CHUNK);
      }
    },
    { model: () => `model-${KEY}` },
  );
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

function expectNoSecret(what: string, text: string): void {
  for (const secret of [KEY, TOKEN, Buffer.from(KEY).toString('base64'), encodeURIComponent(KEY)]) {
    expect(text.includes(secret), `${secret} in ${what}`).toBe(false);
  }
}

function expectNone(name: string, { stdout, stderr }: CliResult): void {
  expectNoSecret(`stdout of ${name}`, stdout);
  expectNoSecret(`stderr of ${name}`, stderr);
}

describe('secrets', () => {
  it('are in no stream and no file of a run and its report', async () => {
    const args = [
      '--base-url',
      server.url,
      '--dataset',
      SAMPLE,
      '--num-prompts',
      '40',
      '--concurrency',
      '4',
      '--retries',
      '1',
    ];
    const files = [
      '--json',
      file('r.json'),
      '--save-hdr',
      file('r.hlog'),
      '--samples-out',
      file('s.tsv'),
      '--result-dir',
      dir,
    ];
    const kept = [
      '--save-result',
      '--save-detailed',
      '--keep-text',
      '--plot-timeline',
      '--html',
      file('r.html'),
      '--ui',
      'plain',
      '--metadata',
      'a=b',
    ];
    for (const records of ['r.jsonl', 'r.msgpack']) {
      const run = await runCli(
        [...args, ...files, ...kept, '--save-records', file(records), '--header', `X-Token=${TOKEN}`],
        { env },
      );
      // Else nothing was there to be repeated.
      expect(run.stdout).toContain('you sent');
      expectNone('the run', run);
      const report = ['report', file(records), '--json', file(`${records}.json`), '--html', file(`${records}.html`)];
      expectNone('report', await runCli(report, { env }));
    }
    expect(seen).toBe(80);
    const names = readdirSync(dir);
    expect(names.length).toBeGreaterThanOrEqual(11);
    for (const name of names) {
      expectNoSecret(name, name);
      expectNoSecret(name, readFileSync(file(name), 'latin1'));
    }
  });

  it('are in no page, however they were given', async () => {
    const load = ['--base-url', server.url, '--dataset', SAMPLE, '--num-prompts', '4', '--concurrency', '2'];
    const ways: readonly (readonly [name: string, words: readonly string[], env: Readonly<Record<string, string>>])[] =
      [
        ['option', ['--api-key', KEY], {}],
        ['equals', [`--api-k=${KEY}`], {}],
        ['env', [], env],
        ['header', ['--header', 'X-Run=7', `Authorization=Bearer ${KEY}`, `X-Token=${TOKEN}`], {}],
        ['body', ['--api-key', KEY, '--extra-body', `{"session_token":"${TOKEN}"}`], {}],
        ['field', ['--api-key', KEY, '--extra-body.auth.token', TOKEN], {}],
      ];
    const pages = await Promise.all(
      ways.map(async ([name, words, given]) => {
        const path = file(`page-${name}.html`);
        const run = await runCli([...load, ...words, '--html', path], { env: given });
        expectNone(name, run);
        return [name, readFileSync(path, 'utf8')] as const;
      }),
    );
    for (const [name, page] of pages) {
      expectNoSecret(`page of ${name}`, page);
      // The command stands there as it was typed, and the server's words and name as far as they are no secret.
      expect(page, name).toContain('--num-prompts 4');
      expect(page, name).toContain('you sent');
      expect(page, name).toContain('model-***');
      expect(page, name).toContain(`page-${name}.html`);
    }
    expect(pages[1]?.[1]).toContain('--api-k=***');
  });

  it('are in no help, and in no message about a mistake', async () => {
    const lines = [
      ['--help'],
      ['--api-key', KEY, '--help'],
      ['--api-key', KEY, '--no-such-option'],
      [`--api-kye=${KEY}`],
      ['--api-key', KEY, KEY],
      ['--header', `Authorization=Bearer ${KEY}`, '--num-prompts', 'many'],
      ['--header', `X-Token: ${TOKEN}`],
      ['--base-url', `http://user:${KEY}@127.0.0.1:1`, '--dataset', SAMPLE],
      ['--proxy', `socks5://user:${KEY}@127.0.0.1:1`, '--dataset', SAMPLE],
      [
        '--base-url',
        'http://192.0.2.1:9',
        '--proxy',
        `http://user:${KEY}@127.0.0.1:9`,
        '--dataset',
        SAMPLE,
        '--ready-timeout',
        '300ms',
      ],
      ['--base-url', server.url, '--dataset', '/no/such/file', '--api-key', KEY],
      ['report', '/no/such/file'],
      ['samples', '--dataset', SAMPLE, '--base-url', server.url, '--num-prompts', '2', '--api-key', KEY],
    ];
    const results = await Promise.all(lines.map((words) => runCli(words, { env: { ...env, TABBY_LOAD_DEBUG: '1' } })));
    for (const [k, result] of results.entries()) expectNone((lines[k] as string[]).join(' '), result);
  });

  it('are not repeated when the server refuses them', async () => {
    const refusing = await startScripted(() => undefined, {
      refusal: (headers) => jsonAnswer('401 Unauthorized', { detail: `Invalid key ${headers['authorization']}` }),
    });
    try {
      const result = await runCli(['--base-url', refusing.url, '--dataset', SAMPLE], { env });
      expect(result.stderr).toMatch(/refuses the key: 401 Invalid key Bearer \*\*\*/);
      expectNone('a refusal', result);
    } finally {
      await refusing.close();
    }
  });
});
