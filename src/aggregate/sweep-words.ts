/** The answer of a sweep in sentences. */
import type { SweepAnswer, SweepAxis, SweepBound, SweepBracket, SweepLevel } from '../record/sweep.ts';

/** In a closed loop fewer in flight on average than this share of the level are told. */
const FULL = 0.8;

const BOUNDS: Readonly<Record<SweepBound, string>> = {
  batch_slots: 'batch slots bound it',
  cache_pages: 'cache pages bound it',
  server_queue: "the server's queue bounds it",
  compute: "the server's computing bounds it",
  client: 'the client bounds it',
  unknown: 'what bounds it is not known',
};

/**
 * The sentences.
 * @param levels those that are no longer partial
 * @param target share of good requests asked for; null = none
 */
export function wordsOf(
  axis: SweepAxis,
  target: number | null,
  levels: readonly SweepLevel[],
  answer: Omit<SweepAnswer, 'words'>,
): string[] {
  const words = kneeWords(axis, levels, answer);
  if (answer.limits !== null) words.push(edgeWords(axis, answer.limits, 'every limit'));
  if (answer.goodput !== null && target !== null) words.push(...goodputWords(axis, answer, levels, target));
  const thin = thinLevels(axis, levels);
  if (thin.length > 0) {
    const said = thin.map(({ level, in_flight_mean: mean }) => `${shown(mean ?? 0)} of ${level}`).join(', ');
    words.push(
      `Fewer streams than asked for were in flight on average (${said}): more --requests-per-level fill them.`,
    );
  }
  const limited = levels.filter(({ client_was_limit: was }) => was === true).map(({ level }) => level);
  if (limited.length > 0) words.push(`The client was the limit at ${limited.join(', ')} ${unitOf(axis, 2)}.`);
  const missing = answer.missing ?? [];
  if (missing.length > 0) {
    words.push(
      `Not measured: ${missing.join(', ')} ${unitOf(axis, missing.at(-1) ?? 2)}, so this is not the last word.`,
    );
  }
  return words;
}

function kneeWords(axis: SweepAxis, levels: readonly SweepLevel[], answer: Omit<SweepAnswer, 'words'>): string[] {
  const { knee, knee_throughput: rate, bound } = answer;
  if (knee === null) return [levels.length === 0 ? 'No level was measured to its end.' : 'No level succeeded.'];
  const at = `${knee} ${unitOf(axis, knee)}`;
  const isOne = levels.filter(({ status }) => status === 'done').length === 1;
  if (isOne) {
    return [`One level does not show where throughput saturates; at ${at} it is ${shown(rate ?? 0)} tokens/s.`];
  }
  if (!answer.is_saturated) return [`Not saturated: throughput still grows at ${at} (${shown(rate ?? 0)} tokens/s).`];
  return [
    `Saturates at ${at} with ${shown(rate ?? 0)} tokens/s.`,
    ...(bound === null ? [] : [`There, ${BOUNDS[bound]}: ${answer.bound_why}.`]),
  ];
}

/** Levels that the requests did not fill, unless the steady-state window stands for them. */
function thinLevels(axis: SweepAxis, levels: readonly SweepLevel[]): readonly SweepLevel[] {
  if (axis !== 'concurrency') return [];
  return levels.filter(
    ({ level, status, throughput_from: from, in_flight_mean: mean }) =>
      status === 'done' && from === 'whole_run' && mean != null && mean < FULL * level,
  );
}

function edgeWords(axis: SweepAxis, { highest_kept: kept, lowest_missed: missed }: SweepBracket, what: string): string {
  if (kept === null) return `No level keeps ${what}.`;
  const next = missed === null ? 'all levels do' : `${missed} does not`;
  return `${kept} ${unitOf(axis, kept)} is the highest level that keeps ${what} (${next}).`;
}

function goodputWords(
  axis: SweepAxis,
  { goodput, goodput_interval: interval }: Omit<SweepAnswer, 'words'>,
  levels: readonly SweepLevel[],
  target: number,
): string[] {
  if (goodput === null) return [];
  const words = [edgeWords(axis, goodput, `a goodput of ${percent(target)}`)];
  const at = levels.find(({ level }) => level === goodput.highest_kept)?.goodput;
  if (at) {
    words.push(
      `There ${percent(at.share)} of ${at.requests} requests were good, 95 % interval ${percent(at.low)} to ${percent(at.high)}.`,
    );
  }
  if (interval == null) return words;
  const { from, to } = interval;
  const unit = unitOf(axis, 2);
  words.push(
    from === null && to === null
      ? 'With 95 % confidence the requests of no level are enough to say more: give more --requests-per-level.'
      : from === null
        ? `With 95 % confidence it lies below ${to} ${unit}; more --requests-per-level bound it from below.`
        : `With 95 % confidence it lies ${to === null ? `at ${from} ${unit} or above` : `between ${from} and ${to} ${unit}`}.`,
  );
  return words;
}

function unitOf(axis: SweepAxis, level: number): string {
  return axis === 'request_rate' ? 'requests/s' : level === 1 ? 'stream' : 'streams';
}

/** A number with four digits that count; from a thousand on with one behind the point, as in the table. */
export function shown(value: number): string {
  return `${Number(value >= 1000 ? value.toFixed(1) : value.toPrecision(4))}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}
