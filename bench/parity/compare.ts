/** What two clients asked and reported, compared. Each function returns the differences, one line each. */
import type { Recorded } from './recorder.ts';

/** Headers that are the clients' own affair. */
const OWN_HEADERS = new Set(['user-agent', 'accept-encoding', 'host', 'connection', 'content-length', 'accept']);
/** Figures that depend on the clock, what names the run, and texts, which the built-in server draws anew for each request. */
const MEASURED =
  /^(date|duration|request_throughput|request_goodput|output_throughput|total_token_throughput|max_|(mean|median|std|p\d+(\.\d+)?)_|ttfts$|itls$|start_times$|queue_times$|generated_texts$|client_|e2el|latencies|rps_change_events)/;

/** The requests: the same ones, and where `isOrdered` in the same order. */
export function compareRequests(ours: readonly Recorded[], theirs: readonly Recorded[], isOrdered: boolean): string[] {
  const lines: string[] = [];
  // Asked once more than vLLM does, to find out which server it is (README: `--server auto`).
  const own = ours.filter(({ method, path }) => !(method === 'GET' && path === '/v1/model'));
  if (own.length !== theirs.length) lines.push(`${own.length} requests instead of ${theirs.length}`);
  // Questions before the run are asked several at a time, in any order.
  const inOrder = (all: readonly Recorded[]): string[] => {
    const [prompts, questions] = [true, false].map((isPrompt) =>
      all.filter((one) => isCompletion(one) === isPrompt).map(keyOf),
    );
    return [...(questions ?? []).sort(), ...(isOrdered ? (prompts ?? []) : (prompts ?? []).sort())];
  };
  const [mine, yours] = [inOrder(own), inOrder(theirs)];
  const at = yours.findIndex((key, k) => mine[k] !== key);
  if (at >= 0) lines.push(`request ${at}: ${excerpt(mine[at] ?? '(none)', yours[at] ?? '')}`);
  return lines;
}

/** Where two texts part, with what stands there. */
function excerpt(mine: string, yours: string): string {
  let at = 0;
  while (at < mine.length && mine[at] === yours[at]) at++;
  const part = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 40), at + 60));
  return `${part(mine)} instead of ${part(yours)}`;
}

/** A request without what is the client's own; ids of requests keep only their number. */
function keyOf({ method, path, headers, body }: Recorded): string {
  const kept = Object.entries(headers)
    .filter(([name]) => !OWN_HEADERS.has(name))
    .map(
      ([name, value]) =>
        `${name}: ${name === 'x-request-id' ? String(value).replace(/^bench-[0-9a-f]+-/, 'bench-*-') : String(value)}`,
    )
    .sort();
  return [`${method} ${path}`, ...kept, body].join('\n');
}

/** Result files: the same keys in the same order, and the same values where the clock has no part in them. */
export function compareResults(
  ours: Readonly<Record<string, unknown>>,
  theirs: Readonly<Record<string, unknown>>,
): string[] {
  const keys = Object.keys(ours).filter((key) => key !== 'tabby_load');
  const lines: string[] = [];
  if (keys.join() !== Object.keys(theirs).join())
    lines.push(`keys: ${excerpt(keys.join(), Object.keys(theirs).join())}`);
  for (const [key, value] of Object.entries(theirs)) {
    if (MEASURED.test(key)) continue;
    const [mine, yours] = [JSON.stringify(ours[key]) ?? '(none)', JSON.stringify(value)];
    if (mine !== yours) lines.push(`${key}: ${excerpt(mine, yours)}`);
  }
  return lines;
}

/**
 * Planned times as they show in arrivals, ms: both clients draw the same gaps, so two runs differ by the noise of the machine alone.
 * @returns the largest difference of an arrival, both runs counted from their first
 */
export function arrivalDifferenceMs(ours: readonly Recorded[], theirs: readonly Recorded[]): number {
  const rel = (all: readonly Recorded[]): number[] => {
    const prompts = all.filter(isCompletion);
    return prompts.map(({ atMs }) => atMs - (prompts[0]?.atMs ?? 0));
  };
  const [mine, yours] = [rel(ours), rel(theirs)];
  return Math.max(0, ...mine.map((ms, k) => Math.abs(ms - (yours[k] ?? ms))));
}

function isCompletion({ path }: Recorded): boolean {
  return path.endsWith('/completions');
}
