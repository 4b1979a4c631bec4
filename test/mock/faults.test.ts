import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FAULTS, type FaultKind, parseFaultRate, pickFault } from '../../src/mock/faults.ts';
import { MOCK_DEFAULTS } from '../../src/mock/options.ts';
import { Rng } from '../../src/mock/rng.ts';
import { chat, eventsOf, exchange, openConnection, type RawResponse, requestBytes } from './client.ts';
import { serverMaker, until } from './servers.ts';

const start = serverMaker();
const ask = async (fault: FaultKind, more = ''): Promise<RawResponse> => {
  const { port } = await start();
  return exchange(port, chat(`[[tokens=9,fault=${fault}${more}]]`));
};

/** What a stream held, in short: t token, f finish, u usage, e error, d [DONE], x anything else. */
function story(response: RawResponse): string {
  return eventsOf(response)
    .map((event) => {
      if (event === '[DONE]') return 'd';
      let frame: {
        choices?: { delta?: { content?: string }; finish_reason?: string | null }[];
        usage?: unknown;
        error?: unknown;
      };
      try {
        frame = JSON.parse(event);
      } catch {
        return 'x';
      }
      if (frame.error !== undefined) return 'e';
      const choice = frame.choices?.[0];
      if (choice === undefined) return 'x';
      return `${choice.delta?.content === undefined ? '' : 't'}${choice.finish_reason ? 'f' : ''}${frame.usage === undefined ? '' : 'u'}`;
    })
    .join('');
}

describe('answers that are not there', () => {
  it.each([
    ['http-500', 500, 'Internal Server Error'],
    ['http-503', 503, '{"detail":"No models are currently loaded."}'],
    ['http-429', 429, '{"detail":"Too many requests"}'],
    ['http-401', 401, '{"detail":"Invalid API key"}'],
    ['http-400', 400, expect.stringContaining('context_length_exceeded')],
    ['http-422', 422, expect.stringContaining('greater_than_equal')],
    ['html', 200, expect.stringContaining('<html>')],
  ] as const)('%s', async (fault, status, body) => {
    const answer = await ask(fault);
    expect([answer.status, answer.body]).toEqual([status, body]);
  });

  it('says when to come again', async () => {
    expect((await ask('http-429')).headers).toContainEqual(['retry-after', '1']);
  });

  it('reset and accept-close end before any byte, by RST and by FIN', async () => {
    await expect(ask('reset')).rejects.toThrow('ended by reset after 0 bytes');
    await expect(ask('accept-close')).rejects.toThrow('ended by fin after 0 bytes');
  });

  it('half-headers and not-http send something else', async () => {
    await expect(ask('half-headers')).rejects.toThrow(/ended by fin after \d{2,} bytes/);
    await expect(ask('not-http')).rejects.toThrow(/ended by fin after \d{2} bytes/);
  });

  it('never keeps the connection open, in silence', async () => {
    const server = await start();
    const connection = await openConnection(server.port);
    connection.send(requestBytes(chat('[[fault=never]]')));
    await until(() => server.stats().faults['never'] === 1);
    await exchange(server.port, { method: 'GET', path: '/health' });
    expect([connection.rest().length, server.stats().inFlight]).toEqual([0, 1]);
    connection.close();
    await until(() => server.stats().inFlight === 0);
  });

  it('json-instead answers a request for a stream with one body', async () => {
    expect(JSON.parse((await ask('json-instead')).body)).toMatchObject({
      object: 'chat.completion',
      usage: { completion_tokens: 10 },
    });
  });

  it('slow-headers come late, and all else as usual', async () => {
    expect(story(await ask('slow-headers', ',header_ms=20'))).toBe('tttttttttfud');
  });
});

describe('streams that go wrong', () => {
  it.each([
    ['empty', '', 'complete'],
    ['error-first', 'e', 'complete'],
    ['zero-tokens', 'fud', 'complete'],
    ['error-mid', 'ttttte', 'complete'],
    ['engine-error', 'ttttte', 'complete'],
    ['fatal', 'ttttte', 'complete'],
    ['close', 'ttttt', 'fin'],
    ['reset-mid', 'ttttt', 'reset'],
    ['end-mid', 'ttttt', 'complete'],
    ['no-finish', 'ttttttttt', 'complete'],
    ['done-only', 'tttttttttd', 'complete'],
    ['no-done', 'tttttttttfu', 'complete'],
    ['no-last-chunk', 'tttttttttfud', 'fin'],
    ['done-space', 'tttttttttfux', 'complete'],
    ['garbage', 'tttttttttfudxx', 'complete'],
    ['bad-json', 'tttttxttttfud', 'complete'],
    ['null-choices', 'tttttxxxttttfud', 'complete'],
    ['short', 'tttttfud', 'complete'],
    ['glue', 'tttttttttfud', 'complete'],
    ['drip', 'tttttttttfud', 'complete'],
  ] as const)('%s: %s, %s', async (fault, told, ended) => {
    const answer = await ask(fault);
    expect([story(answer), answer.ended]).toEqual([told, ended]);
  });

  it('truncated ends within a chunk', async () => {
    const answer = await ask('truncated');
    expect(answer.ended).toBe('fin');
    expect(story(answer)).toBe('ttttt');
    const torn = answer.raw.toString().split('\r\n').slice(-2);
    expect(torn[1]).toMatch(/^data: \{"id": "chatcmpl-[0-9a-f]{32}", "object": /);
    expect(torn[1]?.length).toBeLessThan(Number.parseInt(torn[0] as string, 16));
  });

  it('bad-chunk sends a size that is none', async () => {
    expect((await ask('bad-chunk')).raw.toString()).toContain('\r\nnot hex\r\n');
  });

  it('strikes after as many tokens as it is told', async () => {
    expect(story(await ask('close', ',fault_at=2'))).toBe('tt');
    expect(story(await ask('error-mid', ',fault_at=0'))).toBe('e');
    // Not after more than there are.
    expect(story(await ask('close', ',fault_at=99'))).toBe('ttttttttt');
    const { port } = await start({ faultAt: 3 });
    expect(story(await exchange(port, chat('[[fault=end-mid]]')))).toBe('ttt');
  });

  it('huge sends one event of the size it is told', async () => {
    const answer = await ask('huge', ',mb=2');
    expect(story(answer)).toBe('tttttxttttfud');
    expect(Math.max(...answer.chunks.map((chunk) => chunk.length))).toBeGreaterThan(2 * 1024 * 1024);
  });

  it('bom stands before the first event', async () => {
    const answer = await ask('bom');
    expect(answer.body.startsWith('\ufeffdata: {')).toBe(true);
    expect(story({ ...answer, body: answer.body.slice(1) })).toBe('tttttttttfud');
  });

  it('gzip packs each event, and says so', async () => {
    const answer = await ask('gzip');
    expect(answer.headers).toContainEqual(['content-encoding', 'gzip']);
    const body = gunzipSync(Buffer.concat(answer.chunks)).toString();
    expect(story({ ...answer, body })).toBe('tttttttttfud');
  });

  it('stall and stall-mid send pings only', async () => {
    const server = await start({ pingIntervalMs: 5 });
    for (const [fault, tokens] of [
      ['stall', 0],
      ['stall-mid', 5],
    ] as const) {
      const connection = await openConnection(server.port);
      connection.send(requestBytes(chat(`[[fault=${fault}]]`)));
      await until(() => connection.rest().toString().split(': ping - ').length > 3);
      expect(connection.rest().toString().split('data: ')).toHaveLength(1 + tokens);
      connection.close();
    }
    await until(() => server.stats().inFlight === 0);
  });

  it('unload hangs this stream and all others, and the model is gone', async () => {
    const server = await start({ itlMs: 2, tokens: 1000 });
    const other = await openConnection(server.port);
    other.send(requestBytes(chat('x', { max_tokens: 2000 })));
    const connection = await openConnection(server.port);
    connection.send(requestBytes(chat('[[fault=unload]]')));
    await until(() => server.stats().runningJobs === 0 && server.stats().frames >= 5);
    expect((await exchange(server.port, { method: 'GET', path: '/v1/model' })).status).toBe(503);
    expect(connection.rest().toString().split('data: ')).toHaveLength(6);
    other.close();
    connection.close();
  });

  it('an engine error is told to every stream, a fatal one to its own only', async () => {
    for (const [fault, told] of [
      ['engine-error', true],
      ['fatal', false],
    ] as const) {
      const server = await start({ itlMs: 2, tokens: 1000 });
      const other = await openConnection(server.port);
      other.send(requestBytes(chat('x', { max_tokens: 2000 })));
      await until(() => server.stats().frames > 0);
      expect(story(await exchange(server.port, chat(`[[fault=${fault}]]`)))).toBe('ttttte');
      if (told) expect(story(await other.next())).toMatch(/^t+e$/);
      else expect(other.rest().toString()).not.toContain('error');
      expect(server.stats().runningJobs).toBe(0);
      other.close();
    }
  });

  it('goes for answers in one body too, where it can', async () => {
    const { port } = await start();
    const whole = (fault: FaultKind) => exchange(port, chat(`[[tokens=9,fault=${fault}]]`, { stream: false }));
    expect((await whole('error-mid')).status).toBe(503);
    expect((await whole('error-first')).status).toBe(503);
    expect((await whole('truncated')).ended).toBe('fin');
    await expect(whole('reset')).rejects.toThrow('reset');
    expect(JSON.parse((await whole('short')).body)).toMatchObject({ usage: { completion_tokens: 6 } });
  });
});

describe('which request is struck', () => {
  it('about as many as the rates say, each kind by its own, the same ones in each run', () => {
    const options = {
      ...MOCK_DEFAULTS,
      faults: [
        { kind: 'reset', rate: 0.2 },
        { kind: 'html', rate: 0.05 },
      ],
    };
    const draw = (seed: number) => {
      const rng = new Rng(seed);
      return Array.from({ length: 20_000 }, () => pickFault(options, {}, rng));
    };
    const drawn = draw(1);
    const share = (kind: string | null) => drawn.filter((fault) => fault === kind).length / drawn.length;
    // Four standard deviations of a binomial of 20,000.
    expect(Math.abs(share('reset') - 0.2)).toBeLessThan(0.012);
    expect(Math.abs(share('html') - 0.05)).toBeLessThan(0.0065);
    expect(draw(1)).toEqual(drawn);
    expect(draw(2)).not.toEqual(drawn);
  });

  it('that of the mark first; unknown marks are text', () => {
    const options = { ...MOCK_DEFAULTS, faults: [{ kind: 'reset', rate: 1 }] };
    expect(pickFault(options, { fault: 'html' }, new Rng(0))).toBe('html');
    expect(pickFault(options, { fault: 'nothing' }, new Rng(0))).toBe('reset');
    expect(pickFault(MOCK_DEFAULTS, { fail: 3 }, new Rng(0))).toBe('error-mid');
  });

  it('reads kind and rate, and names what is known', () => {
    expect(parseFaultRate('reset:0.25')).toEqual({ kind: 'reset', rate: 0.25 });
    expect(parseFaultRate('reset:5%')).toEqual({ kind: 'reset', rate: 0.05 });
    expect(parseFaultRate('reset')).toEqual({ kind: 'reset', rate: 1 });
    for (const bad of ['reset:2', 'reset:-1', 'reset:x', 'reset:', 'rest:0.1', '']) {
      expect(() => parseFaultRate(bad), bad).toThrow(expect.objectContaining({ exitCode: 2 }));
    }
    expect(Object.keys(FAULTS)).toContain('reset');
  });
});
