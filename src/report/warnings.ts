/** The closed list of warnings and remarks: what each says, in one place. Everywhere else they are data. */
import type { ClientVerdict } from '../aggregate/quality.ts';
import { messageOf } from '../errors.ts';

/** A warning as data. */
export interface Warning {
  readonly code: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

type Facts = Readonly<Record<string, unknown>>;

const COUNTED_BY: Readonly<Record<string, string>> = {
  logprobs: 'by their logprobs',
  text: 'from the text',
  limit: 'by the limit that they ended at',
  frames: 'at least one per frame',
};

const SENTENCES: Readonly<Record<string, (facts: Facts) => string>> = {
  all_failed: (f) =>
    `all ${count(f['failed'], 'request')} failed: check the server, the endpoint and the options${f['first'] ? `; the first said: ${f['first']}` : ''}`,
  interrupted: (f) =>
    `the run was interrupted${f['by'] ? ` (${f['by']})` : ''}: the figures are of the ${count(f['recorded'], 'request')} that ended`,
  answers_in_one_piece: () =>
    'every answer came in one piece (--no-stream, or a server that does not stream): TTFT is the end-to-end latency, and TPOT and ITL were not measured, so that no goodput limit on TPOT means anything',
  longest_left_out: (f) =>
    `${count(f['aborted'], 'request')} of ${whole(f['of'])} not ended when the drain time was over, and given up: those take longest, so that latencies (end to end above all) and tokens are too low; --drain-timeout off waits for them, and a fixed --num-prompts without --duration has none`,
  unknown_percentile_metric: (f) =>
    `--percentile-metrics: ${JSON.stringify(f['name'])} is no metric and is left out, as in vLLM${f['meant'] ? `; did you mean ${JSON.stringify(f['meant'])}?` : ''}`,
  metric_needs_tokenizer: (f) => `${f['metric']} is left out, as in vLLM: --skip-tokenizer-init leaves no token counts`,
  metric_needs_concurrency: (f) => `${f['metric']} is left out, as in vLLM: it needs --max-concurrency`,
  metric_needs_rate: (f) => `${f['metric']} is left out, as in vLLM: it needs a finite --request-rate`,
  tokens_assumed_one: (f) =>
    `the server told no token count for ${count(f['requests'], 'request')} and there is no tokenizer: each counts as 1 token, as in vLLM; token rates are too low (give --tokenizer)`,
  tokens_counted: (f) =>
    `the server told no token count for ${count(f['requests'], 'request')}: counted by the tokenizer over the text, which leaves out hidden tokens`,
  tokens_by_logprobs: (f) =>
    `the server told no token count for ${count(f['requests'], 'request')}: counted by the logprobs of the answers, which are exact`,
  tokens_by_frames: (f) =>
    `the server told no token count for ${count(f['requests'], 'request')}, and the text was not kept: counted as one token per frame, so that token rates may be too low (--keep-text)`,
  usage_corrected: (f) => {
    const by = f['by'] as Readonly<Record<string, number>>;
    const all = Object.values(by).reduce((sum, requests) => sum + requests, 0);
    const ways = Object.entries(by).map(([way, requests]) => `${COUNTED_BY[way] ?? way}: ${whole(requests)}`);
    const rough = 'limit' in by || 'frames' in by;
    return `usage is wrong for ${count(all, 'request')}: TabbyAPI takes a long output as a new prompt each time it grows beyond its chunk size. The client's prompt lengths stand in its place, and output tokens counted by other means (${ways.join('; ')})${rough ? '; --extra-body \'{"logprobs": true}\' or --keep-text makes them exact' : ''}`;
  },
  usage_suspect: (f) =>
    `usage is not believable for ${count(f['requests'], 'request')}: prompt tokens far above the known prompt, as TabbyAPI tells for outputs beyond its chunk size (2,048 tokens), whose output tokens are then too few. Nothing here tells more: --extra-body '{"logprobs": true}' or --keep-text does`,
  frames_share_reads: (f) =>
    `${percent(f['share'])} of the token frames arrived together with another one: gaps between them are 0 here. ${f['client_late'] === false ? 'The server, or a proxy before it, sends several at once' : f['client_late'] === true ? 'A late client (see below), a buffering proxy, or a server that sends several at once' : 'A buffering proxy, merged frames, or a late client'}`,
  percentiles_from_histograms: (f) =>
    `percentiles of ${list(f['metrics'])} come from histograms (3 digits): there were more values than --max-exact-values`,
  detail_left_out: () => 'per-request arrays are left out: there were more values than --max-exact-values',
  record_damage: (f) =>
    `${f['file']}: ${f['damage']}${Number(f['skipped']) > 0 ? ` (${count(f['skipped'], 'frame')} passed over)` : ''}`,
  record_no_end: (f) =>
    `${f['file']} has no end frame (the run was killed)${typeof f['missing'] === 'number' ? `: ${whole(f['missing'])} of ${count(f['planned'], 'request')} are missing` : ''}; its duration is taken from the first send to the last answer`,
  record_no_header: (f) => `${f['file']} has no header: options are taken from the command line and defaults`,
  records_repeat: (f) =>
    `${count(f['repeated'], 'index', 'indices')} ${f['repeated'] === 1 ? 'occurs' : 'occur'} more than once: the files are taken as repeats, their durations add up`,
  indices_repeat: (f) =>
    `${count(f['repeated'], 'index', 'indices')} ${f['repeated'] === 1 ? 'occurs' : 'occur'} more than once in one run: each line counts as a request of its own`,
  records_differ: (f) =>
    `${f['file']} was made with another ${list(f['what'])} than ${f['first']}: figures of both are mixed`,
  no_requests: () => 'no request was recorded',
  insecure: () => 'the certificate of the server was not verified (--insecure): anyone on the way could have answered',
  server_away: (f) =>
    `the server was away ${f['times'] === 1 ? 'once' : `${f['times']} times`}, for ${Number(f['lasted_s']).toFixed(1)} s in all, and ${count(f['failed'], 'request')} failed with it: rates over the whole run include that time (--reconnect-wait)`,
  length_tabby: (f) =>
    `TabbyAPI makes one token fewer than max_tokens asks for${Number(f['missing']) > 1 ? `, and here ${Number(f['missing']) - 1} more for the draft model` : ''}: ${count(f['requests'], 'request')} of ${whole(f['of'])} ended at the limit with ${f['missing']} missing (--exact-length asks for what gives the full length)`,
  length_cut: (f) =>
    `${count(f['requests'], 'request')} of ${whole(f['of'])} ended at the limit with ${f['missing']} fewer than asked for`,
  length_own_end: (f) =>
    `${count(f['requests'], 'request')} of ${whole(f['of'])} ended by themselves before the length asked for${f['forced'] ? ' in spite of length forcing (stop string, loop detection, or a server that does not know min_tokens)' : ' (--force-length keeps the model going)'}`,
  length_long: (f) => `${count(f['requests'], 'request')} of ${whole(f['of'])} made more tokens than asked for`,
  plan_not_kept: (f) =>
    `not able to keep up with the requested rate: ${percent(Number(f['late']) / Number(f['requests']))} of the requests (${whole(f['late'])} of ${whole(f['requests'])}) were sent late, by ${ms(f['mean_ms'])} on average and ${ms(f['max_ms'])} at most (p99 ${ms(f['p99_ms'])})${rates(f)}; ${lateCause(f)}`,
  steady_state_short: (f) =>
    `the steady-state window is ${seconds(f['duration_s'])} long (${percent(f['share_of_run'])} of the run), shorter than ${seconds(f['min_window_s'])}: what it says of the server may be chance; send more prompts (--num-prompts), or set --steady-state-min-window`,
  steady_state_none: (f) =>
    `there is no steady state: at most ${whole(f['peak'])} of the ${whole(f['concurrency'])} requests asked for were in flight, ${whole(f['level'])} are needed (--steady-state-threshold)${Number(f['requests']) < Number(f['concurrency']) ? '; the run has fewer requests than --max-concurrency' : ''}`,
  prompts_repeat: (f) =>
    `${count(f['repeated'], 'prompt')}${typeof f['of'] === 'number' ? ` of ${whole(f['of'])}` : ''} had been sent before in the same run: a server with a prefix cache answers them from it, and their figures are then those of cached prompts; --unique-prompts makes each one different, --no-oversample sends each row once`,
  prompts_cached: (f) =>
    `${percent(f['share'])} of the prompt tokens came from the server's prefix cache: TTFT is that of cached prompts${f['unique'] ? '' : ', unless that is what is to be measured; --unique-prompts keeps the cache out'}`,
  client_loop_blocked: (f) =>
    `${tooHigh(f)}: ${loopOf(f)} was blocked up to ${ms(f['max_ms'])}${typeof f['at_s'] === 'number' ? `, ${f['at_s'].toFixed(1)} s into the run` : ''}${Number(f['blocks']) > 1 ? ` (${whole(f['blocks'])} times for 50 ms or more)` : ''}; ${advice(f)}`,
  client_loop_late: (f) =>
    `${tooHigh(f)}: ${loopOf(f)} was ${ms(f['p99_ms'])} late for 1 % of the time, and blocked up to ${ms(f['max_ms'])}; ${advice(f)}`,
  client_busy: (f) =>
    `${loopOf(f)} was busy ${percent(f['utilisation'])} of the time: latencies hold its own waiting, and throughput may be the client's limit, not the server's; ${advice(f)}`,
  client_sends_late: (f) =>
    `requests were sent up to ${ms(f['max_ms'])} after they were due (p99 ${ms(f['p99_ms'])}): the load was not as planned, and latencies since the arrival hold the delay; ${advice(f)}`,
  client_connects_late: (f) =>
    `requests were sent up to ${ms(f['max_ms'])} after they were due, as ${count(f['connections'], 'connection')} had to be opened in the run (${ms(f['connect_mean_ms'])} each, not part of TTFT): --concurrency N has them opened before`,
  client_in_flight_low: (f) =>
    `at most ${whole(f['seen'])} of the ${whole(f['asked'])} requests asked for were in flight: answers ended faster than new requests were sent; ${advice(f)}`,
  client_worker_lost: (f) =>
    `${count(Array.isArray(f['workers']) ? f['workers'].length : 1, 'worker thread')} died, and requests in flight with it: ${list(f['workers'])}`,
};

/** The reasons of the verdict on the client, each as short as it can be said. */
const REASONS: Readonly<Record<string, (facts: Facts) => string>> = {
  client_loop_blocked: (f) => `${loopOf(f)} was blocked up to ${ms(f['max_ms'])}`,
  client_loop_late: (f) => `${loopOf(f)} was ${ms(f['p99_ms'])} late (p99)`,
  client_busy: (f) => `${loopOf(f)} was busy ${percent(f['utilisation'])} of the time`,
  client_sends_late: (f) => `requests were sent up to ${ms(f['max_ms'])} late`,
  client_in_flight_low: (f) => `at most ${whole(f['seen'])} of ${whole(f['asked'])} requests in flight`,
  client_worker_lost: () => 'a worker thread died',
};

/** A finding about the client, as short as it can be said. */
export function reasonText({ code, facts }: Warning): string {
  return (REASONS[code] ?? (() => code))(facts);
}

/** The verdict on the client, one line. */
export function verdictLine(verdict: ClientVerdict): string {
  if (verdict.wasLimit) {
    const reasons = verdict.reasons.map(reasonText);
    return `client: WAS the limit: ${reasons.join('; ')}`;
  }
  const { loopDelayP99Ms, loopDelayMaxMs, utilisation, workers } = verdict.figures;
  const delay = `loop delay p99 ${ms(loopDelayP99Ms)}, max ${ms(loopDelayMaxMs)}`;
  return `client: was not the limit (${delay}; ${percent(utilisation)} busy; ${count(workers, 'worker')})`;
}

/** The words of a warning. A code that this version does not know says its own `message`, or itself. */
export function warningText({ code, facts }: Warning): string {
  const sentence = SENTENCES[code];
  if (sentence === undefined)
    return typeof facts['message'] === 'string' ? facts['message'] : code.replaceAll('_', ' ');
  try {
    return sentence(facts);
  } catch (error) {
    return `${code}: ${messageOf(error)}`;
  }
}

/** Codes with words of their own. */
export const WARNING_CODES: readonly string[] = Object.keys(SENTENCES);

function count(value: unknown, one: string, many = `${one}s`): string {
  return value === 1 ? `1 ${one}` : `${Number(value).toLocaleString('en-US')} ${many}`;
}

function whole(value: unknown): string {
  return Number(value).toLocaleString('en-US');
}

/** Which figures a late loop has made too high, and by how much. */
function tooHigh(f: Facts): string {
  const metrics = Object.entries((f['too_high_ms'] ?? {}) as Facts);
  if (metrics.length === 0) return `single latencies may be ${ms(f['max_ms'])} too high`;
  return metrics.map(([key, by]) => `${key.toUpperCase()} p99 may be ${ms(by)} too high`).join(', ');
}

/** Whose loop it was; the only worker needs no number. */
function loopOf(f: Facts): string {
  return Number(f['workers']) > 1 ? `worker ${whole(f['worker'])}'s loop` : "the worker's loop";
}

/** What to do about a client that is late. */
function advice(f: Facts): string {
  const why =
    Number(f['gc_max_ms']) >= 0.5 * Number(f['max_ms']) ? `garbage collection took up to ${ms(f['gc_max_ms'])}; ` : '';
  if (typeof f['cpu_share'] === 'number') {
    return `${why}it got only ${percent(f['cpu_share'])} of the CPU time it wanted: something else is using the cores`;
  }
  if (f['not_run'] === true) return `${why}the system did not run it: something else was using the cores`;
  if (typeof f['use_workers'] === 'number') return `${why}use --workers ${f['use_workers']}`;
  return `${why}there is no core for another worker: lower the load, or give the client a machine of its own`;
}

/** As many were due per second, as many were sent. */
function rates(f: Facts): string {
  if (typeof f['due_rate'] !== 'number' || typeof f['sent_rate'] !== 'number') return '';
  return `; ${f['due_rate'].toFixed(2)} requests/s were due, ${f['sent_rate'].toFixed(2)} were sent`;
}

/** Why requests were late, and what to do. */
function lateCause(f: Facts): string {
  const places = `the places of --max-concurrency ${f['max_concurrency']}`;
  const held = 'latencies since they were due hold the wait, those since sending do not';
  if (f['cause'] === 'places')
    return `they waited for ${places}, which the server was too slow to free: this was a closed loop in all but name, and ${held}`;
  if (f['cause'] === 'both')
    return `${percent(f['waited_share'])} of that was waiting for ${places}, the rest the client itself; ${held}`;
  if (f['cause'] === 'client') return `the client itself was late (${held}): lower the rate, or give it more --workers`;
  return held;
}

function seconds(value: unknown): string {
  return `${Number(value).toFixed(1)} s`;
}

/** A duration, to a tenth below 10 ms. */
function ms(value: unknown): string {
  const number = Number(value);
  return `${number < 10 ? number.toFixed(1) : Math.round(number).toLocaleString('en-US')} ms`;
}

function percent(value: unknown): string {
  return `${(Number(value) * 100).toFixed(0)} %`;
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}
