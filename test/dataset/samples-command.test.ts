/** `tabby-load samples`, from the command line to the manifest. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { dataSetRequestOf, needsServer, samplesCommand, tokenizerSpecOf } from '../../src/commands/samples.ts';
import { parseCommandLine } from '../../src/options/parse.ts';
import type { SamplesOptions } from '../../src/options/table.ts';
import recorded from '../fixtures/golden/datasets.json' with { type: 'json' };
import { fixture, modelFolder, scratchFile, scratchFolder } from './support.ts';

async function optionsOf(args: readonly string[], env: Record<string, string> = {}): Promise<SamplesOptions> {
  const line = await parseCommandLine(['samples', ...args], env, 100);
  if (line.command !== 'samples') throw new Error(`parsed as ${line.command}`);
  return line.options;
}

function goldenManifest(name: string): string {
  return recorded.cases.find((c) => c.name === name)!.manifest_tsv!;
}

const shareGpt = fixture('golden/data/sharegpt.json');
const specBench = fixture('golden/data/spec_bench.jsonl');
const qwen = modelFolder('qwen3');

describe('tabby-load samples', () => {
  const folder = scratchFolder();
  const out: string[] = [];
  const err: string[] = [];
  beforeAll(() => {
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(String(text)) > 0);
  });
  afterEach(() => {
    out.length = 0;
    err.length = 0;
  });
  afterAll(() => vi.restoreAllMocks());

  it('prints the manifest on stdout and what it did on stderr', async () => {
    const args = ['--dataset', shareGpt, '--tokenizer', qwen, '--num-prompts', '50', '--seed', '0'];
    expect(await samplesCommand(await optionsOf(args))).toBe(0);
    expect(out.join('')).toBe(goldenManifest('sharegpt/n50_s0'));
    expect(err.join('')).toMatch(
      /^tabby-load: 50 samples from sharegpt \(tokenizer: .*\); sha256 of the manifest: [0-9a-f]{64}\n$/,
    );
  });

  it('writes it to --samples-out or TABBY_SAMPLES_OUT in place of what was there', async () => {
    const path = scratchFile(folder, 'm.tsv', 'old '.repeat(10_000));
    const args = ['--dataset', specBench, '--tokenizer', qwen, '--num-prompts', '20'];
    await samplesCommand(await optionsOf([...args, '--samples-out', path]));
    expect(readFileSync(path, 'utf8')).toBe(goldenManifest('spec_bench/shim_n20_s0'));
    await samplesCommand(await optionsOf([...args, '--server', 'vllm'], { TABBY_SAMPLES_OUT: path }));
    expect(readFileSync(path, 'utf8')).toBe(goldenManifest('spec_bench/stock_n20_s0'));
    expect(out).toEqual([]);
  });

  it('keeps the old file when the samples cannot be taken, and finds an unwritable one first', async () => {
    const path = scratchFile(folder, 'kept.tsv', 'kept');
    const missing = ['--dataset', join(folder, 'none.json'), '--tokenizer', qwen];
    await expect(samplesCommand(await optionsOf([...missing, '--samples-out', path]))).rejects.toThrow(
      'does not exist',
    );
    expect(readFileSync(path, 'utf8')).toBe('kept');
    await expect(samplesCommand(await optionsOf([...missing, '--samples-out', folder]))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^--samples-out: cannot write .*: it is a folder$/),
    });
  });

  it("asks TabbyAPI to count when no tokenizer is named, and nothing else than that and the model's name", async () => {
    const asked = new Set<string>();
    const server = createServer((request, response) => {
      asked.add(
        `${request.method} ${request.url} ${request.headers.authorization ?? request.headers['x-api-key'] ?? ''}`,
      );
      response.setHeader('content-type', 'application/json');
      if (request.url === '/v1/model')
        response.end('{"id": "Stub", "object": "model", "owned_by": "tabbyAPI", "parameters": {}}');
      else response.end('{"tokens": [], "length": 9}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const args = ['--dataset', specBench, '--num-prompts', '3', '--base-url', base];
      await samplesCommand(await optionsOf(args, { TABBY_API_KEY: 'K' }));
    } finally {
      server.closeAllConnections();
      server.close();
    }
    const golden = goldenManifest('spec_bench/shim_n20_s0').split('\n').slice(0, 4);
    const hashes = (lines: readonly string[]) => lines.map((line) => line.split('\t').slice(0, 2));
    const lines = out.join('').trimEnd().split('\n');
    expect(hashes(lines)).toEqual(hashes(golden));
    expect(lines[1]?.split('\t').slice(2)).toEqual(['9', '256']);
    expect([...asked].sort()).toEqual(['GET /v1/model Bearer K', 'POST /v1/token/encode Bearer K']);
    expect(err.join('')).toContain('(tokenizer: Stub)');
  });
});

describe('which samples and tokenizer the options mean', () => {
  const options = (...args: string[]) => optionsOf(['--dataset', specBench, ...args]);

  it('takes samples as for TabbyAPI unless the server is another one', async () => {
    const given = await options('--output-len', '9', '--request-id-prefix', 'x-', '--seed', '3', '--no-oversample');
    expect(dataSetRequestOf(given, null)).toMatchObject({
      name: 'auto', path: specBench, numPrompts: 1000, seed: 3, disableShuffle: false, noOversample: true, requestIdPrefix: 'x-',
      mode: 'shim', enableMultimodalChat: false, skipChatTemplate: false, sharegptOutputLen: 9, specBenchOutputLen: 9, specBenchCategory: null,
    }); // biome-ignore format: one request
    expect(dataSetRequestOf(given, { kind: 'tabbyapi' }).mode).toBe('shim');
    expect(dataSetRequestOf(given, { kind: 'vllm' }).mode).toBe('stock');
    expect(dataSetRequestOf(await options('--server', 'openai'), null).mode).toBe('stock');
    expect(dataSetRequestOf(await options('--dataset-name', 'spec_bench'), null).name).toBe('spec_bench');
  });

  it("uses the named tokenizer, else TabbyAPI's own, else the model's", async () => {
    const tabby = { kind: 'tabbyapi', model: 'Stub', modelRoot: null } as const;
    const vllm = { kind: 'vllm', model: 'served', modelRoot: 'org/root' } as const;
    const own = { kind: 'server', origin: 'http://h:1', basePath: '/p', model: 'Stub', insecure: false };
    const at = ['--base-url', 'http://h:1/p/'];
    expect(await tokenizerSpecOf(await options(...at), tabby)).toMatchObject(own);
    expect(
      await tokenizerSpecOf(await options(...at, '--tokenizer', 'server'), { ...vllm, model: 'Stub' }),
    ).toMatchObject(own);
    expect(await tokenizerSpecOf(await options(), vllm)).toEqual({ kind: 'hub', name: 'org/root' });
    expect(await tokenizerSpecOf(await options('--model', qwen), vllm)).toEqual({ kind: 'folder', path: qwen });
    expect(await tokenizerSpecOf(await options('--tokenizer', qwen), tabby)).toEqual({ kind: 'folder', path: qwen });
    expect(await tokenizerSpecOf(await options('--skip-tokenizer-init'), tabby)).toEqual({ kind: 'none' });
    const nameless = { kind: 'openai', model: null, modelRoot: null } as const;
    await expect(tokenizerSpecOf(await options(), nameless)).rejects.toThrow(/^there is no tokenizer/);
  });

  it('needs the server only for its own tokenizer or its name', async () => {
    expect(needsServer(await options())).toBe(true);
    expect(needsServer(await options('--tokenizer', 'server'))).toBe(true);
    expect(needsServer(await options('--tokenizer', qwen))).toBe(false);
    expect(needsServer(await options('--skip-tokenizer-init'))).toBe(false);
  });
});
