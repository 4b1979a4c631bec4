/** From what is asked to what will be made: lengths by TabbyAPI's rules, texts, times. */
import type { FaultKind } from './faults.ts';
import { phaseOf } from './faults.ts';
import type { JobPlan } from './job.ts';
import type { Marks } from './marks.ts';
import type { MockOptions } from './options.ts';
import type { Generation } from './request.ts';
import type { Rng } from './rng.ts';
import { type Said, TOOL_CALL_TOKENS, TOOL_LEAD_TOKENS, Voice, type VoicePlan } from './voice.ts';

/** One choice: its job's plan and its voice. */
export interface ChoicePlan {
  readonly job: JobPlan;
  readonly voice: Voice;
  /** The text that ended it, null when it was not a text. */
  readonly stopText: string | null;
  readonly toolCalls: number;
}

interface Length {
  readonly visible: number;
  readonly eos: 0 | 1;
}

/**
 * exllamav3's length rules. max_tokens=N makes N−1 tokens (1 for N = 1 and 2), less the draft tokens; the EOS token is masked until
 * min_tokens, counted, and not shown. Other servers make N.
 */
export function planLength(
  options: MockOptions,
  asked: number | null,
  min: number,
  natural: number,
  prompt: number,
): Length {
  const room = Math.max(1, options.maxSeqLen - prompt);
  const exl = options.style === 'tabbyapi';
  const wanted = asked === null ? room : asked;
  const cap = exl ? Math.max(1, wanted - 1 - options.draftTokens) : Math.min(wanted, room);
  const willing = Math.max(natural, min);
  return willing < cap ? { visible: willing, eos: 1 } : { visible: cap, eos: 0 };
}

/** Tokens after which the model would end by itself. */
function naturalLength(options: MockOptions, generation: Generation, marks: Marks, toolCalls: number): number {
  if (toolCalls > 0) return TOOL_LEAD_TOKENS + TOOL_CALL_TOKENS * toolCalls;
  if (options.style === 'openai' && generation.ignoreEos) return Number.POSITIVE_INFINITY;
  const tokens = marks.tokens ?? options.tokens;
  return tokens === 0 && marks.tokens === undefined ? Number.POSITIVE_INFINITY : tokens;
}

function lengthOf(options: MockOptions, generation: Generation, fault: FaultKind | null, plan: ChoiceKey): Length {
  if (fault === 'zero-tokens') return { visible: 0, eos: 1 };
  const prompt = generation.promptTokens[plan.prompt] as number;
  // Streamed completions: choice k runs with max_tokens + 5k, a quirk of TabbyAPI.
  const quirk =
    generation.kind === 'completion' && generation.stream && options.style === 'tabbyapi' ? 5 * plan.index : 0;
  const asked = generation.maxTokens === null ? null : generation.maxTokens + quirk;
  const natural = naturalLength(options, generation, plan.marks, plan.toolCalls);
  if (fault !== 'short') return planLength(options, asked, generation.minTokens, natural, prompt);
  const at = plan.marks.fault_at ?? options.faultAt;
  const full = planLength(options, asked, generation.minTokens, natural, prompt);
  return { visible: Math.min(at, Math.max(1, full.visible - 1)), eos: 1 };
}

/** Which choice: its number, its prompt's number and marks, and its tool calls. */
interface ChoiceKey {
  readonly marks: Marks;
  readonly index: number;
  readonly prompt: number;
  readonly toolCalls: number;
}

function voicePlan(options: MockOptions, generation: Generation, visible: number, choice: ChoiceKey): VoicePlan {
  const { marks, toolCalls } = choice;
  const share = generation.thinking ? (marks.reasoning ?? options.reasoningShare) : 0;
  return {
    reasoningTokens: Math.floor(visible * Math.min(1, share)),
    reasoningParsed: options.reasoningParsed,
    source: marks.unicode ? 'unicode' : marks.raw ? 'raw' : 'words',
    toolCalls,
  };
}

/**
 * Looks where a stop string ends the text. Tokens from the one in which it begins are held back and counted, not shown; what
 * stands before it in that token is shown.
 */
function applyStop(said: readonly Said[], stops: readonly string[]): { said: Said[]; stop: string } | undefined {
  const longest = Math.max(...stops.map((stop) => stop.length));
  let text = '';
  for (let i = 0; i < said.length; i++) {
    const token = said[i] as Said;
    // What was looked at before holds none, but may hold the beginning of one.
    const from = Math.max(0, text.length - longest);
    if (token.channel === 'content') text += token.text;
    const hits = stops.map((stop) => ({ stop, at: text.indexOf(stop, from) })).filter((hit) => hit.at >= 0);
    if (hits.length === 0) continue;
    const hit = hits.reduce((first, other) => (other.at < first.at ? other : first));
    return { said: cutAt(said.slice(0, i + 1), hit.at), stop: hit.stop };
  }
  return undefined;
}

function cutAt(said: readonly Said[], at: number): Said[] {
  let left = at;
  return said.map((token) => {
    if (token.channel !== 'content') return token;
    const text = token.text.slice(0, left);
    left -= text.length;
    return text === '' ? { text: '', channel: 'hidden' } : { text, channel: 'content' };
  });
}

/** Longest output that is made ahead to look for stop strings, and the most looks for one, all choices of a request together. */
const MAX_LOOKAHEAD = 200_000;
const MAX_LOOKS = 2_000_000;

/** Everything decided about one choice. */
export function planChoice(
  options: MockOptions,
  generation: Generation,
  index: number,
  fault: FaultKind | null,
  cachedTokens: number,
  rng: Rng,
): ChoicePlan {
  const prompt = Math.floor(index / generation.n);
  const marks = generation.promptMarks[prompt] as Marks;
  const toolCalls = generation.toolsAllowed ? (marks.tool ?? 0) : 0;
  const choice: ChoiceKey = { index, prompt, marks, toolCalls };
  const length = lengthOf(options, generation, fault, choice);
  const voice = new Voice(voicePlan(options, generation, length.visible, choice), rng);
  const looks = length.visible * generation.stop.length * generation.n * generation.promptTokens.length;
  const lookAhead = generation.stop.length > 0 && length.visible <= MAX_LOOKAHEAD && looks <= MAX_LOOKS;
  const said = lookAhead ? Array.from({ length: length.visible }, () => voice.next()) : [];
  const stopped = lookAhead ? applyStop(said, generation.stop) : undefined;
  const finalVoice = lookAhead ? Voice.of(stopped?.said ?? said) : voice;
  const struck =
    phaseOf(fault) === 'mid' ? Math.min(marks.fail ?? marks.fault_at ?? options.faultAt, length.visible) : -1;
  const eos = stopped !== undefined ? 0 : length.eos;
  return {
    voice: finalVoice,
    stopText: stopped?.stop ?? (eos === 1 ? '<|im_end|>' : null),
    toolCalls: eos === 1 ? toolCalls : 0,
    job: {
      promptTokens: generation.promptTokens[prompt] as number,
      cachedTokens,
      visibleTokens: stopped?.said.length ?? length.visible,
      eosTokens: eos,
      eosReason: stopped !== undefined ? 'stop_string' : eos === 1 ? 'stop_token' : 'max_new_tokens',
      ttftMs: marks.ttft ?? options.ttftMs,
      itlMs: marks.itl ?? options.itlMs,
      jitter: options.jitter,
      burst: Math.max(1, marks.burst ?? 1),
      merge: Math.max(1, marks.merge ?? options.mergeTokens),
      draftTokens: options.draftTokens,
      stallAt: marks.stall_at ?? -1,
      stallMs: marks.stall_ms ?? 0,
      breakAt: struck,
    },
  };
}
