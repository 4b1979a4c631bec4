/** POST /v1/chat/completions and /v1/completions: from the request to jobs in the engine. */
import { createHash } from 'node:crypto';
import { nowMs } from '../record/clock.ts';
import {
  type Answer,
  abortedAnswer,
  abortedEvent,
  contextAnswer,
  detailAnswer,
  internalErrorAnswer,
  openaiErrorAnswer,
} from './bodies.ts';
import type { Exchange } from './connection.ts';
import { type MockContext, noteFailure } from './context.ts';
import { playBefore } from './faultbefore.ts';
import { type FaultKind, phaseOf, pickFault } from './faults.ts';
import type { StreamKind } from './frames.ts';
import { Job } from './job.ts';
import { planChoice } from './plan.ts';
import { type Generation, parseBody, readGeneration } from './request.ts';
import { respond } from './respond.ts';
import { mixSeed, Rng } from './rng.ts';
import { StreamAnswer } from './stream.ts';
import { TruthTrack } from './truth.ts';
import { WholeAnswer } from './whole.ts';

/** Why a prompt is refused, null when it fits. */
function contextProblem(context: MockContext, generation: Generation): Answer | null {
  const { options, engine } = context;
  const longest = Math.max(...generation.promptTokens);
  if (options.style === 'openai') {
    const asked = longest + (generation.maxTokens ?? 1);
    if (asked <= options.maxSeqLen) return null;
    const message = `This model's maximum context length is ${options.maxSeqLen} tokens. However, you requested ${asked} tokens.`;
    return openaiErrorAnswer(400, message);
  }
  if (longest > options.maxSeqLen) {
    return contextAnswer(`Prompt length ${longest} exceeds the available context size of ${options.maxSeqLen} tokens`);
  }
  const needed = engine.pagesFor(longest) * 256;
  if (needed <= options.cacheSize) return null;
  return contextAnswer(
    `Initial job allocation requires ${needed} cache tokens, which exceeds the available context size of ${options.cacheSize} tokens`,
  );
}

function noModelAnswer(body: Readonly<Record<string, unknown>>): Answer {
  // With a `model` field TabbyAPI skips its check for a loaded model, and the handler trips over None.
  return body['model'] === undefined || body['model'] === null
    ? detailAnswer(503, 'No models are currently loaded.')
    : internalErrorAnswer();
}

function requestId(context: MockContext, exchange: Exchange): string {
  return exchange.request.headers.get('x-request-id') ?? `#${context.stats.completions - 1}`;
}

/** Tokens of a prompt seen before, whole pages of it; told only with `usageDetails`, so only then looked for. */
function cachedTokens(context: MockContext, generation: Generation): number {
  const { options, stats } = context;
  if (!options.trackIds && !options.usageDetails) return 0;
  const hash = createHash('sha1').update(generation.promptTexts.join('\u0000')).digest('base64');
  const repeated = stats.seenPrompt(hash);
  const prompt = generation.promptTokens[0] as number;
  return repeated && options.usageDetails ? Math.floor((prompt - 1) / 256) * 256 : 0;
}

/** Handles one completion request; returns an answer to be sent, or nothing when the answer comes by itself. */
export function complete(context: MockContext, exchange: Exchange, kind: StreamKind): Answer | undefined {
  const { options, stats } = context;
  const parsed = parseBody(exchange.request.body, exchange.request.headers.get('content-type'));
  if ('answer' in parsed) return parsed.answer;
  const read = readGeneration(kind, parsed.body, options);
  if ('answer' in read) return read.answer;
  const serial = stats.completions++;
  const id = requestId(context, exchange);
  if (options.trackIds) stats.seenId(id);
  if (context.state.model === null) return noModelAnswer(parsed.body);
  const { generation } = read;
  const fault = pickFault(options, generation.marks, context.rng);
  if (fault !== null) stats.fault(fault);
  const problem = contextProblem(context, generation);
  if (problem !== null) return problem;
  const streaming = generation.stream && !options.noStreaming;
  const go = (asked: FaultKind | null): void => {
    const stream = streaming && asked !== 'json-instead';
    if (!exchange.done) generate(context, exchange, { ...generation, stream }, asked, serial, id);
  };
  if (phaseOf(fault) === 'before') playBefore(context, exchange, generation, fault as FaultKind, streaming, go);
  else go(fault);
  return undefined;
}

function generate(
  context: MockContext,
  exchange: Exchange,
  generation: Generation,
  fault: FaultKind | null,
  serial: number,
  id: string,
): void {
  const { options, engine } = context;
  const cached = cachedTokens(context, generation);
  const count = generation.n * generation.promptTokens.length;
  const rngs = Array.from({ length: count }, (_, k) => new Rng(mixSeed(options.seed, serial, k)));
  const choices = rngs.map((rng, k) => planChoice(options, generation, k, fault, cached, rng));
  const track = context.truth === null ? null : new TruthTrack(id, exchange.arrivedMs);
  const Form = generation.stream ? StreamAnswer : WholeAnswer;
  const answer = new Form(context, exchange, generation, choices, fault, track);
  answer.jobs = choices.map((choice, k) => new Job(engine, choice.job, k, answer, rngs[k] as Rng));
  exchange.onAbort = () => answer.abort();
  if (answer instanceof StreamAnswer) answer.open();
  if (poisoned(context, exchange, generation, answer)) return;
  engine.submit(answer.jobs, exchange.arrivedMs);
}

/** Requests that break their own generation, or the whole engine; true when this was one. */
function poisoned(
  context: MockContext,
  exchange: Exchange,
  generation: Generation,
  answer: StreamAnswer | WholeAnswer,
): boolean {
  const streamedWithoutLength =
    generation.kind === 'completion' &&
    generation.stream &&
    generation.maxTokensMissing &&
    context.options.style === 'tabbyapi';
  if (generation.poison === 'none' && !streamedWithoutLength) return false;
  context.pump.at(nowMs(), () => {
    if (exchange.done) return;
    if (generation.poison === 'engine') {
      noteFailure(context, 'FATAL ERROR with generation. Attempting to recreate the generator.');
      context.engine.failAll(null);
    }
    if (answer instanceof StreamAnswer) {
      answer.stream.event(abortedEvent(generation.kind));
      answer.end();
    } else {
      answer.abort();
      respond(context, exchange, abortedAnswer(generation.kind, 'request'));
    }
  });
  return true;
}
