/** A streamed answer: what the jobs of its choices make, as events, and all the ways in which it can go wrong on the way. */
import { nowMs } from '../record/clock.ts';
import { abortedEvent, contextEvent } from './bodies.ts';
import type { Connection, Exchange } from './connection.ts';
import { type MockContext, noteFailure } from './context.ts';
import { EventStream } from './eventstream.ts';
import { closing, insertedEvents, strikeMid } from './faultplay.ts';
import { type FaultKind, phaseOf } from './faults.ts';
import { finishReason, toolCallList, usageOf } from './figures.ts';
import type { FrameTemplate, Span } from './frames.ts';
import type { Job, JobListener } from './job.ts';
import type { ChoicePlan } from './plan.ts';
import type { PyJson } from './pyjson.ts';
import type { Generation } from './request.ts';
import { resetLater } from './respond.ts';
import { Speech } from './speech.ts';
import type { TruthTrack } from './truth.ts';

/** Span reused by every frame of every stream: it is written before the next is made. */
const SPAN: Span = { buffer: Buffer.alloc(0), start: 0, end: 0 };
/** Choices that the quick way can tell apart: one digit. */
const MAX_DIRECT_CHOICES = 10;

/** A streamed answer in progress. */
export class StreamAnswer implements JobListener {
  readonly context: MockContext;
  readonly generation: Generation;
  readonly fault: FaultKind | null;
  readonly stream: EventStream;
  private readonly choices: readonly ChoicePlan[];
  private readonly speeches: readonly Speech[];
  private readonly track: TruthTrack | null;
  /** The quick way: a plain token goes from the template to the socket. */
  private readonly direct: boolean;
  private readonly idBytes: Buffer;
  private readonly template: FrameTemplate;
  private readonly connection: Connection;
  private readonly over: Job[] = [];
  private inserted = false;
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
    this.generation = generation;
    this.choices = choices;
    this.fault = fault;
    this.track = track;
    this.stream = new EventStream(context, exchange, generation.kind, fault);
    this.speeches = choices.map(({ voice }, index) => new Speech(voice, generation, index));
    const phase = phaseOf(fault);
    const plainForm = phase !== 'shape' && phase !== 'insert' && generation.topLogprobs === null;
    this.direct = plainForm && exchange.chunked && choices.length <= MAX_DIRECT_CHOICES;
    this.idBytes = Buffer.from(this.stream.id);
    this.template = context.templates[generation.kind];
    this.connection = exchange.connection;
  }

  /** Sends the headers; they do not wait for a slot. */
  open(): void {
    this.stream.open(this.choices.length);
    this.context.pings?.add(this, nowMs());
  }

  /** Sends a comment; false when the stream is over. */
  ping(): boolean {
    if (this.closed || this.stream.exchange.done) return false;
    this.stream.ping();
    return true;
  }

  tokens(job: Job, count: number, atMs: number): void {
    const { voice } = this.choices[job.index] as ChoicePlan;
    if (this.track !== null) this.track.add(atMs);
    if (count === 1 && this.direct && voice.plain) {
      this.template.word(this.idBytes, job.index, voice.nextWord(), this.context.wall.at(atMs), SPAN);
      this.connection.write(SPAN.buffer, SPAN.start, SPAN.end);
      return;
    }
    const parts = (this.speeches[job.index] as Speech).say(count);
    if (parts !== null) this.stream.event(this.stream.text(parts));
    this.insertOnce(job);
  }

  private insertOnce(job: Job): void {
    if (this.inserted || phaseOf(this.fault) !== 'insert') return;
    const at = this.generation.marks.fault_at ?? this.context.options.faultAt;
    if (job.made < Math.min(at, job.plan.visibleTokens)) return;
    this.inserted = true;
    for (const text of insertedEvents(this)) this.stream.event(text);
  }

  finished(job: Job): void {
    this.over.push(job);
    if (job.plan.eosTokens === 1) this.context.stats.eosToken();
    const last = this.over.length === this.jobs.length;
    const silent = this.fault === 'no-finish' || this.fault === 'done-only';
    const bytes = silent ? [] : this.finishEvents(job, last).map((text) => this.stream.framed(text));
    const { body, hangUp } = last ? closing(this) : { body: [], hangUp: false };
    bytes.push(...body.map((text) => this.stream.chunk(text)));
    // Finish, usage, [DONE] and the end in one write: they usually arrive in one read.
    this.stream.raw(Buffer.concat(bytes));
    if (last) this.complete(hangUp);
  }

  /** The tool calls' event, the finish event, and usage where it belongs. */
  private finishEvents(job: Job, last: boolean): string[] {
    const { context, generation, stream } = this;
    const { index } = job;
    const { toolCalls } = this.choices[index] as ChoicePlan;
    const finish = finishReason(job, toolCalls);
    const calls: PyJson | undefined = toolCalls > 0 ? toolCallList(toolCalls) : undefined;
    if (!last || !generation.includeUsage) {
      const eosReason = context.options.style === 'tabbyapi' ? job.plan.eosReason : undefined;
      return [stream.text({ index, toolCalls: calls, finish, eosReason })];
    }
    const usage = usageOf(context, this.over);
    const apart = context.style.usageEvent(generation.kind, stream.id, stream.second(), context.options.model, usage);
    return [
      ...(calls === undefined ? [] : [stream.text({ index, toolCalls: calls })]),
      stream.text({ index, finish, usage: apart === null ? usage : undefined }),
      ...(apart === null ? [] : [apart]),
    ];
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
    noteFailure(this.context, 'RuntimeError: injected: CUDA error: device-side assert triggered');
    this.stream.event(event);
    this.end();
  }

  /** Ends the body cleanly, whatever is missing. */
  end(): void {
    this.cancel();
    this.stream.piece('');
    this.complete(false);
  }

  /** Ends the answer without another byte: by FIN, by RST, or by leaving it as it is. */
  drop(how: 'fin' | 'rst' | 'hang'): void {
    this.cancel();
    if (how === 'hang') return;
    this.leave('completed');
    const { exchange } = this.stream;
    if (how === 'fin') exchange.hangUp();
    else resetLater(this.context.pump, exchange);
  }

  /** The client has gone. */
  abort(): void {
    this.cancel();
    this.leave('aborted');
  }

  private cancel(): void {
    for (const job of this.jobs) this.context.engine.cancel(job);
  }

  private complete(hangUp: boolean): void {
    this.leave('completed');
    this.stream.finish(hangUp);
  }

  private leave(outcome: 'completed' | 'aborted'): void {
    if (this.closed) return;
    this.closed = true;
    this.context.pings?.remove(this);
    this.context.stats.completionOver(outcome);
    if (this.track !== null) this.context.truth?.keep(this.track);
  }
}
