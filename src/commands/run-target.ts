/** From options and the server found to the target of a run and the bodies of its requests. */
import type { SampleRequest } from '../dataset/sample.ts';
import { usageError } from '../errors.ts';
import { secretsOf } from '../options/redact.ts';
import type { RunOptions } from '../options/table.ts';
import { PyFloat, type PyJson } from '../python-json.ts';
import type { SharedWork, Target, Timeouts } from '../record/messages.ts';
import { type BodyOptions, backendOf, bodyBytes } from '../transport/backend.ts';
import { requestHeaders } from '../transport/headers.ts';
import { type ClientConnector, smallConnector } from '../transport/http-json.ts';
import { pathVia, proxyFor, proxyHeaders, type Route } from '../transport/route.ts';
import type { ServerFound } from '../transport/server.ts';
import { type PackedRequest, packWork } from '../transport/shared-work.ts';

/** Is the length of answers forced? On TabbyAPI by default, as the corrections of vLLM's client for it do. */
export function forcesLength(options: RunOptions, server: ServerFound): boolean {
  return options.forceLength ?? server.kind === 'tabbyapi';
}

/** Headers of small questions to the server: the key and the user's. */
export function plainHeaders(options: Pick<RunOptions, 'apiKey' | 'header'>): Record<string, string> {
  return Object.fromEntries(requestHeaders({ own: [], apiKey: options.apiKey, extra: options.header ?? {} }));
}

/** Model name for the payload. */
export function payloadModel(options: RunOptions, server: ServerFound): string {
  return options.servedModelName ?? options.model ?? server.model ?? '';
}

/** Where and how the requests of a run go. */
export function targetOf(options: RunOptions, server: ServerFound): Target {
  const backend = backendOf(options.backend);
  const address = `${options.baseUrl}${options.endpoint}`;
  if (!options.endpoint.startsWith('/') || !URL.canParse(address)) {
    throw usageError(
      `--endpoint ${options.endpoint.slice(0, 200)}: a path that begins with / is needed`,
      `Give --endpoint ${backend.form === 'chat' ? '/v1/chat/completions' : '/v1/completions'}.`,
    );
  }
  const url = new URL(address);
  if (!backend.urlSuffixes.some((suffix) => url.pathname.endsWith(suffix))) {
    throw usageError(
      `--endpoint ${options.endpoint}: the URL of --backend ${options.backend} must end with ${backend.urlSuffixes.join(' or ')}`,
      `Give --endpoint ${backend.form === 'chat' ? '/v1/chat/completions' : '/v1/completions'}.`,
    );
  }
  const route = routeOf(options);
  const headers = requestHeaders({ own: backend.headers, apiKey: options.apiKey, extra: options.header ?? {} });
  const addUnlessGiven = (name: string, value: string): void => {
    if (!headers.some(([known]) => known.toLowerCase() === name.toLowerCase())) headers.push([name, value]);
  };
  addUnlessGiven('Content-Type', 'application/json');
  addUnlessGiven('Accept', '*/*');
  // A compressed stream comes in late lumps.
  addUnlessGiven('Accept-Encoding', 'identity');
  headers.push(...proxyHeaders(route));
  return {
    ...route,
    path: pathVia(route, `${url.pathname}${url.search}`),
    headers: headers.flat(),
    form: backend.form,
    isWhole: !options.stream,
    needsFinishAndDone: server.kind === 'tabbyapi',
    choices: choicesOf(options.extraBody),
    maxEventBytes: options.maxEventSizeBytes,
    keepText:
      options.keepText || options.saveDetailed || overridesUsage(options)
        ? 'always'
        : server.kind === 'tabbyapi'
          ? 'never'
          : 'until-usage',
    retries: options.retries,
    secrets: secretsOfRun(options),
  };
}

/** The way to the server: options, and the proxy variables of the environment. */
export function routeOf(options: Pick<RunOptions, 'baseUrl' | 'insecure' | 'proxy' | 'unixSocket'>): Route {
  const url = new URL(options.baseUrl);
  return {
    origin: url.origin,
    unixSocket: options.unixSocket,
    isInsecure: options.insecure,
    proxy: options.unixSocket === null ? proxyFor(url, options.proxy, process.env) : null,
  };
}

/** To open a connection for small questions, ms. */
const ASK_CONNECT_MS = 10_000;

/** How undici's pools get to the server: a connector, what goes before the path, and headers for a proxy. */
export function poolWay(options: Parameters<typeof routeOf>[0]): {
  readonly way: { readonly connect: ClientConnector; readonly pathPrefix: string };
  readonly headers: Readonly<Record<string, string>>;
} {
  const route = routeOf(options);
  return {
    way: { connect: smallConnector(route, ASK_CONNECT_MS), pathPrefix: pathVia(route, '') },
    headers: Object.fromEntries(proxyHeaders(route)),
  };
}

/** Everything that must appear nowhere: the key, credentials in headers, and the proxy's. */
export function secretsOfRun(
  options: Pick<RunOptions, 'apiKey' | 'header' | 'baseUrl' | 'insecure' | 'proxy' | 'unixSocket'>,
): readonly string[] {
  const authorization = routeOf(options).proxy?.authorization ?? '';
  const [, coded = ''] = authorization.split(' ');
  const password = Buffer.from(coded, 'base64').toString().split(':').slice(1).join(':');
  const ofProxy = [coded, password].filter((secret) => secret.length >= 4);
  return [...secretsOf(options), ...ofProxy];
}

/** The user decides about usage himself: then it may be missing, and tokens have to be counted over the text. */
function overridesUsage(options: RunOptions): boolean {
  return options.extraBody !== null && 'stream_options' in (options.extraBody as object);
}

function choicesOf(extraBody: RunOptions['extraBody']): number {
  const n = (extraBody as Readonly<Record<string, unknown>> | null)?.['n'];
  return typeof n === 'number' && Number.isInteger(n) && n > 0 ? n : 1;
}

/** What all bodies of a run have in common. */
export function bodyOptionsOf(options: RunOptions, server: ServerFound): BodyOptions {
  return {
    model: payloadModel(options, server),
    stream: options.stream,
    askUsage: options.stream || server.kind === 'tabbyapi',
    ignoreEos: options.ignoreEos,
    logprobs: options.logprobs,
    extraBody: { ...samplingFields(options), ...((options.extraBody ?? {}) as Readonly<Record<string, PyJson>>) },
    forceLength: forcesLength(options, server),
    exactLength: options.exactLength,
    draftTokens: 0,
    omitNulls: server.kind === 'tabbyapi',
  };
}

/** Sampling options that were given, in vLLM's order; floats as Python floats. */
function samplingFields(options: RunOptions): Record<string, PyJson> {
  const fields: Record<string, PyJson> = {};
  const float = (name: string, value: number | null): void => {
    if (value !== null) fields[name] = new PyFloat(value);
  };
  float('top_p', options.topP);
  if (options.topK !== null) fields['top_k'] = options.topK;
  float('min_p', options.minP);
  float('temperature', options.temperature);
  float('frequency_penalty', options.frequencyPenalty);
  float('presence_penalty', options.presencePenalty);
  float('repetition_penalty', options.repetitionPenalty);
  return fields;
}

/** What differs from request to request beside the sample. */
export interface RequestPlan {
  /** Seconds after the start at which each request is due; empty = all at once. */
  readonly delaysS: ArrayLike<number>;
  /** Model (LoRA module) of each request; empty = the model of the run. */
  readonly models: readonly string[];
}

/** All at once, all to the same model. */
export const NO_PLAN: RequestPlan = { delaysS: [], models: [] };

/** The requests in shared memory. */
export function workOf(
  options: RunOptions,
  server: ServerFound,
  samples: readonly SampleRequest[],
  plan: RequestPlan,
): SharedWork {
  const backend = backendOf(options.backend);
  const bodyOptions = bodyOptionsOf(options, server);
  function* requests(): Generator<PackedRequest> {
    for (const [i, sample] of samples.entries()) {
      yield {
        body: bodyBytes(backend, sample, { ...bodyOptions, model: plan.models[i] ?? bodyOptions.model }),
        plannedMs: (plan.delaysS[i] ?? 0) * 1000,
        promptLen: sample.promptLen,
        outputLen: sample.outputLen,
        requestId: sample.requestId,
        category: sample.category,
      };
    }
  }
  return packWork(requests());
}

/** Time limits; null (off) becomes 0, the transport's word for none. */
export function timeoutsOf(options: RunOptions): Timeouts {
  return {
    connectMs: finite(options.connectTimeoutMs),
    firstTokenMs: finite(options.firstTokenTimeoutMs),
    tokenMs: finite(options.tokenTimeoutMs),
    requestMs: finite(options.requestTimeoutMs),
  };
}

function finite(ms: number | null): number {
  return ms === null || !Number.isFinite(ms) ? 0 : ms;
}
