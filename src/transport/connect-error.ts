/** Failures of connections, and how to say them. */
import { codeOf, messageOf } from '../errors.ts';
import type { Target } from '../record/messages.ts';

/** No connection within the time allowed. */
export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';

  constructor(ms: number) {
    super(`no connection within ${ms / 1000} s`);
  }
}

/** A chunk of an answer does not end where its size said. */
export class BrokenChunk extends Error {
  override readonly name = 'BrokenChunk';
}

/** Where a connection was to lead, in words: the origin, and what lies on the way. */
export function wayWords(route: Pick<Target, 'origin' | 'unixSocket' | 'proxy'>): string {
  if (route.unixSocket !== null) return `${route.origin} over the unix socket ${route.unixSocket}`;
  return route.proxy === null
    ? route.origin
    : `${route.origin} through the proxy ${route.proxy.shown} (${route.proxy.source})`;
}

/** One line about a failed connection: what was tried and the system's reason. `way`: see {@link wayWords}. */
export function connectWords(way: string, error: unknown): string {
  // localhost tries several addresses; the first reason says enough.
  const inner = error instanceof AggregateError && error.errors.length > 0 ? (error.errors[0] as unknown) : error;
  const code = codeOf(inner) || codeOf(error);
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return `cannot connect to ${way}: no TLS is spoken there (http:// instead?)`;
  const message = messageOf(inner).trim() || code;
  return `cannot connect to ${way}: ${message.includes(code) ? message : `${code} ${message}`}`;
}
