/** A streamed answer: headers at once, one event per chunk, and all the ways in which it can go wrong on the way. */

import { nowMs, wallClock } from '../record/clock.ts';
import { abortedEvent, contextEvent } from './bodies.ts';
import type { Connection, Exchange } from './connection.ts';
import type { MockContext } from './context.ts';
import { noteFailure, streamId } from './context.ts';
import { closing, insertedEvents, strikeMid } from './faultplay.ts';
import { type FaultKind, phaseOf } from './faults.ts';
import { figuresOf, finishReason, toolCallList } from './figures.ts';
import { chunkOf, type EventParts, type FrameTemplate, type Span } from './frames.ts';
import type { Job, JobListener } from './job.ts';
import { type Outlet, outlet } from './outlet.ts';
import type { ChoicePlan } from './plan.ts';
import type { Generation } from './request.ts';
import { eventStreamHead, resetLater } from './respond.ts';
import type { TruthTrack } from './truth.ts';
import { openaiUsage, tabbyUsage } from './usage.ts';
import { chatLogprobs, completionLogprobs } from './voice.ts';

/** Span reused by every frame of every stream: it is written before the next is made. */
const SPAN: Span = { buffer: Buffer.alloc(0), start: 0, end: 0 };

/** A streamed answer in progress. */
export class StreamAnswer implements JobListener {
  readonly context: MockContext;
  readonly exchange: Exchange;
  readonly generation: Generation;
  readonly fault: FaultKind | null;
  readonly id: string;
  private readonly idBytes: Buffer;
  private readonly template: FrameTemplate;
  private readonly connection: Connection;
  private readonly choices: readonly ChoicePlan[];
  /** White space held back until content follows it, per choice. */
  private readonly heldSpace: string[] = [];
  private readonly out: Outlet;
  /** Frames may be written without a look at them. */
  private readonly direct: boolean;
  private readonly track: TruthTrack | null;
  private readonly over: Job[] = [];
  private inserted = false;
  private opened = false;
  private closed = false;
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
    this.id = streamId(context.options.style, generation.kind);
    this.idBytes = Buffer.from(this.id);
    this.template = context.templates[generation.kind];
    this.connection = exchange.connection;
    const phase = phaseOf(fault);
    this.out = outlet(exchange, phase === 'shape' ? fault : null, context.pump);
    this.direct =
      choices.length <= 10 &&
      exchange.chunked &&
      phase !== 'shape' &&
      phase !== 'insert' &&
      generation.topLogprobs === null;
  }

  /** Sends the headers; they do not wait for a slot. */
  open(): void {
    const extra: [string, string][] = this.fault === 'gzip' ? [['content-encoding', 'gzip']] : [];
    const head = eventStreamHead(this.context, this.exchange, extra);
    if (this.fault === 'drip') this.out.send(Buffer.from(head));
    else this.exchange.write(head);
    this.opened = true;
    this.context.stats.response(200);
    this.context.pings?.add(this, nowMs());
    if (this.fault === 'bom') this.piece('\ufeff');
    if (this.generation.kind !== 'chat') return;
    this.choices.forEach((_, index) => {
      const role = this.context.style.role(this.id, this.second(), this.context.options.model, index);
      if (role !== null) this.event(role);
    });
  }

  /** A comment that keeps proxies awake; false when the stream is over. */
  ping(): boolean {
    if (this.closed || this.exchange.done) return false;
    const time = wallClock().toISOString();
    const { lineEnd } = this.context;
    // Python tells microseconds; those below a millisecond are made up, so that the length is right.
    const micro = String(Math.floor((nowMs() * 1000) % 1000)).padStart(3, '0');
    this.piece(`: ping - ${time.slice(0, 10)} ${time.slice(11, 23)}${micro}+00:00${lineEnd}${lineEnd}`);
    return true;
  }

  tokens(job: Job, count: number, atMs: number): void {
    const choice = this.choices[job.index] as ChoicePlan;
    if (this.track !== null) this.track.add(atMs);
    if (count === 1 && this.direct && choice.voice.plain) {
      this.template.word(this.idBytes, job.index, choice.voice.nextWord(), this.context.wall.at(atMs), SPAN);
      this.connection.write(SPAN.buffer, SPAN.start, SPAN.end);
      return;
    }
    this.spoken(job, choice, count);
    if (!this.inserted && phaseOf(this.fault) === 'insert' && job.made >= this.strikeAt(job)) {
      this.inserted = true;
      for (const text of insertedEvents(this)) this.event(text);
    }
  }

  private strikeAt(job: Job): number {
    const at = this.generation.marks.fault_at ?? this.context.options.faultAt;
    return Math.min(at, job.plan.visibleTokens);
  }

  /** The general way: any number of tokens, any channel, log probabilities. */
  private spoken(job: Job, choice: ChoicePlan, count: number): void {
    let content = this.heldSpace[job.index] ?? '';
    let reasoning = '';
    let tagged = false;
    const texts: string[] = [];
    for (let i = 0; i < count; i++) {
      const said = choice.voice.next();
      if (said.channel === 'content') {
        content += said.text;
        texts.push(said.text);
      } else if (said.channel === 'reasoning') reasoning += said.text;
      else tagged = true;
    }
    const hold = this.generation.thinking && choice.voice.hasReasoning && content.trim() === '';
    this.heldSpace[job.index] = hold ? content : '';
    if (hold) content = '';
    if (content === '' && reasoning === '') return;
    const top = this.generation.topLogprobs;
    const chat = this.generation.kind === 'chat';
    const logprobs =
      top === null || tagged || texts.length === 0 ? undefined : (chat ? chatLogprobs : completionLogprobs)(texts, top);
    this.event(
      this.text({
        index: job.index,
        content: content === '' ? undefined : content,
        reasoning: reasoning === '' ? undefined : reasoning,
        logprobs,
      }),
    );
  }

  finished(job: Job, _atMs: number): void {
    this.over.push(job);
    if (job.plan.eosTokens === 1) this.context.stats.eosToken();
    const last = this.over.length === this.jobs.length;
    const choice = this.choices[job.index] as ChoicePlan;
    const usage = last && this.generation.includeUsage && this.fault !== 'no-finish' ? this.usage() : undefined;
    const pieces =
      this.fault === 'no-finish' || this.fault === 'done-only' ? [] : this.finishEvents(job, choice, usage);
    const bytes = pieces.map((text) => this.framed(text));
    if (last) {
      const { body, hangUp } = closing(this);
      bytes.push(...body.map((text) => this.chunk(text)));
      this.out.send(Buffer.concat(bytes));
      this.complete(hangUp);
      return;
    }
    this.out.send(Buffer.concat(bytes));
  }

  /** The tool calls' event, the finish event, and usage where it belongs. */
  private finishEvents(job: Job, choice: ChoicePlan, usage: ReturnType<typeof tabbyUsage> | undefined): string[] {
    const index = job.index;
    const finish = finishReason(job, choice.toolCalls);
    const calls = choice.toolCalls > 0 ? toolCallList(choice.toolCalls) : undefined;
    const reason = this.context.options.style === 'tabbyapi' ? job.plan.eosReason : undefined;
    const { style, options } = this.context;
    if (usage === undefined) {
      return [this.text({ index, toolCalls: calls, finish, eosReason: reason })];
    }
    const events = calls === undefined ? [] : [this.text({ index, toolCalls: calls })];
    const apart = style.usageEvent(this.generation.kind, this.id, this.second(), options.model, usage);
    events.push(this.text({ index, finish, usage: apart === null ? usage : undefined }));
    if (apart !== null) events.push(apart);
    return events;
  }

  private usage(): ReturnType<typeof tabbyUsage> {
    const figures = this.over.map(figuresOf);
    const { options, stats } = this.context;
    stats.usage(
      figures[0]?.promptTokens ?? 0,
      figures.reduce((sum, one) => sum + one.completionTokens, 0),
    );
    return (options.style === 'tabbyapi' ? tabbyUsage : openaiUsage)(figures, options.usageDetails);
  }

  broken(): void {
    strikeMid(this);
  }

  failed(_job: Job, message: string | null): void {
    // Victims of an engine made anew are told nothing: their streams stay open, with pings only.
    if (message === null || this.closed) return;
    this.fail(message === '' ? abortedEvent(this.generation.kind) : contextEvent(message));
  }

  /** Sends an error event and ends the body cleanly, as TabbyAPI does: no [DONE], no usage. */
  fail(event: string): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
    noteFailure(this.context, 'RuntimeError: injected: CUDA error: device-side assert triggered');
    this.event(event);
    this.end();
  }

  /** Ends the body cleanly, whatever is missing. */
  end(): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
    this.raw(this.chunk(''));
    this.complete(false);
  }

  /** Ends the answer without another byte: by FIN, by RST, or by leaving it as it is. */
  drop(how: 'fin' | 'rst' | 'hang'): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
    if (how === 'hang') return;
    this.leave('completed');
    if (how === 'fin') this.exchange.hangUp();
    else resetLater(this.context.pump, this.exchange);
  }

  /** The client has gone. */
  abort(): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
    this.leave('aborted');
  }

  private complete(hangUp: boolean): void {
    this.leave('completed');
    this.out.flush(() => {
      if (hangUp) this.exchange.hangUp();
      else this.exchange.finish();
    });
  }

  private leave(outcome: 'completed' | 'aborted'): void {
    if (this.closed) return;
    this.closed = true;
    this.context.pings?.remove(this);
    if (this.opened) this.context.stats.completionOver(outcome);
    if (this.track !== null) this.context.truth?.keep(this.track);
  }

  private second(): number {
    return this.context.wall.at(nowMs());
  }

  /** An event of the generation as JSON. */
  text(parts: EventParts): string {
    const { style, options } = this.context;
    return style.event(this.generation.kind, this.id, this.second(), options.model, parts);
  }

  /** Sends a JSON text as an event. */
  event(json: string): void {
    this.raw(this.framed(json));
  }

  private framed(json: string): Buffer {
    const { lineEnd } = this.context;
    return this.chunk(`data: ${json}${lineEnd}${lineEnd}`);
  }

  /** Sends text as a piece of the body of its own. */
  piece(text: string): void {
    this.raw(this.chunk(text));
  }

  /** A piece of the body in its chunk; '' is the last chunk. */
  chunk(text: string): Buffer {
    return this.exchange.chunked ? chunkOf(text) : Buffer.from(text);
  }

  /** Sends bytes as they are. */
  raw(bytes: Buffer): void {
    this.out.send(bytes);
  }
}
