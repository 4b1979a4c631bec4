/** Failures to get a connection, and how to say them. */
import { codeOf, messageOf } from '../errors.ts';

/** No connection within the time allowed. */
export class ConnectTimeout extends Error {
  override readonly name = 'ConnectTimeout';

  constructor(ms: number) {
    super(`no connection within ${ms / 1000} s`);
  }
}

/** One line about a failed connection: what was tried and the system's reason. */
export function connectWords(origin: string, error: unknown): string {
  // localhost tries several addresses; the first reason says enough.
  const inner = error instanceof AggregateError && error.errors.length > 0 ? (error.errors[0] as unknown) : error;
  const code = codeOf(inner) || codeOf(error);
  const message = messageOf(inner) || code;
  return `cannot connect to ${origin}: ${message.includes(code) ? message : `${code} ${message}`}`;
}
