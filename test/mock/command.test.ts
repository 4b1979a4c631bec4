import { describe, expect, it } from 'vitest';
import { startCli } from '../support/cli.ts';
import { chat, exchange } from './client.ts';

describe('tabby-load mock', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'says where it listens in one line, nothing else, and how it went on %s',
    async (signal) => {
      const mock = startCli(['mock', '--port', '0', '--ttft', '1ms', '--itl', '1ms', '--tokens', '4']);
      const [, port] = await mock.waitFor(/^tabby-load mock: listening on http:\/\/127\.0\.0\.1:(\d+)\n$/);
      await exchange(Number(port), chat('x'));
      const { code, stdout, stderr } = await mock.stop(signal);
      expect(code).toBe(0);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      expect(JSON.parse(stderr)).toEqual({
        requests: 1,
        tokens: 5,
        frames: 4,
        late_mean_ms: expect.any(Number),
        late_p99_ms: expect.any(Number),
        late_max_ms: expect.any(Number),
        cpu_us_per_frame: expect.any(Number),
      });
    },
  );

  it('logs one harmless line per request when asked', async () => {
    const mock = startCli(['mock', '--port', '0', '--verbose']);
    const [, port] = await mock.waitFor(/listening on http:\/\/127\.0\.0\.1:(\d+)\n/);
    await exchange(Number(port), { method: 'GET', path: '/\u009b31mred' });
    const { stderr } = await mock.stop();
    // The two bytes of U+009B, a control character that terminals obey.
    expect(stderr.split('\n')[0]).toBe('GET /\u00c2\\u009b31mred 0 bytes');
  });

  it('refuses a port that is taken', async () => {
    const first = startCli(['mock', '--port', '0']);
    const [, port] = await first.waitFor(/listening on http:\/\/127\.0\.0\.1:(\d+)\n/);
    const second = startCli(['mock', '--port', port as string]);
    const { code, stderr } = await second.ended;
    expect(code).toBe(4);
    expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}`);
    expect(stderr).not.toContain('at ');
    await first.stop();
  });
});
