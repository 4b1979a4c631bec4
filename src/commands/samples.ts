/**
 * `tabby-load samples`: takes the samples of a run and prints or writes their manifest. Nothing is sent to a completion endpoint; the
 * server is asked only when its own tokenizer counts.
 */
import { randomBytes } from 'node:crypto';
import type { DataSetRequest } from '../dataset/data-set.ts';
import type { DataSetOptions } from '../dataset/data-set-options.ts';
import { ignoresEos, isSelfTimed } from '../dataset/facts.ts';
import { type LoadedSamples, loadSamples } from '../dataset/load.ts';
import { openManifest, saveManifest, writeManifest } from '../dataset/manifest.ts';
import type { TokenCounter } from '../dataset/tokenizer.ts';
import { openTokenizer, recogniseTokenizer, type TokenizerSpec } from '../dataset/tokenizer-open.ts';
import { AppError, EXIT, type ExitCode, usageError } from '../errors.ts';
import type { RunOptions, SamplesOptions } from '../options/table.ts';
import { hideOnTerminal, printable, printErr, writeOut } from '../report/terminal.ts';
import type { ServerFound } from '../transport/server.ts';
import { meetServer } from './run-server.ts';
import { plainHeaders, poolWay, secretsOfRun } from './run-target.ts';

/** The options that decide which samples are taken: `run` has them too. */
export type SampleOptions = Pick<
  SamplesOptions,
  | keyof DataSetOptions
  | 'stream'
  | 'uniquePrompts'
  | 'datasetName'
  | 'datasetPath'
  | 'numPrompts'
  | 'seed'
  | 'disableShuffle'
  | 'noOversample'
  | 'requestIdPrefix'
  | 'server'
  | 'enableMultimodalChat'
  | 'skipChatTemplate'
  | 'sharegptOutputLen'
  | 'specBenchOutputLen'
  | 'specBenchCategory'
>;

/** The options that decide which tokenizer counts. */
export type TokenizerOptions = Pick<
  SamplesOptions,
  | 'tokenizer'
  | 'noTokenizerCache'
  | 'skipTokenizerInit'
  | 'model'
  | 'baseUrl'
  | 'apiKey'
  | 'header'
  | 'insecure'
  | 'proxy'
  | 'unixSocket'
>;

/** What to sample; `server` is null when it was not asked who it is: then the samples are those for TabbyAPI unless --server says otherwise. */
export function dataSetRequestOf(options: SampleOptions, server: Pick<ServerFound, 'kind'> | null): DataSetRequest {
  const kind = server?.kind ?? options.server;
  return {
    name: (options.datasetName as DataSetRequest['name'] | null) ?? 'auto',
    path: options.datasetPath,
    numPrompts: options.numPrompts,
    seed: options.seed,
    disableShuffle: options.disableShuffle,
    noOversample: options.noOversample,
    requestIdPrefix: options.requestIdPrefix,
    mode: kind === 'vllm' || kind === 'openai' ? 'stock' : 'shim',
    enableMultimodalChat: options.enableMultimodalChat,
    skipChatTemplate: options.skipChatTemplate,
    sharegptOutputLen: options.sharegptOutputLen,
    specBenchOutputLen: options.specBenchOutputLen,
    specBenchCategory: options.specBenchCategory,
    ...dataSetOptionsOf(options),
    ...(options.uniquePrompts ? { uniqueNonce: newNonce() } : {}),
  };
}

/** A nonce for `--unique-prompts`; all are equally long. */
export function newNonce(): string {
  return randomBytes(4).toString('hex');
}

/** The options of single data sets, and no others: what a data set is given may be printed. */
function dataSetOptionsOf(options: SampleOptions): DataSetOptions {
  return {
    backend: options.backend,
    chatTemplateKwargs: options.chatTemplateKwargs,
    customOutputLen: options.customOutputLen,
    randomInputLen: options.randomInputLen,
    randomOutputLen: options.randomOutputLen,
    randomRangeRatio: options.randomRangeRatio,
    randomPrefixLen: options.randomPrefixLen,
    randomBatchSize: options.randomBatchSize,
    sonnetInputLen: options.sonnetInputLen,
    sonnetOutputLen: options.sonnetOutputLen,
    sonnetPrefixLen: options.sonnetPrefixLen,
    prefixRepetitionPrefixLen: options.prefixRepetitionPrefixLen,
    prefixRepetitionSuffixLen: options.prefixRepetitionSuffixLen,
    prefixRepetitionNumPrefixes: options.prefixRepetitionNumPrefixes,
    prefixRepetitionOutputLen: options.prefixRepetitionOutputLen,
    speedBenchDatasetSubset: options.speedBenchDatasetSubset,
    speedBenchOutputLen: options.speedBenchOutputLen,
    speedBenchCategory: options.speedBenchCategory,
    timedTraceChunkHashSize: options.timedTraceChunkHashSize,
    timedTraceSecMultiplier: options.timedTraceSecMultiplier,
    timedTraceLabelTimestamp: options.timedTraceLabelTimestamp,
    timedTraceLabelInputLength: options.timedTraceLabelInputLength,
    timedTraceLabelOutputLength: options.timedTraceLabelOutputLength,
    timedTraceLabelHashIds: options.timedTraceLabelHashIds,
    // In our own form --no-stream is about answers, and the answers are then not streamed.
    noStream: options.noStream && options.stream,
    hfSubset: options.hfSubset,
    hfSplit: options.hfSplit,
    hfName: options.hfName,
    hfOutputLen: options.hfOutputLen,
    blazeditMinDistance: options.blazeditMinDistance,
    blazeditMaxDistance: options.blazeditMaxDistance,
  };
}

/** The options of a run once its data set is known: what vLLM sets by the data set's name, where `--dataset FILE` has named none. */
export function withDataSet(options: RunOptions, name: string): RunOptions {
  if (options.datasetName !== null) return options;
  return {
    ...options,
    ignoreEos: options.ignoreEos || ignoresEos(name, options.backend),
    selfTimed: options.selfTimed ?? (isSelfTimed(name) ? true : null),
  };
}

/** Can the tokenizer be told only when the server is known? */
export function needsServer(options: TokenizerOptions): boolean {
  return !options.skipTokenizerInit && (options.tokenizer === null || options.tokenizer === 'server');
}

/**
 * Which tokenizer counts: the one that was named; else TabbyAPI's own; else that of the model, as in vLLM. `server` may be null when
 * {@link needsServer} says so. Throws AppError when there is none.
 */
export async function tokenizerSpecOf(
  options: TokenizerOptions,
  server: Pick<ServerFound, 'kind' | 'model' | 'modelRoot'> | null,
): Promise<TokenizerSpec> {
  if (options.skipTokenizerInit) return { kind: 'none' };
  if (options.tokenizer !== null && options.tokenizer !== 'server') return recogniseTokenizer(options.tokenizer);
  if (options.tokenizer === 'server' || server?.kind === 'tabbyapi') {
    const url = new URL(options.baseUrl);
    const { headers, way } = poolWay(options);
    return {
      kind: 'server',
      origin: url.origin,
      basePath: url.pathname.replace(/\/+$/, ''),
      headers: { ...plainHeaders(options), ...headers },
      way,
      model: server?.model ?? options.model ?? 'server',
      insecure: options.insecure,
      noCache: options.noTokenizerCache,
    };
  }
  const model = options.model ?? server?.modelRoot ?? server?.model ?? null;
  if (model !== null) return recogniseTokenizer(model);
  throw usageError(
    'there is no tokenizer: the server is not TabbyAPI and names no model',
    'Give a folder with tokenizer.json or a hub name with --tokenizer.',
  );
}

/** Opens the tokenizer of {@link tokenizerSpecOf}; null for none. The caller closes it. Throws AppError with what can be done. */
export async function openTokenizerFor(
  options: TokenizerOptions,
  server: Pick<ServerFound, 'kind' | 'model' | 'modelRoot'> | null,
): Promise<TokenCounter | null> {
  try {
    return await openTokenizer(await tokenizerSpecOf(options, server));
  } catch (error) {
    // Nobody asked for this one: it is vLLM's default, the name of the model.
    if (options.tokenizer !== null || !(error instanceof AppError) || !error.message.startsWith('--tokenizer'))
      throw error;
    const model = options.model ?? server?.modelRoot ?? server?.model ?? '';
    throw usageError(
      `no tokenizer for the model ${model} (the default is the model's name): ${error.message.replace(/^--tokenizer: /, '')}`,
      'Give a folder that holds its tokenizer.json with --tokenizer DIR.',
      error,
    );
  }
}

/** Prints the manifest, or writes it to `--samples-out`. */
export async function samplesCommand(options: SamplesOptions): Promise<ExitCode> {
  hideOnTerminal(secretsOfRun(options));
  for (const line of options.warnings) say(`warning: ${line}`);
  const file = options.samplesOut === null ? null : await openManifest(options.samplesOut, '--samples-out');
  try {
    const { loaded, tokenizerId } = await take(options);
    for (const note of loaded.notes) say(`note: ${note}`);
    const { sha256, count } = await (file === null
      ? writeManifest(loaded.samples, writeOut)
      : saveManifest(file, loaded.samples));
    say(`${count} samples from ${loaded.name} (tokenizer: ${tokenizerId}); sha256 of the manifest: ${sha256}`);
    return EXIT.ok;
  } finally {
    await file?.close();
  }
}

async function take(options: SamplesOptions): Promise<{ loaded: LoadedSamples; tokenizerId: string }> {
  const server = needsServer(options) ? await meetServer(options) : null;
  const tokenizer = await openTokenizerFor(options, server);
  try {
    const loaded = await loadSamples(dataSetRequestOf(options, server), tokenizer);
    return { loaded, tokenizerId: tokenizer?.id ?? 'none' };
  } finally {
    await tokenizer?.close();
  }
}

function say(line: string): void {
  printErr(printable(`tabby-load: ${line}`));
}
