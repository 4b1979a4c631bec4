/** The closed list of warnings and remarks: what each says, in one place. Everywhere else they are data. */
import { messageOf } from '../errors.ts';

/** A warning as data. */
export interface Warning {
  readonly code: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

type Facts = Readonly<Record<string, unknown>>;

const SENTENCES: Readonly<Record<string, (facts: Facts) => string>> = {
  all_failed: (f) =>
    `all ${count(f['failed'], 'request')} failed: check the server, the endpoint and the options; the first error is above`,
  interrupted: (f) =>
    `the run was interrupted${f['by'] ? ` (${f['by']})` : ''}: the figures are of the ${count(f['recorded'], 'request')} that ended`,
  unknown_percentile_metric: (f) =>
    `--percentile-metrics: ${JSON.stringify(f['name'])} is no metric and is left out, as in vLLM${f['meant'] ? `; did you mean ${JSON.stringify(f['meant'])}?` : ''}`,
  metric_needs_tokenizer: (f) => `${f['metric']} is left out, as in vLLM: --skip-tokenizer-init leaves no token counts`,
  metric_needs_concurrency: (f) => `${f['metric']} is left out, as in vLLM: it needs --max-concurrency`,
  metric_needs_rate: (f) => `${f['metric']} is left out, as in vLLM: it needs a finite --request-rate`,
  tokens_assumed_one: (f) =>
    `the server told no token count for ${count(f['requests'], 'request')} and there is no tokenizer: each counts as 1 token, as in vLLM; token rates are too low (give --tokenizer)`,
  tokens_counted: (f) =>
    `the server told no token count for ${count(f['requests'], 'request')}: counted by the tokenizer over the text, which leaves out hidden tokens`,
  usage_suspect: (f) =>
    `usage is not believable for ${count(f['requests'], 'request')}: prompt tokens far above the known prompt. TabbyAPI's output chunking takes long outputs as new prompts; token counts of outputs beyond about 2,048 tokens are too low`,
  frames_share_reads: (f) =>
    `${percent(f['share'])} of the token frames arrived together with another one: gaps between them are 0 here. A buffering proxy, merged frames, or a late client`,
  percentiles_from_histograms: (f) =>
    `percentiles of ${list(f['metrics'])} come from histograms (3 digits): there were more values than --max-exact-values`,
  detail_left_out: () => 'per-request arrays are left out: there were more values than --max-exact-values',
  record_damage: (f) =>
    `${f['file']}: ${f['damage']}${Number(f['skipped']) > 0 ? ` (${count(f['skipped'], 'frame')} passed over)` : ''}`,
  record_no_end: (f) =>
    `${f['file']} has no end frame (the run was killed): its duration is taken from the first send to the last answer`,
  record_no_header: (f) => `${f['file']} has no header: options are taken from the command line and defaults`,
  records_repeat: (f) =>
    `${count(f['repeated'], 'index', 'indices')} occur more than once: the files are taken as repeats, their durations add up`,
  indices_repeat: (f) =>
    `${count(f['repeated'], 'index', 'indices')} occur more than once in one run: each line counts as a request of its own`,
  records_differ: (f) =>
    `${f['file']} was made with another ${list(f['what'])} than ${f['first']}: figures of both are mixed`,
  no_requests: () => 'no request was recorded',
  length_tabby: (f) =>
    `TabbyAPI makes one token fewer than max_tokens asks for${Number(f['missing']) > 1 ? `, and here ${Number(f['missing']) - 1} more for the draft model` : ''}: ${count(f['requests'], 'request')} of ${whole(f['of'])} ended at the limit with ${f['missing']} missing (--exact-length asks for what gives the full length)`,
  length_cut: (f) =>
    `${count(f['requests'], 'request')} of ${whole(f['of'])} ended at the limit with ${f['missing']} fewer than asked for`,
  length_own_end: (f) =>
    `${count(f['requests'], 'request')} of ${whole(f['of'])} ended by themselves before the length asked for${f['forced'] ? ' in spite of length forcing (stop string, loop detection, or a server that does not know min_tokens)' : ' (--force-length keeps the model going)'}`,
  length_long: (f) => `${count(f['requests'], 'request')} of ${whole(f['of'])} made more tokens than asked for`,
};

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

function percent(value: unknown): string {
  return `${(Number(value) * 100).toFixed(0)} %`;
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}
