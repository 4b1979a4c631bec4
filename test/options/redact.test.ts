import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/options/parse.ts';
import { optionsForRecord, secretsOf, withoutSecrets } from '../../src/options/redact.ts';

describe('options as they are saved', () => {
  it("carry vLLM's names, and no key", async () => {
    const line = await parseCommandLine(
      [
        ...['--dataset', 'x.json', '--concurrency', '4', '--api-key', 'sk-geheim', '--connect-timeout', '5s'],
        ...['--header', 'Authorization=Bearer sk-geheim', 'X-Api-Key=sk-geheim', 'X-Run=7'],
        ...['--extra-body', '{"a":{"password":"sk-geheim","n":1},"list":[{"token":"sk-geheim"}]}'],
      ],
      {},
    );
    if (line.command !== 'run') throw new Error('not a run');
    const saved = optionsForRecord(line.options);
    expect(JSON.stringify(saved)).not.toContain('geheim');
    expect(saved).toMatchObject({
      max_concurrency: 4,
      dataset_path: 'x.json',
      connect_timeout_ms: 5000,
      max_event_size_bytes: 16_000_000,
      header: { Authorization: '***', 'X-Api-Key': '***', 'X-Run': '7' },
      extra_body: { a: { password: '***', n: 1 }, list: [{ token: '***' }] },
      request_rate: Number.POSITIVE_INFINITY,
    });
    expect(Object.keys(saved)).not.toContain('api_key');
    expect(Object.keys(saved)).not.toContain('dataset');
  });

  it('cuts credentials out of addresses', () => {
    expect(optionsForRecord({ baseUrl: 'http://user:pw@h/x' })).toEqual({ base_url: 'http://***@h/x' });
  });
});

describe('texts', () => {
  it('lose the key and the credentials in headers, the longest first', () => {
    const secrets = secretsOf({ apiKey: 'abcdef', header: { Authorization: 'Bearer abcdefgh', 'X-Run': 'public' } });
    expect(secrets).toEqual(['Bearer abcdefgh', 'abcdefgh', 'abcdef']);
    expect(withoutSecrets('got abcdefgh and abcdef, public', secrets)).toBe('got *** and ***, public');
  });

  it('are not torn apart by a key too short to be one', () => {
    expect(secretsOf({ apiKey: 'a' })).toEqual([]);
    expect(secretsOf({})).toEqual([]);
  });
});
