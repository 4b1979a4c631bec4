import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { chat, eventsOf, exchange, openConnection, requestBytes } from './client.ts';
import { serverMaker, until } from './servers.ts';

const start = serverMaker();

/** Everything a server sends until it ends the connection. */
function talk(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    let received = '';
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.on('end', () => resolve(received));
    socket.on('error', reject);
    socket.write(text);
  });
}

describe('a connection', () => {
  it('is kept, answers what is pipelined in order, and counts as one', async () => {
    const server = await start();
    const connection = await openConnection(server.port);
    connection.send(
      Buffer.concat([
        requestBytes(chat('[[tokens=3]]')),
        requestBytes({ method: 'GET', path: '/health' }),
        requestBytes(chat('[[tokens=2]]', { stream: false })),
      ]),
    );
    expect(eventsOf(await connection.next())).toHaveLength(5);
    expect((await connection.next()).body).toContain('healthy');
    expect(JSON.parse((await connection.next()).body)).toMatchObject({ usage: { completion_tokens: 3 } });
    connection.close();
    expect(server.stats()).toMatchObject({ connections: 1, requests: 3, maxInFlight: 1 });
  });

  it('is closed by the server when idle for as long as it was told, but not before its first request', async () => {
    const server = await start({ keepAliveMs: 30 });
    const fresh = await openConnection(server.port);
    const used = await openConnection(server.port);
    used.send(requestBytes({ method: 'GET', path: '/health' }));
    await used.next();
    await until(() => server.stats().openConnections === 1);
    fresh.send(requestBytes({ method: 'GET', path: '/health' }));
    expect((await fresh.next()).status).toBe(200);
    used.close();
    fresh.close();
  });

  it('is not closed while an answer takes longer than that', async () => {
    const server = await start({ keepAliveMs: 20, ttftMs: 80 });
    const connection = await openConnection(server.port);
    connection.send(requestBytes({ method: 'GET', path: '/health' }));
    await connection.next();
    connection.send(requestBytes(chat('[[tokens=2]]')));
    expect((await connection.next()).ended).toBe('complete');
    connection.close();
  });

  it('ends after the answer when the client says close, and says so', async () => {
    const { port } = await start();
    const text = await talk(port, 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n\r\n\{"status":"healthy"/s);
  });

  it('gives an HTTP/1.0 client its stream without chunks, and ends', async () => {
    const { port } = await start();
    const body = JSON.stringify({ messages: [{ role: 'user', content: '[[tokens=2]]' }], stream: true });
    const head = `POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const text = await talk(port, head + body);
    expect(text).not.toContain('transfer-encoding');
    expect(text.split('\r\n\r\n').map((event) => event.slice(0, 8))).toEqual([
      'HTTP/1.1',
      'data: {"',
      'data: {"',
      'data: {"',
      'data: [D',
      '',
    ]);
  });

  it('answers Expect, and takes a chunked body', async () => {
    const { port } = await start();
    const connection = await openConnection(port);
    const body = JSON.stringify({ text: 'they said', add_bos_token: false });
    connection.send(
      'POST /v1/token/encode HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n',
    );
    await until(() => connection.rest().toString() === 'HTTP/1.1 100 Continue\r\n\r\n');
    connection.send(`5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`);
    await until(() => connection.rest().includes('"length":3}'));
    connection.close();
  });

  it.each([['nonsense\r\n\r\n'], ['GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n'], ['\u0016\u0003\u0001']])(
    'answers %j with 400 and ends',
    async (text) => {
      const { port } = await start();
      const answer = await talk(port, text);
      expect(answer).toMatch(
        /^HTTP\/1\.1 400 Bad Request\r\ndate: [^\r]+\r\nserver: uvicorn\r\ncontent-type: text\/plain; charset=utf-8\r\n/,
      );
      expect(answer).toMatch(/\r\nconnection: close\r\n\r\nInvalid HTTP request received\.$/);
    },
  );

  it('may read nothing until all has been made, and gets everything all the same', async () => {
    const server = await start({ tokens: 2000 });
    const connection = await openConnection(server.port);
    connection.socket.pause();
    // About 5 MB: more than the kernel's buffers hold.
    connection.send(requestBytes(chat('x', { max_tokens: 4000, logprobs: true, top_logprobs: 20 })));
    await until(() => server.stats().completed === 1);
    connection.socket.resume();
    const events = eventsOf(await connection.next());
    connection.close();
    expect(events).toHaveLength(2002);
    for (const event of events.slice(0, -1)) expect(() => JSON.parse(event)).not.toThrow();
  });

  it('takes a large body', async () => {
    const { port } = await start();
    const prompt = ' they'.repeat(50_000);
    const answer = await exchange(port, {
      path: '/v1/completions',
      body: { prompt, max_tokens: 3, stream_options: { include_usage: true } },
    });
    expect(JSON.parse(answer.body)).toMatchObject({ usage: { prompt_tokens: 50_000 } });
  });

  it('cuts running streams when the server stops', async () => {
    const server = await start({ itlMs: 5, tokens: 1000 });
    const connection = await openConnection(server.port);
    connection.send(requestBytes(chat('x', { max_tokens: 2000 })));
    await until(() => server.stats().frames > 2);
    await server.close();
    expect((await connection.next()).ended).not.toBe('complete');
    await server.close();
  });

  it('answers a preflight for any origin', async () => {
    const { port } = await start({ apiKey: 'k' });
    const headers = { origin: 'http://a', 'access-control-request-method': 'POST' };
    const answer = await exchange(port, { method: 'OPTIONS', path: '/v1/chat/completions', headers });
    expect(answer.status).toBe(200);
    expect(answer.headers).toContainEqual(['access-control-allow-origin', 'http://a']);
  });

  it('refuses an address that is taken, in words', async () => {
    const server = await start();
    await expect(start({ port: server.port })).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining(`127.0.0.1:${server.port}`),
    });
  });

  it.each([
    [{ slots: 0 }, '--slots'],
    [{ jitter: 2 }, '--jitter'],
    [{ itlMs: Number.NaN }, '--itl'],
  ])('refuses %j', async (options, flag) => {
    await expect(start(options)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(flag) });
  });
});
