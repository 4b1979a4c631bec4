/**
 * Opens one connection along a {@link Route}: plain, TLS, over a unix socket, or through an HTTP proxy's tunnel (CONNECT, RFC 9110
 * §9.3.6). Time limits are the caller's.
 */
import { connect as connectTcp, isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { bareHost, isLoopback, type Route } from './route.ts';

/** What a tunnel may answer before its empty line. */
const MAX_TUNNEL_HEAD_BYTES = 16 * 1024;

/** Makes the plain socket for an http origin; the caller may put its own reader in. */
export type MakeSocket = (options: TcpNetConnectOpts) => Socket;

/** Called once, with the open socket or the reason why there is none. */
export type Dialled = (error: Error | null, socket: Socket | null) => void;

/** The proxy does not let us through. */
export class TunnelRefused extends Error {
  override readonly name = 'TunnelRefused';
}

/**
 * @param makeSocket for http origins; left out: an ordinary socket
 * @returns gives the attempt up; `done` is then called with the reason
 */
export function dial(route: Route, done: Dialled, makeSocket: MakeSocket = connectTcp): (reason: Error) => void {
  const url = new URL(route.origin);
  const isTls = url.protocol === 'https:';
  let isOver = false;
  let current: Socket;
  const finish = (error: Error | null): void => {
    if (isOver) return;
    isOver = true;
    if (error !== null) {
      // What it says later is of no interest any more, and must not end the process.
      current.on('error', () => undefined);
      current.destroy();
      done(error, null);
    } else done(null, current);
  };
  const step = (socket: Socket, ready: 'connect' | 'secureConnect', next: () => void): void => {
    current = socket;
    socket.once('error', finish);
    socket.once(ready, () => {
      socket.off('error', finish);
      if (!isOver) next();
    });
  };
  const secure = (under: Socket | null): void => {
    const host = bareHost(url);
    const options = {
      // An address is no server name (RFC 6066 §3); the certificate is checked against it all the same.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: !route.isInsecure,
      ALPNProtocols: ['http/1.1'],
    };
    const socket = connectTls(
      under === null ? { ...placeOf(route, url), ...options } : { socket: under, host, ...options },
    );
    step(socket, 'secureConnect', () => finish(null));
    socket.setNoDelay(true);
  };
  if (isTls && route.proxy !== null) {
    const under = connectTcp({ ...hostPlace(route.proxy.host, route.proxy.port), noDelay: true });
    step(under, 'connect', () =>
      openTunnel(under, route, url, (error) => (error === null ? secure(under) : finish(error))),
    );
  } else if (isTls) secure(null);
  else step(makeSocket({ ...placeOf(route, url), noDelay: true } as TcpNetConnectOpts), 'connect', () => finish(null));
  return finish;
}

/** Where the first socket goes. */
function placeOf(route: Route, url: URL): HostPlace | { path: string } {
  if (route.unixSocket !== null) return { path: route.unixSocket };
  if (route.proxy !== null) return hostPlace(route.proxy.host, route.proxy.port);
  return hostPlace(bareHost(url), Number(url.port || (url.protocol === 'https:' ? 443 : 80)));
}

interface HostPlace {
  readonly host: string;
  readonly port: number;
  readonly lookup?: LookupFunction;
}

/** `localhost` is both loopback addresses whatever the resolver says (RFC 6761 §6.3): many know only one, and servers listen on either. */
function hostPlace(host: string, port: number): HostPlace {
  return isIP(host) === 0 && isLoopback(host) ? { host, port, lookup: lookupLoopback } : { host, port };
}

const LOOPBACKS = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

const lookupLoopback: LookupFunction = (_host, { all }, callback) => {
  if (all === true) callback(null, LOOPBACKS);
  else callback(null, '127.0.0.1', 4);
};

/** Asks the proxy for a tunnel and reads its answer. */
function openTunnel(socket: Socket, route: Route, url: URL, done: (error: Error | null) => void): void {
  const authority = `${url.hostname}:${url.port || 443}`;
  const authorization = route.proxy?.authorization ?? null;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (authorization !== null) lines.push(`Proxy-Authorization: ${authorization}`);
  let head = '';
  const end = (error: Error | null): void => {
    socket.off('data', onData).off('error', end).off('close', onClose);
    socket.pause();
    done(error);
  };
  const onClose = (): void => end(new TunnelRefused('the proxy closed the connection'));
  const onData = (bytes: Buffer): void => {
    head += bytes.toString('latin1');
    if (!head.includes('\r\n\r\n') && head.length < MAX_TUNNEL_HEAD_BYTES) return;
    const [status = ''] = head.split('\r\n', 1);
    end(
      /^HTTP\/1\.[01] 2\d\d( |$)/.test(status) ? null : new TunnelRefused(`the proxy answered ${status.slice(0, 200)}`),
    );
  };
  socket.on('data', onData).on('error', end).on('close', onClose);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}
