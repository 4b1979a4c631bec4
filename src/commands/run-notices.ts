/** What is said on stderr before a run: the banner, and what the user should know before the clock starts. */
import type { RunOptions } from '../options/table.ts';
import { printable } from '../report/terminal.ts';
import { jobBound, type ServerFound } from '../transport/server.ts';
import { forcesLength, routeOf } from './run-target.ts';
import type { TakenSamples } from './take-samples.ts';
import { VERSION } from './version.ts';

const SERVER_NAMES = { tabbyapi: 'TabbyAPI', vllm: 'vLLM', openai: 'OpenAI-compatible server' } as const;

/** One line: version, server found, and which corrections are on. Scripts look for it by its beginning. */
export function bannerLine(options: RunOptions, server: ServerFound): string {
  const length = options.exactLength
    ? 'exact lengths'
    : forcesLength(options, server)
      ? 'length forcing (min_tokens)'
      : null;
  const corrections = [
    'usage from any frame',
    'reasoning and tool tokens',
    'CRLF-safe events',
    ...(server.kind === 'tabbyapi' ? ['complete answers only (finish and [DONE])'] : []),
    ...(length === null ? [] : [length]),
  ];
  const model = options.servedModelName ?? options.model ?? server.model;
  const parts = [
    `tabby-load: ${VERSION}`,
    `${SERVER_NAMES[server.kind]} at ${options.baseUrl}`,
    ...(model === null ? [] : [`model ${model}`]),
    `corrections: ${corrections.join(', ')}`,
    ...wayParts(options),
    ...(options.insecure && options.baseUrl.startsWith('https:') ? ['CERTIFICATE NOT VERIFIED (--insecure)'] : []),
  ];
  return printable(parts.join(' · '));
}

/** What lies between us and the server. */
function wayParts(options: RunOptions): readonly string[] {
  const { unixSocket, proxy } = routeOf(options);
  if (unixSocket !== null) return [`over the unix socket ${unixSocket}`];
  return proxy === null ? [] : [`THROUGH THE PROXY ${proxy.shown} (${proxy.source})`];
}

/** What was taken, and what will not go as the options might suggest. */
export function noticeLines(options: RunOptions, server: ServerFound, taken: TakenSamples): readonly string[] {
  const count = taken.samples.length;
  const promptTokens = taken.samples.reduce((sum, sample) => sum + sample.promptLen, 0);
  const outputTokens = taken.samples.reduce((sum, sample) => sum + sample.outputLen, 0);
  const lengths =
    count === 0
      ? ''
      : `, ${Math.round(promptTokens / count)} prompt and ${Math.round(outputTokens / count)} output tokens on average`;
  return [
    `${count} requests from ${taken.name} (tokenizer: ${taken.tokenizerId ?? 'none'}${lengths})`,
    ...taken.notes,
    ...modelLines(options, server),
    ...fewLines(options, count),
    ...boundLines(options, server, count === 0 ? 0 : promptTokens / count),
  ].map(printable);
}

/** TabbyAPI answers with what it has loaded, whatever model a request names, unless it loads models by name (inline loading). */
function modelLines({ model }: RunOptions, server: ServerFound): readonly string[] {
  if (server.kind !== 'tabbyapi' || model === null || server.model === null || model === server.model) return [];
  return [
    `warning: --model ${model}: the server has ${server.model} loaded and answers with it, unless inline_model_loading is on; the result will say ${model}`,
  ];
}

/** There are not enough requests to reach the asked concurrency. */
function fewLines(options: RunOptions, count: number): readonly string[] {
  if (options.maxConcurrency === null || count === 0 || count >= options.maxConcurrency) return [];
  return [
    `note: --concurrency ${options.maxConcurrency} cannot be reached with ${count} requests: all are sent at once`,
  ];
}

/** TabbyAPI's batch slots and cache pages may be fewer than the asked concurrency: then requests queue on the server. */
function boundLines(options: RunOptions, server: ServerFound, promptTokens: number): readonly string[] {
  const asked = options.maxConcurrency;
  const bound = server.kind === 'tabbyapi' ? jobBound(server.parameters, promptTokens) : null;
  if (bound === null || asked === null || bound.jobs >= asked) return [];
  const why =
    bound.by === 'max_batch_size'
      ? `max_batch_size is ${bound.maxBatchSize}`
      : `cache_size ${bound.cacheSize} holds ${Math.floor((bound.cacheSize ?? 0) / 256)} pages and such a prompt takes ${bound.pagesPerJob}`;
  return [
    `note: the server can run about ${bound.jobs} requests at once (${why}); with --concurrency ${asked} the others wait in its queue, and TTFT includes that wait`,
  ];
}
