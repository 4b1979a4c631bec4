/** The GPUs of the host, by a stand-in for nvidia-smi on the PATH. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningCli, runCli, startCli } from '../support/cli.ts';

const dir = mkdtempSync(join(tmpdir(), 'tabby-load-gpus-'));
let mock: RunningCli;
let url = '';

beforeAll(async () => {
  mock = startCli(['mock', '--port', '0', '--ttft', '20', '--itl', '5'], { limitMs: 60_000 });
  url = (await mock.waitFor(/listening on (http:\/\/\S+)/))[1] as string;
});

afterAll(async () => {
  await mock.stop('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
});

/** A run beside a program that does `script`; `name` is what it is called. */
async function runBeside(script: string, words: readonly string[] = [], name = 'nvidia-smi') {
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  const json = join(dir, 'r.json');
  const { code, stdout, stderr } = await runCli(
    ['--base-url', url, '--concurrency', '4', '--dataset', join(import.meta.dirname, '../../examples/sharegpt-sample.json'), '--num-prompts', '8',
      '--sharegpt-output-len', '40', '--json', json, '--ui', 'none', ...words], // biome-ignore format: words
    { env: { PATH: `${dir}:${process.env['PATH']}` } },
  );
  expect(code, stderr).toBe(0);
  rmSync(path);
  const { tabby_load: own } = JSON.parse(readFileSync(json, 'utf8')) as {
    tabby_load: { host?: { gpus: Record<string, unknown>[]; energy_j: number; tokens_per_joule: number } };
  };
  return { host: own.host, stdout, stderr };
}

const ONE = `echo "0, Stand-in \\033[31mGPU, 80, 1024, 2048, 250.5, 60"; echo "1, Other, [N/A], 10, 2048, 100, 50"`;

describe('GPUs of the host', () => {
  it('are sampled, summed up, and shown without what a terminal would obey', async () => {
    const { host, stdout } = await runBeside(`${ONE}; sleep 0.1; ${ONE}; exec sleep 30`);
    expect(host?.gpus).toHaveLength(2);
    expect(host?.gpus[0]).toMatchObject({
      index: 0,
      utilisation: { mean: 80, max: 80 },
      power_w: { mean: 250.5, max: 250.5 },
    });
    expect(host?.gpus[1]).toMatchObject({ index: 1, utilisation: null });
    expect(host?.tokens_per_joule).toBeGreaterThan(0);
    expect(stdout).toContain('GPU 0 (Stand-in');
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toMatch(/output tokens per joule/);
  });

  it.each([
    ['prints nonsense', 'echo "NVIDIA-SMI has failed because it could not communicate"; exit 9'],
    ['says nothing and does not end', 'exec sleep 30'],
    ['is not to be sampled', ONE, ['--no-gpus']],
  ])('are not spoken of where the tool %s', async (_, script, words: string[] = []) => {
    const { host, stdout, stderr } = await runBeside(script, words);
    expect(host).toBeUndefined();
    expect(stdout + stderr).not.toMatch(/GPU|nvidia/i);
  });

  it('come over ssh where that is asked for, and one warning where it fails', async () => {
    const far = await runBeside(
      `shift 3; [ "$1" = me@host ] || exit 1; ${ONE}; exec sleep 30`,
      ['--gpu-host', 'me@host'],
      'ssh',
    );
    expect(far.host?.gpus).toHaveLength(2);
    const failed = await runBeside(
      'echo "Permission denied (publickey)." >&2; exit 255',
      ['--gpu-host', 'me@host'],
      'ssh',
    );
    expect(failed.host).toBeUndefined();
    expect(failed.stderr.match(/--gpu-host me@host: no readings: Permission denied/g)).toHaveLength(1);
  });
});
