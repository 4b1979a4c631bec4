/**
 * The way to the server: straight, over a unix socket, or through an HTTP proxy. A proxy is never used for this machine's own
 * addresses unless it was asked for by `--proxy`: a load test of 127.0.0.1 that goes over a company proxy measures the proxy.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';
import { messageOf, usageError } from '../errors.ts';
import type { ProxyPlace, Target } from '../record/messages.ts';

/** What is needed to open a connection. */
export type Route = Pick<Target, 'origin' | 'unixSocket' | 'isInsecure' | 'proxy'>;

/** Environment variables, as far as they are read here. */
export type ProxyVariables = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an address, or null.
 * @param setting `--proxy`: an address, `off`, or null to go by the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`,
 *   in small or capital letters, as curl reads them)
 * @throws a usage error when the address of the proxy cannot be used
 */
export function proxyFor(url: URL, setting: string | null, env: ProxyVariables): ProxyPlace | null {
  if (setting === 'off') return null;
  if (setting !== null) return proxyPlace(setting, '--proxy');
  if (isLoopback(bareHost(url))) return null;
  const names = [`${url.protocol.slice(0, -1)}_proxy`, 'all_proxy'];
  for (const name of names.flatMap((one) => [one, one.toUpperCase()])) {
    const value = env[name]?.trim();
    if (value === undefined || value === '') continue;
    return isExcepted(url, env['no_proxy'] ?? env['NO_PROXY'] ?? '') ? null : proxyPlace(value, name);
  }
  return null;
}

/** Path of a request on the wire: a proxy for plain HTTP is told the whole address (RFC 9112 §3.2.2). */
export function pathVia(route: Pick<Route, 'origin' | 'proxy'>, path: string): string {
  return route.proxy !== null && route.origin.startsWith('http:') ? `${route.origin}${path}` : path;
}

/** Headers that the proxy gets with each plain HTTP request; for https they go with the request for a tunnel. */
export function proxyHeaders(route: Pick<Route, 'origin' | 'proxy'>): [string, string][] {
  const authorization = route.proxy?.authorization ?? null;
  return authorization !== null && route.origin.startsWith('http:') ? [['Proxy-Authorization', authorization]] : [];
}

/** Host name without the brackets of an IPv6 address. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Does the name or address stand for this machine? */
export function isLoopback(host: string): boolean {
  if (isIP(host) !== 0) return LOOPBACK.check(host, isIPv4(host) ? 'ipv4' : 'ipv6');
  return /(^|\.)localhost\.?$/i.test(host);
}

function proxyPlace(text: string, source: string): ProxyPlace {
  const whole = text.includes('://') ? text : `http://${text}`;
  let url: URL;
  try {
    url = new URL(whole);
  } catch (error) {
    throw usageError(
      `${source}: not the address of a proxy (${messageOf(error)})`,
      'Such as http://proxy:3128, or off.',
    );
  }
  if (url.protocol !== 'http:') {
    throw usageError(
      `${source}: only proxies that are spoken to by http are there, not ${url.protocol}//`,
      'Such as http://proxy:3128; --proxy off goes straight to the server.',
    );
  }
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const hasUser = user !== '' || password !== '';
  return {
    host: bareHost(url),
    port: Number(url.port || 80),
    authorization: hasUser ? `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` : null,
    shown: url.origin,
    source,
  };
}

/** `no_proxy`: names with everything below them, addresses, networks (10.0.0.0/8), each with a port or not; `*` is all. */
function isExcepted(url: URL, list: string): boolean {
  const host = bareHost(url).toLowerCase();
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return list
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => matches(entry.toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const withPort = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry);
  if (withPort !== null && withPort[2] !== port) return false;
  const name = (withPort?.[1] ?? entry).replace(/^\[|\]$/g, '').replace(/^\*?\./, '');
  const [network = '', bits] = name.split('/');
  if (bits !== undefined && isIP(network) !== 0 && isIP(host) === isIP(network)) return isWithin(host, network, bits);
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function isWithin(host: string, network: string, bits: string): boolean {
  const family = isIPv4(network) ? 'ipv4' : 'ipv6';
  const size = Number(bits);
  if (!/^\d+$/.test(bits) || size > (family === 'ipv4' ? 32 : 128)) return false;
  const subnet = new BlockList();
  subnet.addSubnet(network, size, family);
  return subnet.check(host, family);
}
