import { describe, expect, it } from 'vitest';
import { serverOptions } from '../../src/commands/mock.ts';
import { MOCK_DEFAULTS } from '../../src/mock/options.ts';
import { parseCommandLine } from '../../src/options/parse.ts';

async function settings(...words: string[]) {
  const line = await parseCommandLine(['mock', ...words], {});
  if (line.command !== 'mock') throw new Error('not mock');
  return serverOptions(line.options);
}

describe('options of mock', () => {
  it('have the defaults of the built-in server', async () => {
    // `precise` is no option: it is on in a process of its own.
    expect(await settings()).toEqual({ ...MOCK_DEFAULTS, precise: true });
  });

  it('reach it in its units', async () => {
    const words = [
      '--port',
      '0',
      '--ttft',
      '80',
      '--itl',
      '0.5ms',
      '--ping-interval',
      'off',
      '--keep-alive',
      '2s',
      '--jitter',
      '10%',
    ];
    expect(await settings(...words, '--fault', 'http-500:0.1', 'reset:0.2', '--no-reasoning-parsed')).toMatchObject({
      port: 0,
      ttftMs: 80,
      itlMs: 0.5,
      pingIntervalMs: 0,
      keepAliveMs: 2000,
      jitter: 0.1,
      faults: [
        { kind: 'http-500', rate: 0.1 },
        { kind: 'reset', rate: 0.2 },
      ],
      reasoningParsed: false,
    });
  });

  it('take no key from the environment: that one is for the server under test', async () => {
    const line = await parseCommandLine(['mock'], { TABBY_API_KEY: 'sk-geheim' });
    expect(line).toMatchObject({ options: { apiKey: null } });
  });
});
