import { answerOf } from '../aggregate/sweep-answer.ts';
import { writeManifest } from '../dataset/manifest.ts';
import { withNonces } from '../dataset/unique-prompts.ts';
import { usageError } from '../errors.ts';
import type { SweepOptions } from '../options/table.ts';
import { nowMs } from '../record/clock.ts';
import { SWEEP_SCHEMA, type SweepDocument } from '../record/sweep.ts';
import { printErr } from '../report/terminal.ts';
import { concealed } from '../secrets.ts';
import type { ServerFound } from '../transport/server.ts';
import { formatDuration } from '../units.ts';
import { checkKind } from './run.ts';
import { bannerLine } from './run-notices.ts';
import { checkReady } from './run-ready.ts';
import { meetServer } from './run-server.ts';
import { secretsOfRun } from './run-target.ts';
import { runWarmUps } from './run-warmup.ts';
import { highestLevel, type Plan, requestsFor } from './sweep-asked.ts';
import { keptLevels, optionsOfSweep, saveSweep } from './sweep-folder.ts';
import { levelOptions } from './sweep-level.ts';
import { answered, next, type Sweep } from './sweep-state.ts';
import { estimateInput, estimateOf, estimateWords } from './sweep-time.ts';
import { type TakenSamples, takeSamples } from './take-samples.ts';
import { VERSION } from './version.ts';

/** Everything before the first level. */
export async function begin(
  options: SweepOptions,
  asked: Plan,
  {
    folder,
    startedAt,
    earlier,
    deadline,
  }: Pick<Sweep, 'folder' | 'deadline'> & {
    readonly startedAt: string;
    readonly earlier: SweepDocument | null;
  },
): Promise<Sweep> {
  const highest = highestLevel(asked);
  const run = levelOptions(options, { axis: asked.axis, level: highest, requests: requestsFor(asked, highest) });
  const server = await meetServer(run);
  printErr(bannerLine(run, server));
  checkKind(options, server);
  const taken = await takeSamples(run, server);
  try {
    await checkNonce(options, taken);
    const plan = fitting(asked, taken.samples.length);
    const { sha256 } = await writeManifest(taken.samples);
    const fresh: SweepDocument = {
      schema: SWEEP_SCHEMA,
      version: VERSION,
      started_at: earlier?.started_at ?? startedAt,
      axis: plan.axis,
      asked: plan.levels,
      samples_sha256: sha256,
      options: concealed(optionsOfSweep(options), secretsOfRun(options)) as Readonly<Record<string, unknown>>,
      server: { kind: server.kind, base_url: options.baseUrl, model: server.model, parameters: told(server) },
      levels: [],
      answer: answerOf({ axis: plan.axis, levels: [], jobs: null, hasLimits: false, goodputTarget: null }),
      complete: false,
    };
    const document = earlier === null ? fresh : { ...fresh, levels: keptLevels(earlier, fresh, folder) };
    const sweep: Sweep = { options, plan, server, taken, folder, deadline, document, requestMs: 0, hasTrouble: false };
    await saveSweep(folder, answered(sweep, false));
    for (const line of noticesOf(sweep)) printErr(`tabby-load: ${line}`);
    await checkReady(run, server, taken.samples);
    if (next(sweep) === null) return sweep;
    sweep.requestMs = await requestAlone(run, server, taken);
    tellEstimate(sweep);
    return sweep;
  } catch (error) {
    await taken.close();
    throw error;
  }
}

/** Prompts that take no nonce are refused before the first level, not at each. */
async function checkNonce({ nonce }: SweepOptions, { samples }: TakenSamples): Promise<void> {
  if (!nonce) return;
  try {
    await withNonces(samples.slice(0, 1), 'x', null);
  } catch (error) {
    throw usageError('the prompts are token ids, before which no nonce can be put', 'Add --no-nonce.', error);
  }
}

/** So many streams need as many samples. `auto` goes no higher than that; levels that were asked for are refused. */
function fitting(plan: Plan, samples: number): Plan {
  if (plan.axis !== 'concurrency' || highestLevel(plan) <= samples) return plan;
  if (plan.levels !== 'auto') {
    throw usageError(
      `--concurrency ${highestLevel(plan)}: the data set has ${samples} samples, too few for so many streams`,
      'Let it be oversampled (leave --no-oversample out), or give lower levels.',
    );
  }
  printErr(`tabby-load: warning: the data set has ${samples} samples: no more streams than that are tried`);
  return { ...plan, range: { ...plan.range, most: samples } };
}

function told({ parameters }: ServerFound): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'prompt_template_content'));
}

/** What the user should know before the first level. */
function noticesOf({ options, plan, taken, document }: Sweep): string[] {
  const fixed = plan.levels === 'auto' ? [] : plan.levels;
  const raised = fixed.filter(
    (level) => requestsFor({ ...plan, axis: 'request_rate' }, level) < requestsFor(plan, level),
  );
  const short = fixed.filter((level) => taken.samples.length < requestsFor(plan, level));
  const [done, wasDone] = [document.levels.length, document.levels.length === 1 ? 'level is' : 'levels are'];
  return [
    ...(options.resume === null
      ? []
      : [done === 0 ? 'resumed: no level is measured yet' : `resumed: ${done} ${wasDone} measured already`]),
    ...(options.nonce
      ? []
      : ['note: all levels send the same prompts (--no-nonce): a prefix cache knows them from the second level on']),
    ...(raised.length === 0
      ? []
      : [`note: at ${raised.join(', ')} there are as many requests as streams, as fewer would never fill the level`]),
    ...(short.length === 0
      ? []
      : [
          `warning: the data set has ${taken.samples.length} samples, too few for ${short.join(', ')}: these get no more`,
        ]),
  ];
}

/** One request on its own, scaled to the mean length of the samples, ms. */
async function requestAlone(
  run: ReturnType<typeof levelOptions>,
  server: ServerFound,
  { samples }: TakenSamples,
): Promise<number> {
  const before = nowMs();
  await runWarmUps({ ...run, numWarmups: 1 }, server, samples);
  const firstLength = samples[0]?.outputLen ?? 1;
  const meanLength = samples.reduce((sum, { outputLen }) => sum + (outputLen ?? 0), 0) / samples.length;
  return (nowMs() - before) * (firstLength ? Math.max(meanLength, 1) / firstLength : 1);
}

/** Before the first level: that one request tells what is left, as if the server served any number of streams like one, up to some level. */
function tellEstimate({ options, plan, document, requestMs }: Sweep): void {
  const { leastS, mostS } = estimateOf(estimateInput(plan, options, requestMs, document.levels));
  const bound =
    options.maxDurationMs === null ? '' : `; --max-duration ends it after ${formatDuration(options.maxDurationMs)}`;
  const unit = plan.axis === 'concurrency' ? 'streams' : 'requests/s';
  const names =
    plan.levels === 'auto'
      ? `up to ${plan.range.most}, fewer where throughput stops growing`
      : plan.levels.filter((level) => !document.levels.some((done) => done.level === level)).join(', ');
  printErr(`tabby-load: sweep of ${unit} ${names}: ${estimateWords({ leastS, mostS })}${bound}`);
}
