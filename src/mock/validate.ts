/** Checks of request fields in pydantic's words: which field, what is wrong, what was given. */
import type { ValidationIssue } from './bodies.ts';
import type { PyJson } from './pyjson.ts';

/** A parsed request body. */
export type Body = Readonly<Record<string, unknown>>;

type Check = (value: unknown, field: string) => ValidationIssue | undefined;

function issue(type: string, field: string, msg: string, input: unknown, ctx?: PyJson): ValidationIssue {
  return { type, loc: ['body', field], msg, input: input as PyJson, ctx };
}

/** pydantic's lax number: numbers, and strings that read as one. */
function laxNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value)) return Number(value);
  return undefined;
}

/** NaN and the infinities, which Python's JSON reads. */
function notFinite(field: string): ValidationIssue {
  return issue('finite_number', field, 'Input should be a finite number', null);
}

interface Range {
  readonly ge?: number;
  readonly le?: number;
}

function inRange(number: number, field: string, value: unknown, range: Range): ValidationIssue | undefined {
  const { ge, le } = range;
  if (ge !== undefined && number < ge) {
    return issue('greater_than_equal', field, `Input should be greater than or equal to ${ge}`, value, { ge });
  }
  if (le !== undefined && number > le) {
    return issue('less_than_equal', field, `Input should be less than or equal to ${le}`, value, { le });
  }
  return undefined;
}

function int(range: Range = {}): Check {
  return (value, field) => {
    if (value === null) return undefined;
    const number = laxNumber(value);
    if (number === undefined) {
      return typeof value === 'string'
        ? issue('int_parsing', field, 'Input should be a valid integer, unable to parse string as an integer', value)
        : issue('int_type', field, 'Input should be a valid integer', value);
    }
    if (!Number.isFinite(number)) return notFinite(field);
    if (!Number.isInteger(number)) {
      const msg = 'Input should be a valid integer, got a number with a fractional part';
      return issue('int_from_float', field, msg, value);
    }
    return inRange(number, field, value, range);
  };
}

function float(range: Range = {}): Check {
  return (value, field) => {
    if (value === null) return undefined;
    const number = laxNumber(value);
    if (number !== undefined && !Number.isFinite(number)) return notFinite(field);
    if (number !== undefined) return inRange(number, field, value, range);
    return typeof value === 'string'
      ? issue('float_parsing', field, 'Input should be a valid number, unable to parse string as a number', value)
      : issue('float_type', field, 'Input should be a valid number', value);
  };
}

const bool: Check = (value, field) => {
  if (value === null || typeof value === 'boolean' || value === 0 || value === 1) return undefined;
  if (typeof value === 'string') {
    if (/^(true|false|yes|no|on|off|t|f|y|n|1|0)$/i.test(value)) return undefined;
    return issue('bool_parsing', field, 'Input should be a valid boolean, unable to interpret input', value);
  }
  return issue('bool_type', field, 'Input should be a valid boolean', value);
};

const dict: Check = (value, field) => {
  if (value === null || (typeof value === 'object' && !Array.isArray(value))) return undefined;
  return issue('dict_type', field, 'Input should be a valid dictionary', value);
};

const streamOptions: Check = (value, field) => {
  if (value === null || (typeof value === 'object' && !Array.isArray(value))) return undefined;
  const msg = 'Input should be a valid dictionary or instance of ChatCompletionStreamOptions';
  return issue('model_type', field, msg, value, { class_name: 'ChatCompletionStreamOptions' });
};

const text: Check = (value, field) =>
  value === null || typeof value === 'string'
    ? undefined
    : issue('string_type', field, 'Input should be a valid string', value);

const messages: Check = (value, field) => {
  if (!Array.isArray(value)) return issue('list_type', field, 'Input should be a valid list', value);
  return undefined;
};

/** A text or a list of texts; pydantic tells what is wrong with each of the two, the latter is told here where there is a list. */
const prompt: Check = (value, field) => {
  if (typeof value === 'string') return undefined;
  const msg = 'Input should be a valid string';
  if (!Array.isArray(value)) return issue('string_type', field, msg, value);
  const at = value.findIndex((item) => typeof item !== 'string');
  if (at < 0) return undefined;
  return { type: 'string_type', loc: ['body', field, 'list[str]', at], msg, input: value[at] as PyJson };
};

/** Choices of all prompts of one request together, at most. */
export const MAX_JOBS = 1024;

const COMMON: Readonly<Record<string, Check>> = {
  // The upper bound is this server's own: each choice is a job.
  n: int({ ge: 1, le: MAX_JOBS }),
  stream: bool,
  stream_options: streamOptions,
  model: text,
  temperature: float({ ge: 0, le: 10 }),
  top_p: float({ ge: 0, le: 1 }),
  top_k: int({ ge: -1 }),
  min_p: float({ ge: 0, le: 1 }),
  repetition_penalty: float({ ge: 0 }),
  frequency_penalty: float({ ge: 0 }),
  presence_penalty: float({ ge: 0 }),
  top_logprobs: int({ ge: 0 }),
  ignore_eos: bool,
  logit_bias: dict,
  response_format: dict,
  template_vars: dict,
  enable_thinking: bool,
};

/** Names of one field in the order in which they win; only the winner is looked at. */
export const MAX_TOKENS_NAMES = ['max_tokens', 'max_completion_tokens', 'max_length'] as const;
/** The same for the least number of tokens. */
export const MIN_TOKENS_NAMES = ['min_tokens', 'min_length'] as const;

/** The value under the first of these names that is there at all; undefined when none is. */
export function firstOf(body: Body, names: readonly string[]): unknown {
  const name = names.find((candidate) => candidate in body);
  return name === undefined ? undefined : body[name];
}

/** All mistakes of a request body, in the order of its fields; empty when it is good. */
export function validate(kind: 'chat' | 'completion', body: Body): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  const required = kind === 'chat' ? 'messages' : 'prompt';
  if (!(required in body)) {
    issues.push(issue('missing', required, 'Field required', body));
  } else {
    const found = (kind === 'chat' ? messages : prompt)(body[required], required);
    if (found !== undefined) issues.push(found);
  }
  for (const names of [MAX_TOKENS_NAMES, MIN_TOKENS_NAMES]) {
    const name = names.find((candidate) => candidate in body);
    const found = name === undefined ? undefined : int({ ge: 0 })(body[name], name);
    if (found !== undefined) issues.push(found);
  }
  for (const [field, check] of Object.entries(COMMON)) {
    const found = field in body ? check(body[field], field) : undefined;
    if (found !== undefined) issues.push(found);
  }
  return issues;
}
