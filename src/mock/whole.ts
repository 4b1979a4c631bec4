/** An answer in one JSON body: nothing is sent until every choice is done. */

import { nowMs } from '../record/clock.ts';
import { abortedAnswer, contextAnswer, jsonAnswer } from './bodies.ts';
import type { Exchange } from './connection.ts';
import { type MockContext, noteFailure } from './context.ts';
import type { FaultKind } from './faults.ts';
import { finishReason, toolCallList, usageOf } from './figures.ts';
import { randomHex } from './ids.ts';
import type { Job, JobListener } from './job.ts';
import type { ChoicePlan } from './plan.ts';
import type { PyJson } from './pyjson.ts';
import type { Generation } from './request.ts';
import { answerBytes, resetLater, respond } from './respond.ts';
import type { TruthTrack } from './truth.ts';
import { chatLogprobs, completionLogprobs } from './voice.ts';

interface Gathered {
  content: string;
  reasoning: string;
  /** One by one, where logprobs are asked for. */
  readonly tokens: string[];
  /** How it ended; null while it runs, and for victims of an engine made anew. */
  ended: Job | null;
}

/** A non-streaming answer in progress. */
export class WholeAnswer implements JobListener {
  private readonly context: MockContext;
  private readonly exchange: Exchange;
  private readonly generation: Generation;
  private readonly choices: readonly ChoicePlan[];
  private readonly fault: FaultKind | null;
  private readonly track: TruthTrack | null;
  private readonly gathered: readonly Gathered[];
  private readonly id: string;
  private readonly over: Job[] = [];
  private victims = 0;
  private left = false;
  jobs: readonly Job[] = [];

  constructor(
    context: MockContext,
    exchange: Exchange,
    generation: Generation,
    choices: readonly ChoicePlan[],
    fault: FaultKind | null,
    track: TruthTrack | null,
  ) {
    this.context = context;
    this.exchange = exchange;
    this.generation = generation;
    this.choices = choices;
    this.fault = fault;
    this.track = track;
    this.gathered = choices.map(() => ({ content: '', reasoning: '', tokens: [], ended: null }));
    const prefix = context.options.style === 'openai' && generation.kind === 'chat' ? 'chatcmpl' : 'cmpl';
    this.id = `${prefix}-${randomHex(16)}`;
  }

  tokens(job: Job, count: number, atMs: number): void {
    this.track?.add(atMs);
    const into = this.gathered[job.index] as Gathered;
    const { voice } = this.choices[job.index] as ChoicePlan;
    for (let i = 0; i < count; i++) {
      const said = voice.next();
      if (said.channel === 'content') {
        into.content += said.text;
        if (this.generation.topLogprobs !== null) into.tokens.push(said.text);
      } else if (said.channel === 'reasoning') into.reasoning += said.text;
    }
  }

  finished(job: Job): void {
    (this.gathered[job.index] as Gathered).ended = job;
    this.over.push(job);
    if (job.plan.eosTokens === 1) this.context.stats.eosToken();
    this.sendWhenDone();
  }

  broken(): void {
    const { engine, state } = this.context;
    if (this.fault === 'fatal' || this.fault === 'engine-error') engine.failAll(this.fault === 'fatal' ? null : '');
    if (this.fault === 'unload') {
      state.model = null;
      engine.failAll(null);
    }
    for (const job of this.jobs) engine.cancel(job);
    if (this.fault === 'stall-mid' || this.left) return;
    if (this.fault === 'reset-mid') {
      this.cut('rst');
      return;
    }
    if (this.fault === 'truncated' || this.fault === 'close') {
      this.cut('fin');
      return;
    }
    this.failWith('');
  }

  /** A victim of an engine made anew looks like a success with less text (reason "stop", no eos_reason, no usage). */
  failed(_job: Job, message: string | null): void {
    if (this.left) return;
    if (message !== null) {
      this.failWith(message);
      return;
    }
    this.victims++;
    this.sendWhenDone();
  }

  abort(): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
    this.leave('aborted');
  }

  private failWith(message: string): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
    noteFailure(this.context, 'RuntimeError: injected: CUDA error: device-side assert triggered');
    this.leave('completed');
    respond(
      this.context,
      this.exchange,
      message === '' ? abortedAnswer(this.generation.kind, this.id) : contextAnswer(message),
    );
  }

  /** Sends a part of the body that was promised, then ends the connection. */
  private cut(how: 'fin' | 'rst'): void {
    this.leave('completed');
    const answer = jsonAnswer(200, this.body());
    const bytes = answerBytes(this.context, this.exchange, answer);
    this.exchange.write(bytes.subarray(0, bytes.length - 40));
    if (how === 'fin') this.exchange.hangUp();
    else resetLater(this.context.pump, this.exchange);
  }

  private sendWhenDone(): void {
    if (this.over.length + this.victims < this.jobs.length || this.left) return;
    this.leave('completed');
    respond(this.context, this.exchange, jsonAnswer(200, this.body()));
  }

  private leave(outcome: 'completed' | 'aborted'): void {
    if (this.left) return;
    this.left = true;
    this.context.stats.completionOver(outcome);
    if (this.track !== null) this.context.truth?.keep(this.track);
  }

  private body(): PyJson {
    const { options, wall } = this.context;
    const created = wall.at(nowMs());
    const object = this.generation.kind === 'chat' ? 'chat.completion' : 'text_completion';
    if (options.style === 'openai') {
      const choices = this.choices.map((choice, index) => this.openaiChoice(choice, index));
      const usage = usageOf(this.context, this.over);
      return { id: this.id, object, created, model: options.model, choices, usage };
    }
    const choices = this.choices.map((choice, index) => this.tabbyChoice(choice, index));
    return { id: this.id, choices, created, model: options.model, object, usage: this.usage() };
  }

  private usage(): PyJson {
    const told = this.generation.includeUsage && this.victims === 0 && this.over.length > 0;
    return told ? usageOf(this.context, this.over) : null;
  }

  private tabbyChoice(choice: ChoicePlan, index: number): PyJson {
    const { content, reasoning, tokens, ended } = this.gathered[index] as Gathered;
    const top = this.generation.topLogprobs;
    const chat = this.generation.kind === 'chat';
    const logprobs = top === null ? null : (chat ? chatLogprobs : completionLogprobs)(tokens, top);
    const head = {
      index,
      finish_reason: ended === null ? 'stop' : finishReason(ended, choice.toolCalls),
      eos_reason: ended === null ? null : ended.plan.eosReason,
    };
    if (!chat) return { ...head, logprobs, text: content.trim() === '' ? '' : content };
    const calls = choice.toolCalls > 0 && ended !== null ? toolCallList(choice.toolCalls) : null;
    return {
      ...head,
      stop_str: ended === null ? null : choice.stopText,
      message: {
        role: 'assistant',
        content: content.trim() === '' ? null : content,
        reasoning_content: reasoning === '' ? null : reasoning,
        tool_calls: calls,
        tool_call_id: null,
      },
      logprobs,
    };
  }

  private openaiChoice(choice: ChoicePlan, index: number): PyJson {
    const { content, reasoning, ended } = this.gathered[index] as Gathered;
    const tail = {
      logprobs: null,
      finish_reason: ended === null ? 'stop' : finishReason(ended, choice.toolCalls),
      stop_reason: null,
    };
    if (this.generation.kind !== 'chat') return { index, text: content, ...tail };
    const calls = choice.toolCalls > 0 ? toolCallList(choice.toolCalls) : [];
    const message = {
      role: 'assistant',
      content,
      reasoning_content: reasoning === '' ? null : reasoning,
      tool_calls: calls,
    };
    return { index, message, ...tail };
  }
}
