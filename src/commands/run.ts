/**
 * `tabby-load [run]` and `tabby-load bench serve`: the whole way from options to the report. Each step is a function of its own in
 * the files beside this one; nothing that can be done before the clock starts is left for later.
 */
import { existsSync } from 'node:fs';
import { type CountTokens, RunAggregate } from '../aggregate/collect.ts';
import { initHistograms } from '../aggregate/histogram.ts';
import { openInput } from '../dataset/input-file.ts';
import { type Repeats, repeatedPrompts } from '../dataset/repeats.ts';
import { AppError, EXIT, type ExitCode, messageOf } from '../errors.ts';
import type { RunOptions } from '../options/table.ts';
import type { SharedWork } from '../record/messages.ts';
import { hideOnTerminal, printable, printErr } from '../report/terminal.ts';
import type { ArrivalPlan } from '../schedule/arrivals.ts';
import { drawLora } from '../schedule/lora.ts';
import type { ServerFound } from '../transport/server.ts';
import { GpuSampler } from './gpu-sampler.ts';
import { renewNonce } from './renew-nonce.ts';
import { arrivalsOf, rpsChangeEvents } from './run-arrivals.ts';
import { counterPairs, readCounters } from './run-counters.ts';
import { carryLoad, checkOpenFiles } from './run-load.ts';
import { bannerLine, noticeLines } from './run-notices.ts';
import { type Outputs, openOutputs } from './run-outputs.ts';
import { checkReady, Prober } from './run-ready.ts';
import { optionsOfRuns } from './run-repeats.ts';
import { type Ended, endReport, type ReportInput, type RunResult } from './run-report.ts';
import { meetServer } from './run-server.ts';
import { secretsOfRun, workOf } from './run-target.ts';
import { runWarmUps } from './run-warmup.ts';
import { newNonce, withDataSet } from './samples.ts';
import { SetupSignals } from './setup-signals.ts';
import { takeSamples } from './take-samples.ts';
import { collectGarbage } from './tidy-heap.ts';

/** Runs the load and reports it. Returns the exit code; throws AppError for what was foreseen to go wrong. */
export async function runCommand(options: RunOptions): Promise<ExitCode> {
  hideOnTerminal(secretsOfRun(options));
  await initHistograms();
  for (const line of options.warnings) printErr(`tabby-load: warning: ${line}`);
  // What was asked for can be judged before anything is read or sent, even where fewer requests than that will come.
  if (options.maxConcurrency !== null) checkOpenFiles(options, options.maxConcurrency);
  const path = options.datasetPath;
  // A name on the hub is no file; whatever else is missing is said before anyone waits for a server.
  if (path !== null && options.datasetName !== 'hf' && !existsSync(path)) await openInput(path);
  const all: Outputs[] = [];
  const runs = optionsOfRuns(options);
  const signals = new SetupSignals();
  try {
    // Every file of every run is tried before the first request.
    for (const each of runs) all.push(await openOutputs(each));
    return await Promise.race([runOn(runs, all, signals), signals.interrupted]);
  } finally {
    signals.close();
    for (const outputs of all) await outputs.abandon();
  }
}

/** `all`: the files of each run. */
async function runOn(runs: readonly RunOptions[], all: readonly Outputs[], signals: SetupSignals): Promise<ExitCode> {
  const [options, outputs] = [runs[0] as RunOptions, all[0] as Outputs];
  const server = await meetServer(options);
  printErr(bannerLine(options, server));
  checkKind(options, server);
  const prepared = await prepare(options, server, outputs);
  collectGarbage();
  try {
    const results: RunResult[] = [];
    let { nonce } = prepared;
    if (runs.length > 1 && nonce === null) {
      printErr(
        'tabby-load: note: all runs send the same prompts: a server with a prefix cache knows them from the second run on, unless --unique-prompts',
      );
    }
    let worst: ExitCode = EXIT.ok;
    for (const [k, each] of runs.entries()) {
      if (runs.length > 1) printErr(`tabby-load: run ${k + 1} of ${runs.length}`);
      if (k > 0 && nonce !== null) {
        const fresh = newNonce();
        renewNonce(prepared.work, nonce, fresh);
        nonce = fresh;
      }
      const own = { ...prepared, options: withDataSet(each, prepared.dataSet) };
      const earlier = k === runs.length - 1 ? results : [];
      const ended = await measure(
        own,
        server,
        all[k] as Outputs,
        { earlier, ...(runs.length > 1 ? { run: k + 1 } : {}) },
        () => signals.close(),
      );
      results.push(ended.result);
      if (worst === EXIT.ok) worst = ended.code;
      // An interrupt ends them all; a run that failed says nothing of the next.
      if (ended.code === EXIT.sigint || ended.code === EXIT.sigterm) return ended.code;
    }
    return worst;
  } finally {
    await prepared.close();
  }
}

/** Throws when `--require-server` asks for another kind of server. */
export function checkKind(options: Pick<RunOptions, 'requireServer' | 'baseUrl'>, server: ServerFound): void {
  if (options.requireServer === null || options.requireServer === server.kind) return;
  throw new AppError(
    EXIT.wrongServer,
    `${options.baseUrl} is ${server.kind}, not ${options.requireServer} (--require-server)`,
    'Check the address, or leave the requirement out.',
  );
}

/** What is left of the samples when the load begins: the texts themselves are not needed any more. */
interface Prepared {
  /** With the data set that was recognised. */
  readonly options: RunOptions;
  readonly dataSet: string;
  readonly work: SharedWork;
  readonly arrivals: ArrivalPlan;
  readonly samplesSha256: string;
  readonly repeatedPrompts: Repeats;
  readonly tokenizerId: string | null;
  /** Of the packed requests; null without `--unique-prompts`. */
  readonly nonce: string | null;
  readonly countTokens: CountTokens | undefined;
  close(): Promise<void>;
}

/** Everything that comes before the clock starts. */
async function prepare(given: RunOptions, server: ServerFound, outputs: Outputs): Promise<Prepared> {
  const taken = await takeSamples(given, server);
  try {
    const options = withDataSet(given, taken.name);
    const samplesSha256 = await outputs.saveSamples(taken.samples);
    if (!options.quiet) for (const line of noticeLines(options, server, taken)) printErr(`tabby-load: ${line}`);
    // As in vLLM: LoRA names are drawn first, then the arrivals.
    const models = drawLora(
      taken.pyRandom,
      options.loraModules ?? [],
      options.loraAssignment as 'random' | 'round-robin',
      taken.samples.length,
    );
    const arrivals = arrivalsOf(options, taken);
    const work = workOf(options, server, taken.samples, { delaysS: arrivals.delaysS, models });
    await checkReady(options, server, taken.samples);
    await runWarmUps(options, server, taken.samples);
    const { tokenizerId, nonce, countTokens, close } = taken;
    return {
      options,
      dataSet: taken.name,
      work,
      arrivals,
      samplesSha256,
      repeatedPrompts: repeatedPrompts(taken.samples),
      tokenizerId,
      nonce,
      countTokens,
      close,
    };
  } catch (error) {
    await taken.close();
    throw error;
  }
}

/** `begin` is called when the load takes over. */
async function measure(
  prepared: Prepared,
  server: ServerFound,
  outputs: Outputs,
  repeat: Pick<ReportInput, 'earlier' | 'run'>,
  begin: () => void,
): Promise<Ended> {
  const { options, arrivals, work, samplesSha256, tokenizerId, countTokens } = prepared;
  const aggregate = new RunAggregate({
    maxExactValues: options.maxExactValues,
    ...(options.goodput === null ? {} : { goodput: options.goodput }),
    keepDetail: options.saveDetailed,
    exactLength: options.exactLength,
  });
  const before = await readCounters(options, server);
  let prober: Prober | null = null;
  let sampler: GpuSampler | null = null;
  begin();
  const carried = await carryLoad({
    onStart() {
      sampler = GpuSampler.start(options);
      if (options.probeRequestRate > 0) prober = new Prober(options, server);
    },
    async endExtras(startedAt) {
      const gpus = sampler?.stop() ?? null;
      const probe = await prober?.stop();
      return {
        ...counterPairs(before, await readCounters(options, server)),
        ...(arrivals.rpsChanges.length > 0 ? { rps_change_events: rpsChangeEvents(arrivals, startedAt) } : {}),
        ...(probe === undefined ? {} : { probe }),
        ...(gpus === null ? {} : { gpus }),
        ...(await countedTokens(aggregate, countTokens)),
      };
    },
    label: repeat.run === undefined ? null : `run ${repeat.run} of ${options.numRuns}`,
    options,
    server,
    work,
    outputs,
    aggregate,
    samplesSha256,
    repeatedPrompts: prepared.repeatedPrompts,
    tokenizerId,
  });
  return endReport({ options, outputs, aggregate, carried, ...repeat });
}

/** What no server told, or told wrong, is counted before the records are closed, so that a report of them needs no tokenizer. */
export async function countedTokens(aggregate: RunAggregate, countTokens: CountTokens | undefined): Promise<object> {
  if (countTokens !== undefined && aggregate.uncounted > 0) {
    try {
      await aggregate.countNow(countTokens);
    } catch (error) {
      const why = printable(messageOf(error));
      printErr(
        `tabby-load: warning: the tokens of answers without usage could not be counted: ${why}; each counts as 1`,
      );
    }
  }
  return aggregate.countedOtherwise.i.length === 0 ? {} : { counted_tokens: aggregate.countedOtherwise };
}
