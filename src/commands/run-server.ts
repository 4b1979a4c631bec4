/** The server of a run: who it is, whether it is ready. */
import type { RunOptions, SamplesOptions } from '../options/table.ts';
import { printable, printErr } from '../report/terminal.ts';
import { findServer, type ServerFound } from '../transport/server.ts';
import { plainHeaders, routeOf } from './run-target.ts';

/** How long `samples` waits for a server that it needs only as tokenizer, ms. */
const SHORT_WAIT_MS = 5000;

/** Finds out about the server, waiting as long as `--ready-timeout` allows. Throws AppError when it does not get ready. */
export function meetServer(options: RunOptions | SamplesOptions): Promise<ServerFound> {
  const readyMs = 'readyTimeoutMs' in options ? (options.readyTimeoutMs ?? Number.POSITIVE_INFINITY) : SHORT_WAIT_MS;
  return findServer({
    baseUrl: options.baseUrl,
    headers: plainHeaders(options),
    kind: options.server,
    hasModel: options.model !== null,
    asksKind: options.form !== 'bench',
    readyMs,
    route: routeOf(options),
    onWaiting: (reason) => printErr(`tabby-load: waiting for the server: ${printable(reason)}`),
  });
}
