/** Ways to the server, and ways that lead nowhere. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CliResult, runCli } from './cli.ts';
import { type FaultRow, type FaultRun, textRow, valueRow } from './fault-rows.ts';
import { SAMPLE } from './play-endings.ts';
import { startForwardProxy } from './proxy.ts';
import { complete, type Script, type ScriptedServer, startScripted } from './scripted-server.ts';
import { TLS_CREDENTIALS, TRUST } from './tls.ts';

const KEY = 'sk-connections-secret';

/** A short run. */
function short(
  url: string,
  more: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const words = [
    '--base-url',
    url,
    '--dataset',
    SAMPLE,
    '--num-prompts',
    '6',
    '--concurrency',
    '2',
    '--ready-timeout',
    '500ms',
  ];
  return runCli([...words, '--ui', 'none', '--quiet', ...more], { env: { TABBY_API_KEY: KEY, ...env } });
}

const answers: Script = (reply) => complete(reply);

async function withServer<T>(server: Promise<ScriptedServer>, use: (server: ScriptedServer) => Promise<T>): Promise<T> {
  const running = await server;
  try {
    return await use(running);
  } finally {
    await running.close();
  }
}

/** A plain socket server for what speaks no HTTP. */
async function withSocket<T>(onSocket: (socket: Socket) => void, use: (port: number) => Promise<T>): Promise<T> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use((server.address() as { port: number }).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Exit code and message of a run that cannot begin. */
function failedStart(name: string, { code, stderr }: CliResult, wanted: RegExp, wantedCode = 4): FaultRow {
  const row = textRow(name, stderr, wanted);
  const problems = code === wantedCode ? row.problems : [...row.problems, `exit code ${code}, not ${wantedCode}`];
  return {
    ...row,
    expected: `exit ${wantedCode}: ${row.expected}`,
    reported: `exit ${code}: ${row.reported}`,
    problems,
  };
}

function went(name: string, { code, stderr }: CliResult, more: readonly string[] = []): FaultRow {
  const problems = [...more, ...(code === 0 ? [] : [`exit code ${code}: ${stderr}`])];
  return { name, expected: 'exit 0', reported: `exit ${code}`, problems };
}

async function startRows(): Promise<FaultRow[]> {
  const free = await withSocket(
    () => undefined,
    async (port) => port,
  );
  return Promise.all([
    short(`http://127.0.0.1:${free}`).then((cli) => failedStart('refused', cli, /cannot connect to .*ECONNREFUSED/)),
    // Without a resolver the answer may be that there is none, or take too long.
    short('http://no-such-host.invalid:5000').then((cli) =>
      failedStart(
        'name not found',
        cli,
        /cannot connect to http:\/\/no-such-host.invalid:5000: .*(ENOTFOUND|EAI_AGAIN|no connection within)/,
      ),
    ),
    withSocket(
      () => undefined,
      async (port) =>
        failedStart(
          'accepts and never answers',
          await short(`http://127.0.0.1:${port}`),
          /accepts connections but does not answer/,
        ),
    ),
    withSocket(
      (socket) => socket.end(),
      async (port) =>
        failedStart(
          'accepts and closes',
          await short(`http://127.0.0.1:${port}`),
          /cannot connect to .*other side closed/,
        ),
    ),
    withSocket(
      (socket) => socket.on('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n')),
      async (port) =>
        failedStart('no TLS spoken there', await short(`https://127.0.0.1:${port}`), /does not speak TLS/),
    ),
    withSocket(
      () => undefined,
      async (port) =>
        failedStart(
          'TLS handshake without end',
          await short(`https://127.0.0.1:${port}`),
          /no connection within 0\.5 s/,
        ),
    ),
    withServer(startScripted(answers, { tls: TLS_CREDENTIALS }), async ({ url }) =>
      failedStart(
        'certificate of an unknown authority',
        await short(url),
        /UNABLE_TO_VERIFY_LEAF_SIGNATURE[\s\S]*--insecure/,
      ),
    ),
    withServer(startScripted(answers, { tls: TLS_CREDENTIALS }), async ({ port }) =>
      failedStart(
        'certificate for another name',
        await short(`https://127.0.0.2:${port}`, [], TRUST),
        /ERR_TLS_CERT_ALTNAME_INVALID|ECONNREFUSED/,
      ),
    ),
    withServer(startScripted(answers, { model: () => null }), async ({ url }) =>
      failedStart('no model loaded', await short(url), /has no model loaded/),
    ),
    withServer(
      startForwardProxy(() => 403),
      async ({ url }) =>
        failedStart(
          'a proxy that lets nobody through',
          await short('https://192.0.2.1:5000', ['--proxy', url]),
          /through the proxy .*the proxy answered HTTP\/1\.1 403/,
        ),
    ),
    short('http://192.0.2.1:5000', [], { http_proxy: 'socks5://127.0.0.1:1080' }).then((cli) =>
      failedStart('a proxy of another kind', cli, /http_proxy: only proxies that are spoken to by http/, 2),
    ),
    short('http://127.0.0.1:5000', ['--header', 'X-A=one\r\nX-B: two']).then((cli) =>
      failedStart('a header value with a line break', cli, /--header X-A: the value holds a line break/, 2),
    ),
    short('http://127.0.0.1:5000', [], { TABBY_API_KEY: 'sk-\r\nX-B: two' }).then((cli) =>
      failedStart('a key with a line break', cli, /TABBY_API_KEY|--api-key/, 2),
    ),
    short('http://127.0.0.1:5000', ['--request-id-prefix', 'a\nb']).then((cli) =>
      failedStart('a request id with a line break', cli, /--request-id-prefix/, 2),
    ),
  ]);
}

async function wayRows(): Promise<FaultRow[]> {
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-way-'));
  const socket = join(dir, 'server.sock');
  try {
    return (
      await Promise.all([
        withServer(startScripted(answers, { listen: { port: 0, host: '::1' } }), async ({ port, requests }) => [
          went('IPv6 address', await short(`http://[::1]:${port}`)),
          valueRow('Host of an IPv6 address', requests[0]?.headers['host'], `[::1]:${port}`),
        ]),
        withServer(startScripted(answers, { listen: { port: 0, host: '::1' } }), async ({ port }) => [
          went(
            '--host ::1',
            await runCli([
              '--host',
              '::1',
              '--port',
              String(port),
              '--dataset',
              SAMPLE,
              '--num-prompts',
              '2',
              '--quiet',
            ]),
          ),
        ]),
        withServer(startScripted(answers, { listen: { port: 0, host: '::1' } }), async ({ port }) => [
          went('localhost that listens on ::1 only', await short(`http://localhost:${port}`)),
        ]),
        withServer(startScripted(answers), async ({ port }) => [
          went('localhost that listens on 127.0.0.1 only', await short(`http://localhost:${port}`)),
        ]),
        withServer(startScripted(answers, { listen: { path: socket } }), async ({ requests }) => {
          const cli = await short('http://server.example/sub', ['--unix-socket', socket]);
          return [
            went('unix socket', cli),
            valueRow(
              'Host and path over a unix socket',
              [requests[0]?.headers['host'], requests[0]?.path],
              ['server.example', '/sub/v1/chat/completions'],
            ),
            textRow('the unix socket is told', cli.stderr, /over the unix socket /),
          ];
        }),
        withServer(startScripted(answers, { tls: TLS_CREDENTIALS }), async ({ port, connections }) => [
          went('https, certificate verified', await short(`https://localhost:${port}`, [], TRUST)),
          valueRow('no connection before', connections, 0),
        ]),
        withServer(startScripted(answers, { tls: TLS_CREDENTIALS }), async (server) => {
          const cli = await short(server.url, ['--insecure']);
          return [
            went('https, --insecure', cli),
            textRow('said before', cli.stderr, /CERTIFICATE NOT VERIFIED \(--insecure\)/),
            textRow('said after', cli.stderr, /warning: the certificate of the server was not verified/),
            // Two for the questions beside the load at most, two for the slots: a handshake each.
            valueRow('connections are kept over TLS', server.connections <= 12 && server.requests.length === 6, true),
          ];
        }),
      ])
    ).flat();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function proxyRows(): Promise<FaultRow[]> {
  return withServer(startScripted(answers), (plain) =>
    withServer(startScripted(answers, { tls: TLS_CREDENTIALS }), async (secure) => {
      // Names that only the proxy knows: whoever went straight would not get there.
      const places = { 'plain.test': plain.port, '127.0.0.1': plain.port, localhost: secure.port };
      return withServer(
        startForwardProxy((host) => places[host as keyof typeof places] ?? 502),
        async (proxy) => {
          const withUser = proxy.url.replace('//', '//user:pa55word@');
          const overHttp = await short('http://plain.test:5000', [], { http_proxy: withUser });
          const seen = proxy.requests.find(({ path }) => path.endsWith('/chat/completions'));
          const overTls = await short('https://localhost:5000', ['--proxy', proxy.url], TRUST);
          const before = proxy.requests.length;
          const loopback = await short(plain.url, [], {
            http_proxy: proxy.url,
            HTTP_PROXY: proxy.url,
            all_proxy: proxy.url,
          });
          const asked = await short(plain.url.replace('127.0.0.1', 'plain.test'), ['--proxy', 'off'], {
            http_proxy: proxy.url,
          });
          const excepted = await short('http://plain.test:5000', [], {
            http_proxy: proxy.url,
            no_proxy: 'other.org, .test',
          });
          const straight = proxy.requests.length - before;
          const byOption = await short(plain.url, ['--proxy', proxy.url]);
          return [
            went('http_proxy', overHttp),
            textRow(
              'the proxy is told, without its password',
              overHttp.stderr,
              /THROUGH THE PROXY http:\/\/127\.0\.0\.1:\d+ \(http_proxy\)/,
            ),
            valueRow('no password on the terminal', /pa55word/.test(overHttp.stderr + overHttp.stdout), false),
            valueRow('the whole address is asked for', seen?.path, 'http://plain.test:5000/v1/chat/completions'),
            valueRow(
              'with the user',
              seen?.headers['proxy-authorization'],
              `Basic ${Buffer.from('user:pa55word').toString('base64')}`,
            ),
            went('https through a tunnel, certificate verified', overTls),
            went('loopback goes straight', loopback),
            failedStart('--proxy off goes straight', asked, /cannot connect to http:\/\/plain\.test:\d+: /),
            failedStart('no_proxy goes straight', excepted, /cannot connect to http:\/\/plain\.test:5000: /),
            valueRow('requests that the proxy saw of these three', straight, 0),
            valueRow(
              'loopback through a proxy that was asked for',
              [byOption.code, proxy.requests.length > before],
              [0, true],
            ),
          ];
        },
      );
    }),
  );
}

/** All of them. */
export const CONNECTION_RUNS: readonly FaultRun[] = [
  { title: 'a run that cannot begin', run: startRows },
  { title: 'ways to the server', run: wayRows },
  { title: 'proxies', run: proxyRows },
];
