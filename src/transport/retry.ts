/** `--retries`: which answers are worth another try, and after what time. */

/** Without `Retry-After`: this long before the first retry, twice as long before each further one, ms. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** What a server may ask for: timers cannot be set further ahead than 24 days. */
const MAX_ASKED_MS = 24 * 3600 * 1000;

/** The server says that it cannot take the request now: too many requests, or not available. */
export function mayBeRetried(status: number): boolean {
  return status === 429 || status === 503;
}

/**
 * Time to wait before a request is sent again, ms.
 * @param retryAfter value of `Retry-After`: seconds, or a date (RFC 9110 §10.2.3); '' when there is none
 * @param retriesBefore how often it was sent again already
 * @param wallMs the wall clock, ms since 1970
 */
export function retryWaitMs(retryAfter: string, retriesBefore: number, wallMs: number): number {
  const text = retryAfter.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(MAX_ASKED_MS, Number(text) * 1000);
  // Date.parse takes much more for a date than HTTP does.
  const date = /^[A-Za-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(date)) return Math.min(MAX_ASKED_MS, Math.max(0, date - wallMs));
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retriesBefore);
}
