/** From the body of a completion request to what shall be generated. */

import { isUtf8 } from 'node:buffer';
import { parsePythonJson } from '../python-json.ts';
import { type Answer, detailAnswer, internalErrorAnswer, type ValidationIssue, validationAnswer } from './bodies.ts';
import type { StreamKind } from './frames.ts';
import { jsonIssue } from './jsonerror.ts';
import { type Marks, readMarks } from './marks.ts';
import type { MockOptions } from './options.ts';
import { dumpsSpaced, type PyJson } from './pyjson.ts';
import { countMessages, countTokens, type TemplateMessage } from './tokenizer.ts';
import { type Body, firstOf, MAX_JOBS, MAX_TOKENS_NAMES, MIN_TOKENS_NAMES, validate } from './validate.ts';

/** What one request asks to be generated. */
export interface Generation {
  readonly kind: StreamKind;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly n: number;
  /** Tokens of each prompt, template included; several only for a completion with a list of prompts. */
  readonly promptTokens: readonly number[];
  /** null: not told, null or 0: up to the context. */
  readonly maxTokens: number | null;
  /** Not told at all, or null: streamed completions fail on it. */
  readonly maxTokensMissing: boolean;
  readonly minTokens: number;
  readonly ignoreEos: boolean;
  readonly stop: readonly string[];
  /** Entries wanted per token; null: none. */
  readonly topLogprobs: number | null;
  readonly toolsAllowed: boolean;
  readonly thinking: boolean;
  /** Marks of all prompts together: for what concerns the whole answer. */
  readonly marks: Marks;
  /** Marks of each prompt. */
  readonly promptMarks: readonly Marks[];
  /** A null that breaks the generation in its own way: its own stream, or the whole engine. */
  readonly poison: 'none' | 'own' | 'engine';
  /** Texts of the prompt, to tell repeated ones. */
  readonly promptTexts: readonly string[];
}

/** Fields whose null is passed on to the backend, where it raises. */
const POISONOUS_NULLS = ['stop', 'penalty_range', 'xtc_probability', 'adaptive_target', 'n'];

/** Text of a message's content: a string, or a list of parts of which those with text count. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (typeof part === 'object' && part !== null && 'text' in part ? String(part.text) : ''))
    .join('');
}

/** Messages as the template sees them. */
export function templateMessages(messages: readonly unknown[]): TemplateMessage[] {
  return messages.map((message) => {
    const { role, content } = (typeof message === 'object' && message !== null ? message : {}) as Body;
    return { role: typeof role === 'string' ? role : 'user', content: contentText(content) };
  });
}

function messageIssues(messages: readonly unknown[]): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  messages.forEach((message, i) => {
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      const msg = 'Input should be a valid dictionary or instance of ChatCompletionMessage';
      const ctx = { class_name: 'ChatCompletionMessage' };
      issues.push({ type: 'model_type', loc: ['body', 'messages', i], msg, input: message as PyJson, ctx });
    }
  });
  return issues;
}

/** Nesting at which Python's parser gives up; its exact value depends on how deep the server's own stack is. */
const MAX_DEPTH = 1000;

/** Is it nested deeper than `levels`? */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** Is it JSON by its name? As FastAPI since 0.132, a body without a type is not read as JSON. */
function isJsonType(contentType: string | undefined): boolean {
  const type = (contentType ?? '').split(';')[0] as string;
  return /^\s*application\/(json|[^/]*\+json)\s*$/i.test(type);
}

/** Parses the body, or says how it is refused. */
export function parseBody(body: Buffer, contentType: string | undefined): { body: Body } | { answer: Answer } {
  if (body.length === 0) {
    return { answer: validationAnswer([{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]) };
  }
  const isJson = isJsonType(contentType);
  // Neither a parser's own exceptions nor bytes that are no text are mistakes that FastAPI tells in detail.
  if (!isUtf8(body)) return { answer: isJson ? unreadable() : internalErrorAnswer() };
  const text = body.toString('utf8').replace(/^\ufeff/, '');
  if (!isJson) return { answer: notAnObject(text) };
  let parsed: unknown;
  try {
    parsed = parsePythonJson(text, '1e999');
  } catch {
    const issue = jsonIssue(text, MAX_DEPTH);
    return { answer: issue === null ? unreadable() : validationAnswer([issue]) };
  }
  if (isDeeper(parsed, MAX_DEPTH)) return { answer: unreadable() };
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return { answer: notAnObject(parsed as PyJson) };
  return { body: parsed as Body };
}

function unreadable(): Answer {
  return detailAnswer(400, 'There was an error parsing the body');
}

function notAnObject(input: PyJson): Answer {
  const msg = 'Input should be a valid dictionary or object to extract fields from';
  return validationAnswer([{ type: 'model_attributes_type', loc: ['body'], msg, input }]);
}

function number(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  return Number(value);
}

function stopStrings(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string' && item !== '') : [];
}

function topLogprobs(kind: StreamKind, body: Body): number | null {
  const logprobs = body['logprobs'];
  const top = number(body['top_logprobs']);
  if (kind === 'completion')
    return typeof logprobs === 'number' && logprobs > 0 ? logprobs : logprobs === true ? 1 : null;
  return logprobs === true || (typeof logprobs === 'number' && logprobs > 0) ? (top ?? 0) : null;
}

function poisonOf(body: Body): Generation['poison'] {
  if (body['logprobs'] === null) return 'engine';
  return POISONOUS_NULLS.some((field) => body[field] === null) ? 'own' : 'none';
}

/** Prompts as texts and their tokens. */
function prompts(kind: StreamKind, body: Body, thinking: boolean): { texts: string[]; tokens: number[] } {
  if (kind === 'completion') {
    const prompt = body['prompt'];
    const texts = (Array.isArray(prompt) ? prompt : [prompt]).map(String);
    return { texts, tokens: texts.map(countTokens) };
  }
  const messages = templateMessages(body['messages'] as readonly unknown[]);
  const tools = Array.isArray(body['tools']) ? countTokens(dumpsSpaced(body['tools'] as PyJson)) + 12 : 0;
  // With reasoning the template's prompt to answer ends in `<think>\n`.
  const tokens = countMessages(messages, true) + tools + (thinking ? 2 : 0);
  return { texts: messages.map((message) => message.content), tokens: [tokens] };
}

function marksOf(texts: readonly string[]): Marks {
  const marks: Marks = {};
  for (const text of texts) readMarks(text, marks);
  return marks;
}

/** A valid body as a generation, or the answer that refuses it. */
export function readGeneration(
  kind: StreamKind,
  body: Body,
  options: MockOptions,
): { generation: Generation } | { answer: Answer } {
  const issues = validate(kind, body);
  if (kind === 'chat' && Array.isArray(body['messages'])) issues.push(...messageIssues(body['messages']));
  if (issues.length > 0) return { answer: validationAnswer(issues) };
  const maxTokens = number(firstOf(body, MAX_TOKENS_NAMES));
  const minTokens = number(firstOf(body, MIN_TOKENS_NAMES)) ?? 0;
  // Validators that raise another exception than ValueError end in a plain 500.
  const raises = maxTokens !== null && maxTokens > 0 && minTokens > maxTokens;
  if (raises || body['response_format'] === null || body['template_vars'] === null)
    return { answer: internalErrorAnswer() };
  const thinkingAsked = body['enable_thinking'] !== false;
  const thinking = kind === 'chat' && thinkingAsked && options.reasoningShare > 0 && options.reasoningParsed;
  const { texts, tokens } = prompts(kind, body, thinking);
  // What comes of no prompt at all is not known of TabbyAPI; that many jobs would be the end of any server.
  if (texts.length === 0 && kind === 'completion') return { answer: internalErrorAnswer() };
  if (texts.length * (number(body['n']) ?? 1) > MAX_JOBS && kind === 'completion')
    return { answer: internalErrorAnswer() };
  const marks = marksOf(texts);
  const streamOptions = body['stream_options'] as Body | null | undefined;
  const stream = body['stream'];
  return {
    generation: {
      kind,
      stream: stream === true || stream === 1 || (typeof stream === 'string' && /^(true|yes|on|t|y|1)$/i.test(stream)),
      includeUsage: streamOptions?.['include_usage'] === true,
      n: number(body['n']) ?? 1,
      promptTokens: tokens,
      maxTokens: maxTokens === 0 ? null : maxTokens,
      maxTokensMissing: maxTokens === null,
      minTokens,
      ignoreEos: body['ignore_eos'] === true,
      stop: stopStrings(body['stop']),
      topLogprobs: topLogprobs(kind, body),
      toolsAllowed: kind === 'chat' && body['tool_choice'] !== 'none',
      thinking: kind === 'chat' && thinkingAsked,
      marks,
      promptMarks: kind === 'chat' ? [marks] : texts.map((text) => marksOf([text])),
      poison: options.style === 'tabbyapi' ? poisonOf(body) : 'none',
      promptTexts: texts,
    },
  };
}
